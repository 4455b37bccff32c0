"""What NVIDIA's driver says of itself and its GPUs, asked in a process of its own.

The driver's library is never loaded into wavescope: it may hang, or end the process.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import NamedTuple

from wavescope.collect.cuda_libraries import CudaVersion
from wavescope.collect.machine import Machine

_RELEASE = re.compile(r"\b(\d{3,}\.\d+(?:\.\d+)?)\b")
_LIBRARIES = ("libcuda.so.1", "libcuda.so")
_SIGNS = ("proc/driver/nvidia/version", "dev/nvidiactl", "dev/nvidia0", "dev/dxg")
"""Any of them: the kernel has NVIDIA's driver (the last is that of Windows below Linux)."""
_ERRORS = {
    2: "out of memory",
    34: "the library is a stand-in for building programs, not the driver's",
    100: "it sees no GPU",
    101: "the GPU that was asked for is not there",
    304: "the system refused a call: a container without access to the driver",
    802: "the system is not yet ready: is the fabric manager running?",
    803: "library and kernel driver are of different versions: restart the machine",
    804: "the library of the compatibility package does not support this GPU",
    999: "unknown error: is the kernel driver (nvidia-uvm) loaded?",
}
"""What cuInit answers, as users need to hear it."""
_QUESTION = """
import ctypes, json, sys
cuda = ctypes.CDLL(sys.argv[1])
number, other = ctypes.c_int(), ctypes.c_int()
answer = {"version": 0, "error": -1, "gpus": []}
if cuda.cuDriverGetVersion(ctypes.byref(number)) == 0:
    answer["version"] = number.value
if sys.argv[2] == "gpus":
    answer["error"] = cuda.cuInit(0)
    if answer["error"] == 0 and cuda.cuDeviceGetCount(ctypes.byref(number)) == 0:
        for index in range(number.value):
            device, name = ctypes.c_int(), ctypes.create_string_buffer(256)
            cuda.cuDeviceGet(ctypes.byref(device), index)
            cuda.cuDeviceGetName(name, 256, device)
            facts = []
            for attribute in (75, 76, 16):
                cuda.cuDeviceGetAttribute(ctypes.byref(other), attribute, device)
                facts.append(other.value)
            answer["gpus"].append([name.value.decode(errors="replace"), *facts])
print(json.dumps(answer))
"""


@dataclass(frozen=True)
class NvidiaGpu:
    """A GPU that the driver offers to programs."""

    name: str
    capability: CudaVersion
    multiprocessors: int

    @property
    def words(self) -> str:
        """As one line."""
        chip = "".join(map(str, self.capability))
        return f"{self.name} (sm_{chip}, {self.multiprocessors} SMs)"


@dataclass(frozen=True)
class CudaDriver:
    """The driver of a machine, as far as it could be asked."""

    library: str
    """Path of libcuda, or nothing."""
    release: str = ""
    """Of the kernel driver, such as 580.159.03, or nothing."""
    cuda: CudaVersion = ()
    """The newest CUDA that it runs; empty where it did not say."""
    gpus: tuple[NvidiaGpu, ...] = ()
    trouble: str = ""
    """Why programs cannot use it, or nothing."""


def has_nvidia(machine: Machine) -> bool:
    """Whether there is an NVIDIA GPU here, or at least a driver for one."""
    return any((machine.root / sign).exists() for sign in _SIGNS) or bool(cuda_library(machine))


def cuda_library(machine: Machine) -> str:
    """Path of the driver's library, or nothing."""
    return machine.library(*_LIBRARIES)


def driver_cuda(machine: Machine) -> CudaVersion:
    """The newest CUDA that the driver runs; empty where that is not known."""
    library = cuda_library(machine)
    answer = _asked(machine, library, "version") if library else None
    return cuda_version(answer.version) if answer else ()


def asked_driver(machine: Machine) -> CudaDriver:
    """Everything that the driver says, its GPUs too, which takes some seconds on large machines."""
    library = cuda_library(machine)
    found = _RELEASE.search(machine.text("proc/driver/nvidia/version"))
    release = found[1] if found else machine.text("sys/module/nvidia/version")
    if not library:
        return CudaDriver("", release, trouble="its library libcuda.so.1 is not found")
    answer = _asked(machine, library, "gpus")
    if answer is None:
        return CudaDriver(library, release, trouble="its library cannot be loaded, or hangs")
    trouble = ""
    if answer.error:
        trouble = _ERRORS.get(answer.error, f"cuInit failed with error {answer.error}")
    gpus = tuple(
        NvidiaGpu(name, (major, minor), processors)
        for name, major, minor, processors in answer.gpus
    )
    return CudaDriver(library, release, cuda_version(answer.version), gpus, trouble)


class _Answer(NamedTuple):
    """What the process that asks prints."""

    version: int
    error: int
    gpus: list[tuple[str, int, int, int]]


def _asked(machine: Machine, library: str, what: str) -> _Answer | None:
    try:
        return _Answer(**json.loads(machine.answer_of(_QUESTION, [library, what])))
    except (ValueError, TypeError):
        return None


def cuda_version(number: int) -> CudaVersion:
    """What the driver means: 13000 is 13.0, and 0 is not known."""
    return (number // 1000, number % 1000 // 10) if number > 0 else ()
