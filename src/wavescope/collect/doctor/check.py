"""A check of the machine, and what several of them together say."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from wavescope.collect.machine import Machine


class CheckState(str, enum.Enum):
    """How a check ended."""

    OK = "ok"
    MISSING = "missing"
    NOT_USABLE = "not usable"


@dataclass(frozen=True)
class Check:
    """One thing that was looked for: what it is for, what was found, how to get it."""

    name: str
    enables: str
    state: CheckState
    found: str = ""
    fix: str = ""
    is_required: bool = False
    """Whether analysing traces is impossible without it."""


def program_check(machine: Machine, names: tuple[str, ...], enables: str, fix: str) -> Check:
    """Whether one of some programs is on PATH."""
    found = next(filter(None, map(machine.program, names)), "")
    state = CheckState.OK if found else CheckState.MISSING
    return Check(names[0], enables, state, found, "" if found else fix)


def library_check(
    machine: Machine, name: str, files: tuple[str, ...], enables: str, fix: str
) -> Check:
    """Whether one of some files of a shared library is there."""
    found = machine.library(*files)
    state = CheckState.OK if found else CheckState.MISSING
    return Check(name, enables, state, found, "" if found else fix)


def analysis_works(checks: Sequence[Check]) -> bool:
    """Whether everything is there that analysing needs."""
    return all(check.state is CheckState.OK for check in checks if check.is_required)


def recording_state(checks: Sequence[Check]) -> str:
    """What `wavescope trace` can do here, in a few words."""
    ok = {check.name for check in checks if check.state is CheckState.OK}
    if "collector" not in ok:
        return "not usable"
    if {"HSA runtime", "AMD GPUs", "/dev/kfd"} <= ok:
        return "ready"
    if {"NVIDIA GPUs", "CUDA driver"} <= ok:
        if "CUPTI" in ok:
            return "ready"
        return "ready for programs that bring libcupti (as torch does): there is none here"
    if "HSA runtime" not in ok:
        return "markers only: there is neither an HSA runtime nor an NVIDIA GPU"
    if "software GPU" in ok:
        return "ready on the software GPU (--softgpu): there is no AMD or NVIDIA GPU"
    return "markers only: there is no AMD or NVIDIA GPU"


def profiling_states(checks: Sequence[Check]) -> dict[str, str]:
    """What `wavescope counters collect` and `wavescope capture` can do here, in a few words."""
    ok = {check.name for check in checks if check.state is CheckState.OK}
    for_counters = ("AMD GPUs", "/dev/kfd", "rocprofv3")
    needed = {"counters": for_counters, "instruction_traces": (*for_counters, "trace decoder")}
    missing = {what: [name for name in names if name not in ok] for what, names in needed.items()}
    return {
        what: f"not here: needs {', '.join(names)}" if names else "ready"
        for what, names in missing.items()
    }
