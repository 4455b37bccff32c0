"""The few functions of a GPU runtime that a microbenchmark needs, on AMD and on NVIDIA.

Both vendors' runtimes have them under other names; they are loaded when first used, so that nothing
depends on either.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from wavescope.closing import Closing
from wavescope.collect.cuda_driver import cuda_version
from wavescope.collect.cuda_libraries import (
    CudaPart,
    CudaVersion,
    chosen_library,
    found_libraries,
)
from wavescope.collect.machine import Machine
from wavescope.errors import MachineError

_MAJOR, _MINOR = 75, 76  # CUDA's attributes of a device: its compute capability


class _Names(NamedTuple):
    """How a vendor calls its libraries and functions."""

    vendor: str
    runtime: tuple[str, ...]
    compiler: tuple[str, ...]
    functions: dict[str, str]
    compile: str
    code: str


_HIP = _Names(
    "AMD",
    ("libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"),
    ("libhiprtc.so", "libhiprtc.so.7", "libhiprtc.so.6", "libamdhip64.so", "libamdhip64.so.5"),
    {
        "init": "hipInit",
        "count": "hipGetDeviceCount",
        "device": "hipDeviceGet",
        "name": "hipDeviceGetName",
        "allocate": "hipMalloc",
        "free": "hipFree",
        "clear": "hipMemset",
        "load": "hipModuleLoadData",
        "unload": "hipModuleUnload",
        "function": "hipModuleGetFunction",
        "launch": "hipModuleLaunchKernel",
        "event": "hipEventCreate",
        "record": "hipEventRecord",
        "wait": "hipEventSynchronize",
        "elapsed": "hipEventElapsedTime",
    },
    "hiprtc",
    "Code",
)
_CUDA = _Names(
    "NVIDIA",
    ("libcuda.so.1", "libcuda.so"),
    ("libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"),
    {
        "init": "cuInit",
        "count": "cuDeviceGetCount",
        "device": "cuDeviceGet",
        "name": "cuDeviceGetName",
        "allocate": "cuMemAlloc_v2",
        "free": "cuMemFree_v2",
        "clear": "cuMemsetD8_v2",
        "load": "cuModuleLoadData",
        "unload": "cuModuleUnload",
        "function": "cuModuleGetFunction",
        "launch": "cuLaunchKernel",
        "event": "cuEventCreate",
        "record": "cuEventRecord",
        "wait": "cuEventSynchronize",
        "elapsed": "cuEventElapsedTime",
    },
    "nvrtc",
    "PTX",
)


class GpuRuntime(Closing):
    """One GPU, ready to compile and time kernels."""

    def __init__(self, names: _Names, library: ctypes.CDLL, device: int) -> None:
        self._names = names
        self._library = library
        self.vendor = names.vendor
        self._module = ctypes.c_void_p()
        self._buffers: list[ctypes.c_void_p] = []
        self._device = ctypes.c_int()
        self._call("device", ctypes.byref(self._device), device)
        self._options: list[str] = []
        if names is _CUDA:
            self._use_cuda_device()
        elif library.hipSetDevice(device):
            raise MachineError(f"GPU {device} cannot be used")
        text = ctypes.create_string_buffer(256)
        self._call("name", text, len(text), self._device)
        self.name = text.value.decode(errors="replace") or "GPU"
        self._events = [ctypes.c_void_p(), ctypes.c_void_p()]
        for event in self._events:
            self._call("event", ctypes.byref(event), *((0,) if names is _CUDA else ()))

    def compile(self, source: bytes) -> None:
        """Compile `source` for this GPU and load it; MachineError with what the compiler said."""
        compiler = self._compiler()
        prefix = self._names.compile
        program = ctypes.c_void_p()
        create = getattr(compiler, f"{prefix}CreateProgram")
        create(ctypes.byref(program), source, b"ceilings.cpp", 0, None, None)
        options = (ctypes.c_char_p * len(self._options))(*(each.encode() for each in self._options))
        failed = getattr(compiler, f"{prefix}CompileProgram")(program, len(options), options)
        if failed:
            log = self._compiled(compiler, program, "ProgramLog").decode(errors="replace")
            raise MachineError(f"the kernels do not compile for {self.name}: {log.strip()[:2000]}")
        code = self._compiled(compiler, program, self._names.code)
        getattr(compiler, f"{prefix}DestroyProgram")(ctypes.byref(program))
        self._call("load", ctypes.byref(self._module), code)

    def _compiler(self) -> ctypes.CDLL:
        """On NVIDIA the one that fits the driver, of packages or a toolkit; else the system's."""
        names = self._names.compiler
        if self._names is _CUDA:
            version = ctypes.c_int()
            self._library.cuDriverGetVersion(ctypes.byref(version))
            names = (*_packaged_compiler(cuda_version(version.value)), *names)
        return _library(names, "run-time compiler", self.vendor)

    def has_kernel(self, name: str) -> bool:
        """Whether the compiled source has this kernel for this GPU."""
        return self._function(name) is not None

    def allocate(self, size_bytes: int) -> ctypes.c_void_p:
        """Zeroed memory of the GPU; MachineError when there is not so much."""
        buffer = ctypes.c_void_p()
        self._call("allocate", ctypes.byref(buffer), ctypes.c_size_t(size_bytes))
        self._buffers.append(buffer)
        self._call("clear", buffer, 0, ctypes.c_size_t(size_bytes))
        return buffer

    def milliseconds(
        self,
        kernel: str,
        workgroups: int,
        arguments: Sequence[ctypes.c_void_p | ctypes._SimpleCData[int]],
    ) -> float:
        """How long one launch of `kernel` in workgroups of 256 takes on the GPU's own clock."""
        function = self._function(kernel)
        assert function is not None, f"{self.name} has no {kernel}"
        pointers = (ctypes.c_void_p * len(arguments))(
            *(ctypes.cast(ctypes.byref(each), ctypes.c_void_p) for each in arguments)
        )
        start, end = self._events
        self._call("record", start, None)
        self._call("launch", function, workgroups, 1, 1, 256, 1, 1, 0, None, pointers, None)
        self._call("record", end, None)
        self._call("wait", end)
        elapsed_ms = ctypes.c_float()
        self._call("elapsed", ctypes.byref(elapsed_ms), start, end)
        return elapsed_ms.value

    def close(self) -> None:
        while self._buffers:
            self._call("free", self._buffers.pop())
        if self._module:
            self._call("unload", self._module)
            self._module = ctypes.c_void_p()

    def _use_cuda_device(self) -> None:
        """Make the context that other CUDA users of this process share, current."""
        library = self._library
        context = ctypes.c_void_p()
        major, minor = ctypes.c_int(), ctypes.c_int()
        library.cuDeviceGetAttribute(ctypes.byref(major), _MAJOR, self._device)
        library.cuDeviceGetAttribute(ctypes.byref(minor), _MINOR, self._device)
        if library.cuDevicePrimaryCtxRetain(ctypes.byref(context), self._device):
            raise MachineError(f"GPU {self._device.value} cannot be used")
        library.cuCtxSetCurrent(context)
        self._options = [f"--gpu-architecture=compute_{major.value}{minor.value}"]

    def _function(self, name: str) -> ctypes.c_void_p | None:
        function = ctypes.c_void_p()
        find = getattr(self._library, self._names.functions["function"])
        failed = find(ctypes.byref(function), self._module, name.encode())
        return None if failed else function

    def _compiled(self, compiler: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> bytes:
        size = ctypes.c_size_t()
        getattr(compiler, f"{self._names.compile}Get{what}Size")(program, ctypes.byref(size))
        text = ctypes.create_string_buffer(size.value + 1)
        getattr(compiler, f"{self._names.compile}Get{what}")(program, text)
        return text.raw[: size.value]

    def _call(self, what: str, *arguments: object) -> None:
        name = self._names.functions[what]
        code = getattr(self._library, name)(*arguments)
        if code:
            raise MachineError(f"{name} failed with error {code} on {self.vendor} GPU")


@contextlib.contextmanager
def opened_gpu(device: int) -> Iterator[GpuRuntime]:
    """The GPU of this number, AMD's first; MachineError when there is none."""
    for names in (_HIP, _CUDA):
        with contextlib.suppress(MachineError):
            library = _library(names.runtime, "runtime", names.vendor)
            count = ctypes.c_int()
            if getattr(library, names.functions["init"])(0) == 0:
                getattr(library, names.functions["count"])(ctypes.byref(count))
            if count.value:
                break
    else:
        raise MachineError(
            "there is no GPU here, or no runtime for it",
            hint="`wavescope doctor` shows why; `wavescope softgpu -- CMD` needs no GPU",
        )
    if not 0 <= device < count.value:
        raise MachineError(f"there is no GPU {device}: GPUs are numbered 0 to {count.value - 1}")
    with GpuRuntime(names, library, device) as gpu:
        yield gpu


def _packaged_compiler(driver: CudaVersion) -> list[str]:
    """NVRTC as it fits the driver: a newer one makes code that the driver cannot load."""
    found = found_libraries(CudaPart.NVRTC, (sys.executable,), Machine())
    chosen = chosen_library(found, driver)
    return [str(chosen.path)] if chosen else []


def _library(names: Sequence[str], what: str, vendor: str) -> ctypes.CDLL:
    for name in names:
        with contextlib.suppress(OSError):
            return ctypes.CDLL(name)
    raise MachineError(
        f"{vendor}'s {what} is not installed ({names[0]})",
        hint="install ROCm (or CUDA), or add the folder of the library to LD_LIBRARY_PATH",
    )
