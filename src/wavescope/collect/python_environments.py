"""Where the Python packages of a program are, told by its command and environment alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from wavescope.collect.machine import Machine
from wavescope.collect.program_files import (
    found_program,
    loaded_program,
    program_and_arguments,
)
from wavescope.errors import UsageError

_PYTHON = re.compile(r"python[\d.]*")
_VERSIONED = ("lib/python3.*/site-packages", "lib/python3.*/dist-packages")
_SHARED = ("lib/python3/dist-packages",)
_SYSTEM_PREFIXES = ("usr/local", "usr")
_BASE = re.compile(r"^home\s*=\s*(.+?)\s*$", re.MULTILINE)
_SEES_BASE = re.compile(r"^include-system-site-packages\s*=\s*true\s*$", re.MULTILINE | re.I)


def package_folders(command: Sequence[str], machine: Machine) -> list[Path]:
    """Folders of Python packages that the program may import from, the likeliest first.

    The program may be an interpreter, a script of one, or start one further on; what its own words
    do not tell is taken from the environment that is active, and from Python on PATH.
    """
    environment = machine.environment
    found = [Path(part) for part in environment.get("PYTHONPATH", "").split(":") if part]
    for prefix in _prefixes(command, machine):
        found += _packages_below(prefix)
        found += _packages_of_base(prefix)
    if home := environment.get("HOME"):
        found += _packages_below(Path(home) / ".local")
    for name in _SYSTEM_PREFIXES:
        found += _packages_below(machine.root / name)
    return list(dict.fromkeys(folder for folder in found if folder.is_dir()))


def prefixes(command: Sequence[str], machine: Machine) -> list[Path]:
    """Folders with a `bin` and a `lib` of the environments that the program may run in."""
    return list(dict.fromkeys(_prefixes(command, machine)))


def _prefixes(command: Sequence[str], machine: Machine) -> Iterator[Path]:
    environment = machine.environment
    for program in _interpreters(command, environment):
        yield program.parent.parent
        yield program.resolve().parent.parent
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if prefix := environment.get(name):
            yield Path(prefix)
    yield machine.folder / ".venv"
    for name in ("python3", "python"):
        if found := machine.program(name):
            yield Path(found).parent.parent


def _interpreters(command: Sequence[str], environment: Mapping[str, str]) -> Iterator[Path]:
    """The files that are executed for the command's first word and for others called python."""
    words = [loaded_program(command)] if command else []
    words += [word for word in command if _PYTHON.fullmatch(Path(word).name)]
    for word in dict.fromkeys(words):
        if (path := found_program(word, environment)) is None:
            continue
        try:
            yield program_and_arguments(path, [word], environment)[0].absolute()
        except (UsageError, OSError):
            yield path.absolute()


def _packages_below(prefix: Path) -> list[Path]:
    versioned = [path for pattern in _VERSIONED for path in prefix.glob(pattern)]
    newest_first = sorted(versioned, key=_python_minor, reverse=True)
    return newest_first + [prefix / name for name in _SHARED]


def _python_minor(folder: Path) -> int:
    minor = folder.parent.name.rpartition(".")[2]
    return int(minor) if minor.isdecimal() else 0


def _packages_of_base(prefix: Path) -> list[Path]:
    """Those of the Python that a virtual environment was made of, where it uses them."""
    try:
        text = (prefix / "pyvenv.cfg").read_text(errors="replace")
    except OSError:
        return []
    base = _BASE.search(text)
    if base is None or _SEES_BASE.search(text) is None:
        return []
    return _packages_below(Path(base.group(1)).parent)
