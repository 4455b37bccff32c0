"""What a program's file is: dynamically or statically linked, or a script of which interpreter."""

from __future__ import annotations

import enum
import os
import re
import shlex
import shutil
import struct
from collections.abc import Mapping, Sequence
from mmap import ACCESS_READ, mmap
from pathlib import Path

from wavescope.errors import UsageError

_ELF_HEADER = struct.Struct("<16xHHIQQQIHHH")
_PROGRAM_HEADER_TYPE = struct.Struct("<I")
_INTERPRETER = 3
_LONGEST_FIRST_LINE = 256
_MOST_INTERPRETERS = 4
"""As many scripts as Linux follows."""
_LOADER_NAME = re.compile(r"ld(?:-linux[\w.-]*|-musl[\w.-]*|-\d[\d.]*)?\.so(?:\.\d+)*")
_LOADER_OPTIONS_WITH_VALUE = frozenset(
    f"--{name}"
    for name in (
        "library-path",
        "argv0",
        "preload",
        "audit",
        "inhibit-rpath",
        "glibc-hwcaps-prepend",
        "glibc-hwcaps-mask",
    )
)


class ProgramKind(enum.Enum):
    """What the system does with a file that it is told to execute."""

    DYNAMIC = "dynamic"
    STATIC = "static"
    SCRIPT = "script"
    OTHER = "other"


def kind_of(program: Path) -> ProgramKind:
    """What kind of program a file is; OTHER also where it cannot be read."""
    try:
        with program.open("rb") as file:
            header = file.read(64)
            if header[:2] == b"#!":
                return ProgramKind.SCRIPT
            if len(header) < 64 or header[:6] != b"\x7fELF\x02\x01":
                return ProgramKind.OTHER
            values = _ELF_HEADER.unpack_from(header)
            offset, entry_bytes, count = values[4], values[8], values[9]
            if not 32 <= entry_bytes <= 1024:
                return ProgramKind.OTHER
            file.seek(offset)
            table = file.read(entry_bytes * count)
    except OSError:
        return ProgramKind.OTHER
    kinds = {
        _PROGRAM_HEADER_TYPE.unpack_from(table, at)[0]
        for at in range(0, len(table) - entry_bytes + 1, entry_bytes)
    }
    if not kinds:
        return ProgramKind.OTHER
    return ProgramKind.DYNAMIC if _INTERPRETER in kinds else ProgramKind.STATIC


def named_in(program: Path, pattern: re.Pattern[bytes]) -> frozenset[str]:
    """The names like `pattern` that a program's file holds, such as those of its libraries."""
    try:
        with program.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
            return frozenset(os.fsdecode(name) for name in pattern.findall(content))
    except (OSError, ValueError):  # the latter of an empty file
        return frozenset()


def found_program(name: str, environment: Mapping[str, str]) -> Path | None:
    """The executable file that a shell with this environment would start."""
    found = shutil.which(name, path=environment.get("PATH"))
    return Path(found) if found else None


def program_and_arguments(
    program: Path, command: Sequence[str], environment: Mapping[str, str]
) -> tuple[Path, list[str]]:
    """The file that is loaded when `program` is executed as `command`, and its arguments.

    They differ for scripts, where the interpreter is loaded; `env` is looked through.
    """
    arguments = list(command)
    for _ in range(_MOST_INTERPRETERS):
        if kind_of(program) is not ProgramKind.SCRIPT:
            return program, arguments
        words = _interpreter_words(program)
        if not words:
            raise UsageError(f"the script {program} names no interpreter")
        found = found_program(words[0], environment)
        if found is None:
            raise UsageError(f"the interpreter '{words[0]}' of {program} does not exist")
        arguments = [*words, spelled(program), *arguments[1:]]
        program = found
    raise UsageError(f"{command[0]} is a script run by a script run by a script, and so on")


def spelled(program: Path) -> str:
    """The path of a program with a slash in it, so that nobody searches for the name."""
    return str(program) if program.is_absolute() else f"./{program}"


def _interpreter_words(script: Path) -> list[str]:
    """The interpreter that a script names, and its argument."""
    with script.open("rb") as file:
        line = file.read(_LONGEST_FIRST_LINE).partition(b"\n")[0]
    words = os.fsdecode(line[2:]).strip().split(None, 1)
    if not words or Path(words[0]).name != "env" or len(words) == 1:
        return words
    if words[1].startswith("-S"):
        try:
            return shlex.split(words[1][2:])
        except ValueError as error:
            raise UsageError(f"the first line of {script} cannot be read: {error}") from error
    # An option or an assignment: env itself has to run, and starts the interpreter.
    return words if words[1].startswith("-") or "=" in words[1] else [words[1]]


def loaded_program(command: Sequence[str]) -> str:
    """The program of `command`, which may name a dynamic linker that is to load it."""
    if not _LOADER_NAME.fullmatch(Path(command[0]).name):
        return command[0]
    at = 1
    while at < len(command) and command[at].startswith("--"):
        at += 2 if command[at] in _LOADER_OPTIONS_WITH_VALUE else 1
    return command[at] if at < len(command) else command[0]
