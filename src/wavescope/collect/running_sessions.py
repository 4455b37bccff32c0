"""The recordings that run now, so that others can pause and resume them.

Each recorder leaves a small file in a folder of the user's own; it names the session folder, where
every recorded process has a control page.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from wavescope.collect.launcher import parent_of
from wavescope.errors import MachineError, UsageError
from wavescope.store.chunks.layout import CONTROL_PAGE, CONTROL_SUFFIX, MAGIC, VERSION

_CONTROL_NAME = re.compile(rf"(\d{{1,10}})-\d{{1,20}}\.{CONTROL_SUFFIX}", re.ASCII)
_RECORDING_OFFSET = 12
_MOST_ANCESTORS = 256


@dataclass(frozen=True)
class ControlPage:
    """Where one recorded process looks whether to record."""

    pid: int
    path: Path


def sessions_folder(environment: Mapping[str, str]) -> Path:
    """The folder of the user's running recordings, made when needed and used by nobody else."""
    base = environment.get("XDG_RUNTIME_DIR", "")
    if base and os.access(base, os.W_OK):
        folder = Path(base) / "wavescope"
    else:
        folder = Path(tempfile.gettempdir()) / f"wavescope-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        raise MachineError(f"cannot make {folder}: {error.strerror}") from error
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise MachineError(
            f"{folder} belongs to somebody else", hint="set XDG_RUNTIME_DIR to a folder of yours"
        )
    return folder


@contextmanager
def registered(session: Path, environment: Mapping[str, str]) -> Iterator[None]:
    """Let `wavescope start|stop` find the session while the block runs."""
    entry = sessions_folder(environment) / str(os.getpid())
    entry.write_bytes(os.fsencode(session))
    try:
        yield
    finally:
        entry.unlink(missing_ok=True)


def pages_of(process: int, environment: Mapping[str, str]) -> list[ControlPage]:
    """The control pages of a recorded process, of what it started, or of a whole recording.

    `process` may be the recorder, a recorded process, or one above it.
    """
    found: list[ControlPage] = []
    for recorder, session in _running(environment):
        pages = _pages(session)
        if recorder == process:
            found += pages
        else:
            found += [page for page in pages if _is_at_or_below(page.pid, process)]
    if not found:
        raise UsageError(
            f"no recording of process {process} is running",
            hint="give the process id of `wavescope trace` or of a program it records, after the "
            "program has first used the GPU or a marker",
        )
    return found


def set_recording(page: ControlPage, *, recording: bool) -> None:
    """Pause or resume one process."""
    file = os.open(page.path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        head = os.pread(file, CONTROL_PAGE.size, 0)
        if len(head) < CONTROL_PAGE.size or CONTROL_PAGE.unpack(head)[:2] != (MAGIC, VERSION):
            raise MachineError(f"{page.path} is not a control page of this version")
        os.pwrite(file, int(recording).to_bytes(4, "little"), _RECORDING_OFFSET)
    finally:
        os.close(file)


def _running(environment: Mapping[str, str]) -> Iterator[tuple[int, Path]]:
    for entry in sorted(sessions_folder(environment).iterdir()):
        if not entry.name.isdecimal():
            continue
        if not Path(f"/proc/{entry.name}").exists():
            entry.unlink(missing_ok=True)  # its recorder died
            continue
        with contextlib.suppress(OSError):
            yield int(entry.name), Path(os.fsdecode(entry.read_bytes()))


def _pages(session: Path) -> list[ControlPage]:
    try:
        names = sorted(path.name for path in session.iterdir())
    except OSError:
        return []
    return [
        ControlPage(int(found.group(1)), session / name)
        for name in names
        if (found := _CONTROL_NAME.fullmatch(name)) and Path(f"/proc/{found.group(1)}").exists()
    ]


def _is_at_or_below(process: int, ancestor: int) -> bool:
    for _ in range(_MOST_ANCESTORS):
        if process == ancestor:
            return True
        process = parent_of(process)
        if process <= 1:
            return False
    return False
