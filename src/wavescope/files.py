"""Files whatever their format: bytes in and out, packed with gzip or not; outputs are whole.

What fails while reading becomes a clear error. An output is a temporary file beside its target,
put in its place (see `placing`) when it is complete.
"""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO, cast

from isal import igzip, isal_zlib
from isal.igzip_lib import IsalError

from wavescope.closing import Closing
from wavescope.errors import OutputExistsError, UnreadableInputError, UsageError
from wavescope.model.columns import TABLES
from wavescope.placing import (
    LONGEST_TOLD_NAME,
    announced,
    place_new,
    place_over,
    require_no_writer,
)
from wavescope.stopping import removed_in_the_end
from wavescope.unpacking import Unpacking

GZIP_MAGIC = b"\x1f\x8b"
_GZIP_WINDOW_BITS = 31
_BLOCK_BYTES = 1 << 20
_GzipError = cast("type[Exception]", IsalError)


class ByteStream(Closing):
    """The bytes of a regular file; `was_cut` tells that gzip data ended early."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.was_cut = False
        self._file = _opened(path)
        self._packed = b""
        self._inflater = None
        if self._file.read(2) == GZIP_MAGIC:
            self._inflater = isal_zlib.decompressobj(_GZIP_WINDOW_BITS)
            self._unpacking = Unpacking(path, path.stat().st_size)
        self._file.seek(0)

    def read(self, size: int) -> bytes:
        """The next `size` bytes, fewer only at the end."""
        parts: list[bytes] = []
        while size > 0:
            part = self._read_some(size)
            if not part:
                break
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def close(self) -> None:
        self._file.close()

    def _read_some(self, size: int) -> bytes:
        try:
            return self._file.read(size) if self._inflater is None else self._inflate(size)
        except OSError as error:
            raise UnreadableInputError(self.path, error.strerror or str(error)) from error
        except _GzipError as error:
            raise UnreadableInputError(
                self.path, f"damaged gzip data: {error}", hint="was it copied completely?"
            ) from error

    def _inflate(self, size: int) -> bytes:
        assert self._inflater is not None
        while True:
            if not self._packed:
                self._packed = self._file.read(_BLOCK_BYTES)
            if not self._packed:
                self.was_cut |= not self._inflater.eof
                return b""
            if self._inflater.eof:
                self._packed = self._packed.lstrip(b"\0")
                if not self._packed.startswith(GZIP_MAGIC):
                    return b""
                self._inflater = isal_zlib.decompressobj(_GZIP_WINDOW_BITS)
            # Never more than was asked for: a small file may inflate to a huge one.
            data: bytes = self._inflater.decompress(self._packed, size)
            ended = self._inflater.eof
            self._packed = self._inflater.unused_data if ended else self._inflater.unconsumed_tail
            if data:
                self._unpacking.add(len(data))
                return data


def _opened(path: Path) -> IO[bytes]:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise UnreadableInputError(path, "it is not a regular file")
        return path.open("rb")
    except OSError as error:
        raise UnreadableInputError(path, error.strerror or str(error)) from error


@contextmanager
def opened_output(path: Path, *, gzip: bool) -> Iterator[BinaryIO]:
    """`path` opened for writing; compressed when asked for or when its name ends in .gz."""
    with path.open("wb") as file:
        if not (gzip or path.name.endswith(".gz")):
            yield file
            return
        # No name and no time in the header: equal traces give equal files.
        packed = igzip.IGzipFile("", "wb", compresslevel=1, fileobj=file, mtime=0)  # type: ignore[no-untyped-call]
        with cast(BinaryIO, packed) as out:
            yield out


_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
_BESIDE_A_DATABASE = ("-wal", "-journal")


@contextmanager
def replaced(
    target: Path, inputs: Sequence[Path], *, force: bool, is_folder: bool = False
) -> Iterator[Path]:
    """A temporary path beside `target`, put in its place when the block succeeds, else removed.

    Refuses to overwrite an input of the command always, and without `force` any target that is
    there, that another process is writing, or that has come into being when the block ends.
    """
    require_free(target, inputs, force=force)
    if is_folder and target.is_dir():
        _require_export(target, target)
    prefix = f".{target.name[:LONGEST_TOLD_NAME]}."
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=target.parent))
    temporary = folder / target.name
    with removed_in_the_end(folder), announced(folder):
        if is_folder:
            temporary.mkdir()
        try:
            yield temporary
            _place(temporary, target, force=force)
        except OSError as error:
            # Nobody knows the temporary file: the error shall speak of what was asked for.
            name = error.filename
            if str(folder) in str(name) or (name is None and error.errno in _NO_ROOM):
                error.filename = str(target)
            raise


def require_free(target: Path, inputs: Sequence[Path], *, force: bool) -> None:
    """Refuse a target that is an input, exists while `force` is not given, or has no folder."""
    for given in inputs:
        if _is_same(given, target) or _is_inside(given, target):
            raise UsageError(
                f"the output {target} is also an input",
                hint="choose another -o: inputs are never changed",
            )
    if not force:
        _require_no_leftover(target)
    if os.path.lexists(target):
        if not force:
            raise OutputExistsError(target)
        mode = target.stat().st_mode if target.exists() else 0
        if mode and not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise UsageError(f"{target} is neither a file nor a folder, so it is not replaced")
    parent = target.parent
    if not parent.is_dir():
        raise UsageError(f"the folder {parent} does not exist", hint=f"mkdir -p {parent}")
    if not force:
        require_no_writer(target)


def _require_no_leftover(target: Path) -> None:
    """SQLite would take it for unwritten pages of the new file."""
    leftover = next(filter(os.path.lexists, _leftovers(target)), None)
    if leftover is not None:
        raise OutputExistsError(leftover)


def _leftovers(target: Path) -> list[Path]:
    return [target.with_name(target.name + suffix) for suffix in _BESIDE_A_DATABASE]


def _is_same(first: Path, second: Path) -> bool:
    try:
        return first.samefile(second)
    except OSError:
        return first.absolute() == second.absolute()


def _is_inside(folder: Path, target: Path) -> bool:
    """Whether `target` is there and `folder` may have been recorded with it."""
    return folder.is_dir() and target.exists() and folder.resolve() in target.resolve().parents


def _require_export(folder: Path, target: Path) -> None:
    """Refuse to replace a folder, told as `target`, that holds anything but an earlier export."""
    tables = {table.name for table in TABLES}
    for entry in folder.iterdir():
        is_table = entry.is_file() and not entry.is_symlink()
        if entry.name.partition(".")[0] not in tables or not is_table:
            raise UsageError(
                f"{target} holds something that no export wrote: {entry.name}",
                hint="choose another -o: only exported tables are replaced",
            )


def _place(temporary: Path, target: Path, *, force: bool) -> None:
    temporary.chmod(_default_mode(is_folder=temporary.is_dir()))
    if not force:
        _require_no_leftover(target)
        place_new(temporary, target)
        return
    if not temporary.is_dir() and not target.is_dir():
        for leftover in _leftovers(target):
            leftover.unlink(missing_ok=True)
    place_over(temporary, target, lambda folder: _require_export(folder, target))


def _default_mode(*, is_folder: bool) -> int:
    mask = os.umask(0)
    os.umask(mask)
    return (0o777 if is_folder else 0o666) & ~mask
