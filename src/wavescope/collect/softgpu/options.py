"""What software GPUs are like: options, and the variables of the environment that say the same."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from wavescope.collect.runtimes import MACHINE
from wavescope.errors import UsageError

CHIPS = ("gfx900", "gfx906", "gfx908", "gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100")
MAXIMUM_GPUS = 16
PREFIX = "WAVESCOPE_SOFTGPU_"
PARTITIONS = ("spx", "cpx")
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
    """1: the host sees the GPU's memory; 0: only GPUs do."""
    partition: str | None = None
    """`spx`: a GPU is one device; `cpx`: each of its compute dies is."""
    spin_us: int | None = None
    sleep_us: int | None = None
    strict_doorbell: int | None = None
    truth: str | None = None
    """File for one line per executed op; `%p` in it becomes the process id."""
    runtime: str | None = None
    """ROCm runtime to run on, such as `6.4`; None or `machine` is the machine's own."""
    faults: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.chip is not None and self.chip not in CHIPS:
            raise UsageError(
                f"there is no software GPU '{self.chip}'", hint="chips: " + ", ".join(CHIPS)
            )
        if self.gpus is not None and not 1 <= self.gpus <= MAXIMUM_GPUS:
            raise UsageError(
                f"{self.gpus} GPUs are not possible",
                hint=f"choose from 1 to {MAXIMUM_GPUS}",
            )
        if self.memory_mib is not None and not 64 <= self.memory_mib <= 16 << 20:
            raise UsageError(
                f"a GPU cannot have {self.memory_mib} MiB of memory",
                hint="choose from 64 to 16777216",
            )
        if self.large_bar is not None and self.large_bar not in (0, 1):
            raise UsageError(f"large_bar={self.large_bar} is not possible", hint="choose 0 or 1")
        if self.partition is not None and self.partition not in PARTITIONS:
            raise UsageError(
                f"there is no partition mode '{self.partition}'",
                hint="modes: " + ", ".join(PARTITIONS),
            )
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

    def of_machine(self, environment: Mapping[str, str]) -> SoftGpuOptions:
        """These options, and those of the machine itself that only the environment tells."""
        values: dict[str, Any] = {}
        for name in _MACHINE_OPTIONS:
            value = getattr(self, name)
            if value is None and (text := environment.get(PREFIX + name.upper())):
                value = _typed(name, text)
            values[name] = value
        return replace(self, **values)

    @property
    def other_runtime(self) -> str | None:
        """The runtime when it is not to be the machine's own."""
        return None if self.runtime == MACHINE else self.runtime

    def variables(self) -> dict[str, str]:
        """The variables of the environment that say the same."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        del given["runtime"]  # decides what is executed, not how the GPUs are
        given["faults"] = ";".join(fault.replace(":", ",") for fault in self.faults) or None
        return {PREFIX + n.upper(): str(value) for n, value in given.items() if value is not None}


_TEXT_OPTIONS = ("chip", "kernel_ns", "durations", "partition", "truth", "runtime")
_MACHINE_OPTIONS = ("chip", "gpus", "memory_mib", "large_bar", "partition")
_NUMBER_OPTIONS = tuple(
    field.name for field in fields(SoftGpuOptions) if field.name not in {*_TEXT_OPTIONS, "faults"}
)


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
