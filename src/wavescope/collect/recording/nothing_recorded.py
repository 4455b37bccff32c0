"""Why a recording may have come out empty, in sentences for the person who waits for it."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from wavescope.collect.machine import Machine
from wavescope.collect.recording.other_tools import registered_tools
from wavescope.collect.recording.program_files import ProgramKind, kind_of, loaded_program

_HSA_LIBRARIES = ("libhsa-runtime64.so.1", "libhsa-runtime64.so")


def why_nothing(
    command: Sequence[str],
    environment: Mapping[str, str],
    machine: Machine,
    *,
    softgpu: bool,
    runtime: str | None = None,
) -> list[str]:
    """What keeps the collector out of `command`, or the likeliest reason when nothing is seen."""
    name = loaded_program(command)
    path = Path(shutil.which(name, path=environment.get("PATH")) or name)
    if kind_of(path) is ProgramKind.STATIC:
        return [f"{path} is statically linked: no library can be loaded into it"]
    if is_privileged(path):
        return [f"{path} runs with another user's rights: the system ignores LD_PRELOAD for it"]
    reasons = ["no process of the program used a GPU through ROCm's HSA runtime, or set a marker"]
    if tools := registered_tools(environment):
        reasons.append(f"another tool may have kept it: {', '.join(tools)}; try --other-tools off")
    if runtime is not None:
        reasons.append(
            f"only the program itself runs on the runtime {runtime}: what it starts runs on the "
            "machine's own"
        )
    elif not machine.library(*_HSA_LIBRARIES):
        reasons.append("the HSA runtime (libhsa-runtime64.so.1) is not installed on this machine")
    elif not softgpu and not machine.gpu_nodes():
        reasons.append("this machine has no AMD GPU; --softgpu runs the program on a software one")
    return reasons


def is_privileged(program: Path) -> bool:
    """Whether the system runs a program with the rights of its owner or group."""
    try:
        mode = program.stat().st_mode
    except OSError:
        return False
    return bool(mode & 0o6000)
