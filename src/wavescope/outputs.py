"""Outputs of commands: whole or not there, packed with gzip or not.

An output is a temporary file or folder beside its target, put in its place when it is complete.
"""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from isal import igzip

from wavescope.errors import OutputExistsError, UsageError
from wavescope.model.columns import TABLES
from wavescope.placing import (
    LONGEST_TOLD_NAME,
    announced,
    place_new,
    place_over,
    require_no_writer,
)
from wavescope.process import removed_in_the_end


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
    folder = _folder_beside(target)
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
    """Refuse a target that is an input, exists while `force` is not given, or cannot be written."""
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
    _require_folder(target.parent)
    _folder_beside(target).rmdir()
    if not force:
        require_no_writer(target)


def _require_folder(folder: Path) -> None:
    if folder.is_dir():
        return
    there = next(filter(os.path.lexists, (folder, *folder.parents)), folder)
    if there.is_dir():
        raise UsageError(f"the folder {folder} does not exist", hint=f"mkdir -p {folder}")
    raise UsageError(f"{there} is not a folder", hint="choose another -o")


def _folder_beside(target: Path) -> Path:
    """A new folder for what is not finished."""
    prefix = f".{target.name[:LONGEST_TOLD_NAME]}."
    try:
        return Path(tempfile.mkdtemp(prefix=prefix, dir=target.parent))
    except OSError as error:
        # What was asked for is the output: the folder beside it is ours.
        raise OSError(error.errno, error.strerror, str(target)) from error


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
