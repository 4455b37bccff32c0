"""An input in memory: the files that a command is given, so that mutators need no disk."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path


class Special(Enum):
    """What may lie in place of a file; nobody can read any of it."""

    FIFO = "fifo"
    FOLDER = "folder"
    LINK_TO_ITSELF = "link to itself"
    LINK_TO_NOTHING = "link to nothing"
    LINK_TO_ZEROS = "link to zeros"


_TARGETS = {
    Special.LINK_TO_NOTHING: "nothing-is-here",
    Special.LINK_TO_ZEROS: "/dev/zero",
}
Entry = bytes | Special


@dataclass(frozen=True)
class Input:
    """Files by their path within a folder; `given` is the one that a command gets, or all."""

    files: dict[str, Entry]
    given: str = ""

    def with_file(self, name: str, entry: Entry) -> Input:
        """The same with another content of one file."""
        return replace(self, files={**self.files, name: entry})

    @property
    def size_bytes(self) -> int:
        """The bytes of all its files."""
        return sum(len(entry) for entry in self.files.values() if isinstance(entry, bytes))


def read_input(path: Path) -> Input:
    """What lies at `path`: a file, or all files of a folder."""
    if path.is_file():
        return Input({path.name: path.read_bytes()}, path.name)
    return read_folder(path)


def read_folder(folder: Path, given: str = "") -> Input:
    """All files of a folder, of which a command gets the one that is `given`, or all."""
    files: dict[str, Entry] = {
        str(each.relative_to(folder)): each.read_bytes()
        for each in sorted(folder.rglob("*"))
        if each.is_file()
    }
    return Input(files, given)


def write_input(made: Input, folder: Path) -> Path:
    """The path to give to a command, after all files were written into the new `folder`."""
    folder.mkdir()
    for name, entry in made.files.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(entry, bytes):
            target.write_bytes(entry)
        else:
            _write_special(target, entry)
    return folder / made.given if made.given else folder


def _write_special(target: Path, special: Special) -> None:
    if special is Special.FIFO:
        os.mkfifo(target)
    elif special is Special.FOLDER:
        target.mkdir()
    else:
        target.symlink_to(_TARGETS.get(special, target.name))


def state_of(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Everything in `folder`: kinds and permissions, and the bytes of files."""
    return {name: _state(Path(name)) for name in sorted(_names(str(folder)))}


def _names(folder: str) -> list[str]:
    return [
        os.path.join(where, name)  # noqa: PTH118  names need not be valid text
        for where, folders, files in os.walk(folder)
        for name in (*folders, *files)
    ]


def _state(path: Path) -> tuple[int, bytes]:
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return mode, os.fsencode(path.readlink())
    return mode, path.read_bytes() if stat.S_ISREG(mode) else b""
