"""The files of a zip or tar archive, read where they are: no member is unpacked to the disk.

Names that are absolute or lead upwards, links, devices and encrypted members are not listed.
Every read is bounded by what is asked for, whatever sizes the archive states.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import posixpath
import tarfile
import tempfile
import weakref
import zipfile
import zlib
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import IO, Any

from wavescope.closing import on_error
from wavescope.errors import UnreadableInputError
from wavescope.formats.captures.file_tree import MOST_FILES, FileTree, too_large
from wavescope.unpacking import Unpacking, told_when_full

_DAMAGED = (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, OSError, lzma.LZMAError)
_ENCRYPTED = 1
_ZIP_MEMBER = b"PK\x03\x04"
_BLOCK_BYTES = 1 << 20
_INFLATERS: dict[bytes, Callable[..., Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\0": lzma.open,
}
"""How compressed archives begin, and what undoes it."""


def opened_archive(path: Path) -> FileTree | None:
    """The tree of an archive, None when `path` is none."""
    try:
        if zipfile.is_zipfile(path) or _begins_as_zip(path):
            return ZipTree(path)
        if tarfile.is_tarfile(path):
            return TarTree(path)
    except _DAMAGED as error:
        raise _damaged(path, error) from error
    return None


def _begins_as_zip(path: Path) -> bool:
    """Whether a file begins as a zip archive; a cut one has lost the list that is its end."""
    with path.open("rb") as file:
        return file.read(len(_ZIP_MEMBER)) == _ZIP_MEMBER


class ZipTree:
    """The files of a zip archive."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._archive = zipfile.ZipFile(path)
        except (*_DAMAGED, RuntimeError, UnicodeDecodeError) as error:  # the last of names
            raise _damaged(path, error) from error
        weakref.finalize(self, self._archive.close)

    @property
    def path(self) -> str:
        return os.fspath(self._path)

    @cached_property
    def sizes(self) -> dict[str, int]:
        members = [
            (member.filename, member.file_size)
            for member in self._archive.infolist()
            if member.filename  # damage may leave a member without a name
            and not member.is_dir()
            and not member.flag_bits & _ENCRYPTED
        ]
        return _accepted(self._path, members)

    def read(self, name: str, most_bytes: int) -> bytes:
        if name not in self.sizes:
            raise UnreadableInputError(f"{self.path}:{name}", "there is no such file")
        try:
            with self._archive.open(self._stored_names[name]) as member:
                return _bounded(member, f"{self.path}:{name}", most_bytes)
        except (*_DAMAGED, RuntimeError) as error:
            raise _damaged(f"{self.path}:{name}", error) from error

    @cached_property
    def _stored_names(self) -> dict[str, str]:
        return {posixpath.normpath(name): name for name in self._archive.namelist()}


class TarTree:
    """The files of a tar archive, compressed or not.

    A compressed tar can only be read from its beginning: it is inflated once, into a temporary
    file without a name, so that members can be read in any order.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            file = _seekable_tar(path)
            weakref.finalize(self, file.close)
            self._archive = tarfile.open(fileobj=file, mode="r:")  # noqa: SIM115  kept for the tree's life
            self._members = {
                posixpath.normpath(member.name): member
                for member in _first_members(self._archive, path)
                if member.isreg()
            }
        except _DAMAGED as error:
            raise _damaged(path, error) from error

    @property
    def path(self) -> str:
        return os.fspath(self._path)

    @cached_property
    def sizes(self) -> dict[str, int]:
        members = [(member.name, member.size) for member in self._members.values()]
        return _accepted(self._path, members)

    def read(self, name: str, most_bytes: int) -> bytes:
        if name not in self.sizes:
            raise UnreadableInputError(f"{self.path}:{name}", "there is no such file")
        try:
            file = self._archive.extractfile(self._members[name])
            assert file is not None
            return _bounded(file, f"{self.path}:{name}", most_bytes)
        except _DAMAGED as error:
            raise _damaged(f"{self.path}:{name}", error) from error


def _seekable_tar(path: Path) -> IO[bytes]:
    """The plain tar that `path` is or inflates to."""
    file = path.open("rb")
    for magic, opener in _INFLATERS.items():
        is_packed = file.read(len(magic)) == magic
        file.seek(0)
        if is_packed:
            with file, opener(file) as packed:
                return _inflated(packed, path)
    return file


def _inflated(packed: IO[bytes], path: Path) -> IO[bytes]:
    plain = tempfile.TemporaryFile()  # noqa: SIM115  kept for the tree's life
    unpacking = Unpacking(path, path.stat().st_size)
    with on_error(plain.close):
        while block := packed.read(_BLOCK_BYTES):
            unpacking.add(len(block))
            with told_when_full(tempfile.gettempdir()):
                plain.write(block)
        with told_when_full(tempfile.gettempdir()):
            plain.seek(0)  # what is left to be written is written now
    return plain


def _first_members(archive: tarfile.TarFile, path: Path) -> list[tarfile.TarInfo]:
    members: list[tarfile.TarInfo] = []
    for member in archive:
        members.append(member)
        if len(members) > MOST_FILES:
            raise UnreadableInputError(path, f"it has more than {MOST_FILES:,} members")
    return members


def _accepted(path: Path, members: list[tuple[str, int]]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for name, size in members:
        plain = posixpath.normpath(name)
        if plain.startswith(("/", "../")) or plain == ".." or "\\" in name or size < 0:
            continue
        sizes[plain] = size
    if len(sizes) > MOST_FILES:
        raise UnreadableInputError(path, f"it has more than {MOST_FILES:,} members")
    Unpacking(path, path.stat().st_size).add(sum(sizes.values()))
    return sizes


def _bounded(file: IO[bytes], shown: str, most_bytes: int) -> bytes:
    data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise too_large(shown, len(data), most_bytes)
    return data


def _damaged(shown: str | Path, error: BaseException) -> UnreadableInputError:
    reason = f"damaged archive: {error}" if str(error) else "damaged archive"
    return UnreadableInputError(shown, reason, hint="was it copied completely?")
