"""The files of a capture, whether they lie in a folder or in an archive.

A tree gives names below its root only. Links are followed only as far as they stay inside, so that
no file can make a reader look elsewhere.
"""

from __future__ import annotations

import json
import os
import posixpath
import re
import stat
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import orjson

from wavescope.errors import UnreadableInputError

MOST_FILES = 400_000
_DEEPEST = 12


class FileTree(Protocol):
    """Files by their path below the root, parts separated by '/'."""

    @property
    def path(self) -> str:
        """What the user named."""

    @property
    def sizes(self) -> dict[str, int]:
        """Every regular file with its size in bytes."""

    def read(self, name: str, most_bytes: int) -> bytes:
        """The bytes of a file; raises UnreadableInputError when there are more than allowed."""


class FolderTree:
    """The files below a folder, at most `deepest` folders down; of `wanted` names where given."""

    def __init__(
        self, root: Path, *, deepest: int = _DEEPEST, wanted: re.Pattern[str] | None = None
    ) -> None:
        self._root = root
        self._deepest = deepest
        self._wanted = wanted

    @property
    def path(self) -> str:
        return os.fspath(self._root)

    @cached_property
    def sizes(self) -> dict[str, int]:
        found: dict[str, int] = {}
        self._list_folder("", 0, found)
        return found

    def read(self, name: str, most_bytes: int) -> bytes:
        path = self._root / name
        try:
            size = self.sizes[name]
            if size > most_bytes:
                raise too_large(self.shown(name), size, most_bytes)
            with path.open("rb") as file:
                data = file.read(size + 1)
        except KeyError:
            raise UnreadableInputError(self.shown(name), "there is no such file") from None
        except OSError as error:
            raise UnreadableInputError(path, error.strerror or str(error)) from error
        if len(data) > size:
            raise UnreadableInputError(self.shown(name), "it grew while it was read")
        return data

    def shown(self, name: str) -> str:
        """How a message names the file."""
        return os.fspath(self._root / name)

    @cached_property
    def _real_root(self) -> str:
        return os.path.realpath(self._root)

    def _list_folder(self, below: str, depth: int, found: dict[str, int]) -> None:
        try:
            with os.scandir(self._root / below) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            if below:
                return
            raise UnreadableInputError(self._root, error.strerror or str(error)) from error
        for entry in listed:
            if len(found) >= MOST_FILES:
                raise UnreadableInputError(self._root, f"it has more than {MOST_FILES:,} files")
            name = posixpath.join(below, entry.name)
            if entry.is_dir(follow_symlinks=False):
                if depth + 1 < self._deepest:
                    self._list_folder(name, depth + 1, found)
            elif self._wanted is not None and not self._wanted.search(entry.name):
                continue
            elif (size := self._size(entry)) is not None:
                found[name] = size

    def _size(self, entry: os.DirEntry[str]) -> int | None:
        """The size of a regular file, None for anything else and for links that lead outside."""
        try:
            if entry.is_symlink():
                target = os.path.realpath(entry.path)
                if os.path.commonpath([target, self._real_root]) != self._real_root:
                    return None
            status = entry.stat()
        except (OSError, ValueError):
            return None
        return status.st_size if stat.S_ISREG(status.st_mode) else None


def too_large(path: str, size_bytes: int, most_bytes: int) -> UnreadableInputError:
    """The error for a file beyond what a reader accepts."""
    return UnreadableInputError(
        path, f"it has {size_bytes:,} bytes; at most {most_bytes:,} are accepted"
    )


def safe_name(folder: str, local: str) -> str | None:
    """The path of `local` in `folder`, None when it leads outside or is absolute."""
    if not local or local.startswith("/") or "\\" in local or "\0" in local:
        return None
    joined = posixpath.normpath(posixpath.join(folder, local))
    if joined.startswith(("../", "/")) or joined == "..":
        return None
    if folder and not joined.startswith(f"{folder}/"):
        return None
    return joined


def names_in(sizes: Iterable[str], folder: str) -> list[str]:
    """The names that lie directly in `folder`."""
    return [name for name in sizes if posixpath.dirname(name) == folder]


def read_object(tree: FileTree, name: str, most_bytes: int) -> dict[str, Any]:
    """The object that a JSON file holds; raises UnreadableInputError when it holds none."""
    return parsed_object(tree.read(name, most_bytes), f"{tree.path}/{name}")


def parsed_object(data: bytes, shown: str) -> dict[str, Any]:
    """The object of a JSON text; errors call the text `shown`."""
    if not data.strip():
        raise UnreadableInputError(shown, "the file is empty")
    try:
        document = parsed(data)
    except (ValueError, RecursionError) as error:
        raise UnreadableInputError(
            shown, f"it is not JSON: {error}", hint="was it copied completely?"
        ) from error
    if not isinstance(document, dict):
        raise UnreadableInputError(shown, "it does not hold a JSON object")
    return document


def parsed(data: bytes) -> Any:
    """The value of a JSON text; bytes that are not UTF-8 and NaN are let pass."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        text = data.decode("utf-8", "replace")
        return json.loads(text)


def integer(value: object, otherwise: int = 0) -> int:
    """`value` as an integer of 64 bits, `otherwise` where it is none."""
    if isinstance(value, bool):
        return otherwise
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
        value = int(value)
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return value
    return otherwise
