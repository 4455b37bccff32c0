"""Puts an output in its place: a temporary file beside the target, renamed when it is complete."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from wavescope.errors import OutputExistsError, UsageError
from wavescope.model.columns import TABLES

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
_BESIDE_A_DATABASE = ("-wal", "-journal")


@contextmanager
def replaced(
    target: Path, inputs: Sequence[Path], *, force: bool, is_folder: bool = False
) -> Iterator[Path]:
    """A temporary path beside `target`, renamed over it when the block succeeds, else removed.

    Refuses to overwrite an existing target without `force`, and an input of the command always.
    """
    require_free(target, inputs, force=force)
    if is_folder and target.is_dir():
        _require_export(target)
    folder = Path(tempfile.mkdtemp(prefix=f".{target.name[:80]}.", dir=target.parent))
    temporary = folder / target.name
    if is_folder:
        temporary.mkdir()
    try:
        yield temporary
        _move(temporary, target)
    except OSError as error:
        # Nobody knows the temporary file: the error shall speak of what was asked for.
        name = error.filename
        if str(folder) in str(name) or (name is None and error.errno in _NO_ROOM):
            error.filename = str(target)
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def require_free(target: Path, inputs: Sequence[Path], *, force: bool) -> None:
    """Refuse a target that is an input, exists while `force` is not given, or has no folder."""
    for given in inputs:
        if _is_same(given, target) or _is_inside(given, target):
            raise UsageError(
                f"the output {target} is also an input",
                hint="choose another -o: inputs are never changed",
            )
    leftover = next(filter(os.path.lexists, _leftovers(target)), None)
    if leftover is not None and not force:
        # SQLite would take it for unwritten pages of the new file.
        raise OutputExistsError(leftover)
    if os.path.lexists(target):
        if not force:
            raise OutputExistsError(target)
        mode = target.stat().st_mode if target.exists() else 0
        if mode and not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise UsageError(f"{target} is neither a file nor a folder, so it is not replaced")
    parent = target.parent
    if not parent.is_dir():
        raise UsageError(f"the folder {parent} does not exist", hint=f"mkdir -p {parent}")


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


def _require_export(folder: Path) -> None:
    """Refuse to replace a folder that holds anything but an earlier export."""
    tables = {table.name for table in TABLES}
    for entry in folder.iterdir():
        if entry.name.partition(".")[0] not in tables or not entry.is_file():
            raise UsageError(
                f"{folder} holds something that no export wrote: {entry.name}",
                hint="choose another -o: only exported tables are replaced",
            )


def _move(temporary: Path, target: Path) -> None:
    if target.is_dir() and not target.is_symlink():
        if not temporary.is_dir():
            raise UsageError(f"{target} is a folder")
        shutil.rmtree(target)
    for leftover in _leftovers(target):
        leftover.unlink(missing_ok=True)
    temporary.chmod(_default_mode(is_folder=temporary.is_dir()))
    temporary.replace(target)


def _default_mode(*, is_folder: bool) -> int:
    mask = os.umask(0)
    os.umask(mask)
    return (0o777 if is_folder else 0o666) & ~mask
