"""One run under rocprofv3 that samples program counters, for panel 21."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from wavescope.collect.counters.rocprofv3_passes import PassEnd
from wavescope.collect.launcher import launch
from wavescope.errors import UsageError
from wavescope.model.workload_layout import PC_SAMPLE_FILES, PC_SAMPLE_JSON

RUN_NAME = "pc_sampling"
_FILES = "ps_file"
_STOCHASTIC, _HOST_TRAP = "stochastic", "host_trap"
_STOCHASTIC_CHIPS = ("gfx940", "gfx941", "gfx942", "gfx950")
_DEFAULT_INTERVAL = {_STOCHASTIC: 1 << 20, _HOST_TRAP: 512}
_UNIT = {_STOCHASTIC: "cycles", _HOST_TRAP: "time"}
_LEAST_CYCLES = 1 << 16


@dataclass(frozen=True)
class PcSampling:
    """How samples are taken: every so many cycles by the hardware, or microseconds by the host."""

    method: str
    interval: int

    def __post_init__(self) -> None:
        cycles = self.interval
        if self.method == _STOCHASTIC and (cycles < _LEAST_CYCLES or cycles & (cycles - 1)):
            raise UsageError(
                f"{cycles} cycles cannot be an interval of stochastic sampling",
                hint=f"--pc-sampling-interval takes a power of two from {_LEAST_CYCLES} on",
            )

    @property
    def options(self) -> list[str]:
        """rocprofv3's options for it."""
        how = ["--pc-sampling-method", self.method, "--pc-sampling-unit", _UNIT[self.method]]
        return ["--pc-sampling-beta-enabled", *how, "--pc-sampling-interval", str(self.interval)]


def is_sampled(samples: Mapping[str, str | int], method: str, interval: int) -> bool:
    """Whether samples that are there are what is asked for; 0 and an empty text ask for nothing."""
    asked = {"method": method, "interval": interval}
    return bool(samples) and all(
        samples.get(name) == value for name, value in asked.items() if value
    )


def pc_sampling(chip: str, method: str = "", interval: int = 0) -> PcSampling:
    """What was asked for, and for the rest what suits the chip: older ones are sampled by host."""
    method = method or (_STOCHASTIC if chip in _STOCHASTIC_CHIPS else _HOST_TRAP)
    return PcSampling(method, interval or _DEFAULT_INTERVAL[method])


def sampling_command(
    rocprofv3: Path, folder: Path, how: PcSampling, command: Sequence[str]
) -> list[str]:
    """The command line of the run; its files lie in `folder` itself."""
    output = ["--kernel-trace", "--output-format", "csv", "json", "-d", str(folder), "-o", _FILES]
    return [str(rocprofv3), *how.options, *output, "--", *command]


def is_able(rocprofv3: Path) -> bool:
    """Whether this rocprofv3 samples program counters at all."""
    done = subprocess.run(
        [str(rocprofv3), "--help"], capture_output=True, text=True, timeout=60, check=False
    )
    return "--pc-sampling-beta-enabled" in done.stdout


def run_pc_sampling(
    rocprofv3: Path, folder: Path, how: PcSampling, command: Sequence[str]
) -> PassEnd:
    """Sample the program once; the samples of an earlier run are replaced."""
    if not is_able(rocprofv3):
        return PassEnd(
            RUN_NAME, 0, failure=f"{rocprofv3} is too old: it samples no program counters"
        )
    for path in folder.glob(f"{_FILES}_*"):
        path.unlink()
    end = launch(sampling_command(rocprofv3, folder, how, command), dict(os.environ))
    written = [path.name for path in folder.glob(f"{_FILES}_*")]
    has_samples = any(name == PC_SAMPLE_JSON or PC_SAMPLE_FILES.fullmatch(name) for name in written)
    failure = "" if has_samples else "no samples were written"
    if end.exit_code and not has_samples:
        failure = f"rocprofv3 ended with {end.words}"
    return PassEnd(
        RUN_NAME, end.exit_code, interrupted=end.interruptions > 0, processes=1, failure=failure
    )
