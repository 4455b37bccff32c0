"""Puts a whole output in its place: over nothing, or over what may be replaced.

Others may write the same output at the same time. Without leave to replace, who comes second is
refused and what is there stays; with it, the last one wins. Either way a reader finds all of one
output or all of another, and what was there before is gone only when the new one is in its place.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from wavescope.closing import on_error
from wavescope.errors import OutputExistsError, UsageError

LONGEST_TOLD_NAME = 80
"""Characters of a target's name that the folder of its unfinished output has in its own."""
_RANDOM_PART = re.compile(r"[a-z0-9_]{8}", re.ASCII)
_AT_CURRENT_FOLDER = -100
_EXCHANGE = 2
_MOST_TRIES = 100
_IS_THERE = {errno.EEXIST, errno.ENOTEMPTY}


def place_new(temporary: Path, target: Path) -> None:
    """Give `temporary` the name `target`, which nothing may have by now."""
    try:
        if temporary.is_dir():
            _place_new_folder(temporary, target)
        else:
            _place_new_file(temporary, target)
    except FileExistsError as error:
        raise OutputExistsError(target, meanwhile=True) from error


def _place_new_file(temporary: Path, target: Path) -> None:
    """A second name is refused where there is one already; the first goes with its folder."""
    try:
        os.link(temporary, target, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError:  # FAT, and some file systems of user space, know no second names
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        _over_own(temporary, target, os.unlink)


def _place_new_folder(temporary: Path, target: Path) -> None:
    """A folder may be renamed over an empty one, and only one writer can have made that."""
    target.mkdir()
    _over_own(temporary, target, os.rmdir)


def _over_own(temporary: Path, target: Path, remove: Callable[[Path], object]) -> None:
    """Rename over the empty file or folder that this process made to hold the place."""
    try:
        temporary.replace(target)
    except OSError as error:
        with suppress(OSError):
            remove(target)
        if error.errno in _IS_THERE:
            raise FileExistsError(error.errno, error.strerror, str(target)) from error
        raise


def place_over(
    temporary: Path, target: Path, require_replaceable: Callable[[Path], object]
) -> None:
    """Give `temporary` the name `target`, whatever has it now.

    What a folder replaces is shown to `require_replaceable` when nobody else can reach it by its
    name any more; where that raises an error it is put back.
    """
    if not temporary.is_dir():
        if target.is_dir() and not target.is_symlink():
            raise UsageError(f"{target} is a folder")
        temporary.replace(target)
        return
    for _ in range(_MOST_TRIES):  # others may put a folder there, or take it away, in between
        if not os.path.lexists(target):
            with suppress(FileExistsError):
                _place_new_folder(temporary, target)
                return
        elif target.is_symlink() or not target.is_dir():
            raise UsageError(f"{target} is not a folder", hint="choose another -o")
        elif _taken_over(temporary, target, require_replaceable):
            return
    raise OutputExistsError(target, meanwhile=True)


def _taken_over(
    temporary: Path, target: Path, require_replaceable: Callable[[Path], object]
) -> bool:
    """Put a folder in the place of another; False when that was gone, or another was faster."""
    try:
        if not _exchanged(temporary, target):
            return _taken_over_in_turn(temporary, target, require_replaceable)
    except FileNotFoundError:
        return False
    try:
        require_replaceable(temporary)
    except UsageError:
        _exchanged(temporary, target)
        raise
    return True


def _taken_over_in_turn(
    temporary: Path, target: Path, require_replaceable: Callable[[Path], object]
) -> bool:
    """The same by two renames; who is killed in between leaves the old folder beside its place."""
    before = temporary.parent.with_name(f"{temporary.parent.name}.before")
    target.rename(before)
    try:
        require_replaceable(before)
        temporary.rename(target)
    except (UsageError, OSError) as error:
        if isinstance(error, OSError) and error.errno in _IS_THERE:
            shutil.rmtree(before, ignore_errors=True)  # another replaced it with one of its own
            return False
        before.rename(target)
        raise
    shutil.rmtree(before, ignore_errors=True)
    return True


def _exchanged(one: Path, other: Path) -> bool:
    """Let two folders swap their names at once; False where the system cannot."""
    library = ctypes.CDLL(None, use_errno=True)
    if not hasattr(library, "renameat2"):
        return False
    paths = (os.fsencode(one), os.fsencode(other))
    done = library.renameat2(
        _AT_CURRENT_FOLDER, paths[0], _AT_CURRENT_FOLDER, paths[1], ctypes.c_uint(_EXCHANGE)
    )
    if done != 0 and ctypes.get_errno() == errno.ENOENT:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(other))
    return bool(done == 0)


@contextmanager
def announced(folder: Path) -> Iterator[None]:
    """Others are told by `require_no_writer` that the output of this unfinished folder is written.

    The system forgets it with the process: one that was killed keeps nobody from writing.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):  # where it cannot be told, who comes second hears of it at the end
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def require_no_writer(target: Path) -> None:
    """Refuse a target that another process of this user is writing, before any work is done."""
    if len(target.name) > LONGEST_TOLD_NAME:
        return
    with suppress(FileNotFoundError, PermissionError, NotADirectoryError):
        start = f".{target.name}."
        for entry in target.parent.iterdir():
            is_named_so = entry.name.startswith(start)
            if is_named_so and _RANDOM_PART.fullmatch(entry.name[len(start) :]) and is_held(entry):
                raise UsageError(
                    f"another process is writing {target}",
                    hint="wait for it, choose another -o, or add --force: then the last one wins",
                )


def is_held(folder: Path) -> bool:
    """Whether another process has announced that it works in this folder of the user's own."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        if os.fstat(descriptor).st_uid != os.geteuid():
            return False
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return False


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Make `folder` where needed and keep others from working in it; refused where one does.

    An error takes the folders back that were made and hold nothing.
    """
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with on_error(partial(_remove_empty, made)):
            _lock_alone(descriptor, folder)
            yield
    finally:
        os.close(descriptor)


def _remove_empty(folders: Sequence[Path]) -> None:
    with suppress(OSError):
        for path in folders:
            path.rmdir()


def _lock_alone(descriptor: int, folder: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise UsageError(
            f"another process is writing into {folder}",
            hint="wait for it, or choose another folder",
        ) from error
    except OSError:  # some file systems of a network cannot: then nobody is told
        return
