"""Runs ROCm programs on the software GPU: a library in the place of `libhsakmt.so.1`.

The program's own HSA and HIP runtimes stay as they are; only its environment differs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from wavescope.collect.machine import Machine
from wavescope.errors import MachineError, UsageError
from wavescope.package_files import package_file

CHIPS = ("gfx900", "gfx906", "gfx908", "gfx90a", "gfx1030")
MAXIMUM_GPUS = 16
PREFIX = "WAVESCOPE_SOFTGPU_"
THUNK = "libhsakmt.so.1"
RUNTIME = "libhsa-runtime64.so.1"
GET_RUNTIME = (
    "on Debian 12: apt-get install --no-install-recommends libhsa-runtime64-1 libamdhip64-5"
)
_GET_LIBRARY = (
    "apt-get install --no-install-recommends libhsakmt-dev libhsa-runtime-dev, then: "
    "pip install --force-reinstall wavescope"
)
_DURATION = re.compile(
    r"\d{1,13}|uniform:[\d.e+]+:[\d.e+]+|exponential:[\d.e+]+|lognormal:[\d.e+]+:[\d.e+-]+",
    re.ASCII,
)


@dataclass(frozen=True)
class SoftGpuOptions:
    """What the software GPUs are like; None leaves a setting to the environment or its default."""

    chip: str | None = None
    gpus: int | None = None
    kernel_ns: str | None = None
    """Duration of kernels: nanoseconds, or a distribution such as `lognormal:5000:0.4`."""
    durations: str | None = None
    """File with lines `PATTERN,DURATION` for kernels by name."""
    seed: int | None = None
    contention: int | None = None
    """Percent by which each other busy queue of the GPU lengthens a kernel."""
    copy_gbps: int | None = None
    copy_latency_ns: int | None = None
    memory_mib: int | None = None
    large_bar: int | None = None
    spin_us: int | None = None
    sleep_us: int | None = None
    strict_doorbell: int | None = None
    truth: str | None = None
    """File for one line per executed op; `%p` in it becomes the process id."""
    runtime: str | None = None
    """ROCm runtime to run on, such as `6.4`; None is the machine's own."""
    faults: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.chip is not None and self.chip not in CHIPS:
            raise UsageError(
                f"there is no software GPU '{self.chip}'", hint="chips: " + ", ".join(CHIPS)
            )
        if self.gpus is not None and not 1 <= self.gpus <= MAXIMUM_GPUS:
            raise UsageError(f"{self.gpus} GPUs", hint=f"choose from 1 to {MAXIMUM_GPUS}")
        if self.kernel_ns is not None and not _DURATION.fullmatch(self.kernel_ns):
            raise UsageError(
                f"'{self.kernel_ns}' is not a duration of kernels",
                hint="nanoseconds, uniform:LOW:HIGH, exponential:MEAN or lognormal:MEDIAN:SIGMA",
            )

    @classmethod
    def parse(cls, specification: str) -> SoftGpuOptions:
        """The options of `gfx90a,gpus=8,kernel_ns=5000,fault=hang:ms=5`; empty means defaults."""
        values: dict[str, Any] = {}
        faults = []
        for part in filter(None, specification.split(",")):
            name, equal, value = part.partition("=")
            if not equal:
                values["chip"] = name
            elif name == "fault":
                faults.append(value)
            else:
                values[_known(name)] = _typed(name, value)
        return cls(**values, faults=tuple(faults))

    def variables(self) -> dict[str, str]:
        """The variables of the environment that say the same."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        del given["runtime"]  # decides what is executed, not how the GPUs are
        given["faults"] = ";".join(fault.replace(":", ",") for fault in self.faults) or None
        return {PREFIX + n.upper(): str(value) for n, value in given.items() if value is not None}


_TEXT_OPTIONS = ("chip", "kernel_ns", "durations", "truth", "runtime")
_NUMBER_OPTIONS = tuple(
    field.name for field in fields(SoftGpuOptions) if field.name not in {*_TEXT_OPTIONS, "faults"}
)


def softgpu_environment(
    specification: str, environment: Mapping[str, str], machine: Machine | None = None
) -> dict[str, str]:
    """The variables that run a program of `environment` on the GPUs of `specification`."""
    options = SoftGpuOptions.parse(specification)
    return child_variables(options, environment, machine or Machine(environment=environment))


def child_variables(
    options: SoftGpuOptions, environment: Mapping[str, str], machine: Machine
) -> dict[str, str]:
    """The variables that run a program of `environment` on such GPUs; an error when it cannot."""
    library = softgpu_library()
    trouble = softgpu_trouble(machine)
    if trouble and (library is None or options.runtime is None):
        raise trouble
    assert library is not None
    if ":" in str(library):
        raise MachineError(
            f"{library} cannot be found by the linker: its path has a colon",
            hint="install wavescope in another folder",
        )
    before = environment.get("LD_LIBRARY_PATH", "")
    folders = str(library.parent) + (f":{before}" if before else "")
    return {**options.variables(), "LD_LIBRARY_PATH": folders}


def softgpu_library() -> Path | None:
    """The installed library, or None when this build has none."""
    return package_file("lib", "softgpu", THUNK)


def softgpu_trouble(machine: Machine) -> MachineError | None:
    """Why programs cannot run on the software GPU here, or None when they can."""
    if softgpu_library() is None:
        return MachineError(
            "this installation has no software GPU: it was built without the HSA headers",
            hint=_GET_LIBRARY,
        )
    runtime = machine.library(RUNTIME)
    if not runtime:
        return MachineError("the software GPU needs an HSA runtime", hint=GET_RUNTIME)
    if not _uses_thunk(Path(runtime)):
        return MachineError(
            f"{runtime} does not load {THUNK}: the software GPU works below ROCm 5",
            hint=GET_RUNTIME,
        )
    return None


def _uses_thunk(runtime: Path) -> bool:
    try:
        return THUNK.encode() + b"\0" in runtime.read_bytes()
    except OSError:
        return False


def _known(name: str) -> str:
    if name in _TEXT_OPTIONS or name in _NUMBER_OPTIONS:
        return name
    known = ", ".join(sorted((*_TEXT_OPTIONS, *_NUMBER_OPTIONS, "fault")))
    raise UsageError(f"the software GPU has no setting '{name}'", hint=f"settings: {known}")


def _typed(name: str, value: str) -> str | int:
    if name not in _NUMBER_OPTIONS:
        return value
    if not (value.isascii() and value.isdecimal() and len(value) < 19):
        raise UsageError(f"{name}={value} of the software GPU is not a number")
    return int(value)
