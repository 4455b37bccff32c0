"""Why a recording may have come out empty, in sentences for the person who waits for it."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

from wavescope.collect.machine import Machine
from wavescope.collect.other_tools import registered_tools

_ELF_HEADER = struct.Struct("<16xHHIQQQIHHH")
_PROGRAM_HEADER_TYPE = struct.Struct("<I")
_INTERPRETER = 3
_HSA_LIBRARIES = ("libhsa-runtime64.so.1", "libhsa-runtime64.so")


def why_nothing(
    command: Sequence[str], environment: Mapping[str, str], machine: Machine, *, softgpu: bool
) -> list[str]:
    """What keeps the collector out of `command`, or the likeliest reason when nothing is seen."""
    program = shutil.which(command[0], path=environment.get("PATH"))
    path = Path(program or command[0])
    if is_static(path):
        return [f"{path} is statically linked: no library can be loaded into it"]
    if is_privileged(path):
        return [f"{path} runs with another user's rights: the system ignores LD_PRELOAD for it"]
    reasons = ["no process of the program used a GPU through ROCm's HSA runtime, or set a marker"]
    if tools := registered_tools(environment):
        reasons.append(f"another tool may have kept it: {', '.join(tools)}; try --other-tools off")
    if not machine.library(*_HSA_LIBRARIES):
        reasons.append("the HSA runtime (libhsa-runtime64.so.1) is not installed on this machine")
    elif not softgpu and not machine.gpu_nodes():
        reasons.append("this machine has no AMD GPU; --softgpu runs the program on a software one")
    return reasons


def is_static(program: Path) -> bool:
    """Whether a file is an ELF program that names no dynamic linker."""
    try:
        with program.open("rb") as file:
            header = file.read(64)
            if len(header) < 64 or header[:6] != b"\x7fELF\x02\x01":
                return False
            values = _ELF_HEADER.unpack_from(header)
            offset, entry_bytes, count = values[4], values[8], values[9]
            if not 32 <= entry_bytes <= 1024:
                return False
            file.seek(offset)
            table = file.read(entry_bytes * count)
    except OSError:
        return False
    kinds = {
        _PROGRAM_HEADER_TYPE.unpack_from(table, at)[0]
        for at in range(0, len(table) - entry_bytes + 1, entry_bytes)
    }
    return bool(kinds) and _INTERPRETER not in kinds


def is_privileged(program: Path) -> bool:
    """Whether the system runs a program with the rights of its owner or group."""
    try:
        mode = program.stat().st_mode
    except OSError:
        return False
    return bool(mode & 0o6000)
