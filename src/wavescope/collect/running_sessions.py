"""The recordings that run now, so that others can pause and resume them.

Each recorder leaves a small file in a folder of the user's own; it names the session folder, where
every recorded process has a control page.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from wavescope.collect.launcher import parent_of
from wavescope.errors import MachineError, UsageError
from wavescope.formats.session.folder import DORMANT, read_session_facts
from wavescope.formats.session.stillness import control_names, opened_control_page
from wavescope.private_folders import private_folder, why_not_private

_RECORDING_OFFSET = 12
_MOST_ANCESTORS = 256
_MOST_LOOKS = 5
_MOMENT_S = 1.0
_LOOK_AGAIN_S = 0.05


@dataclass(frozen=True)
class ControlPage:
    """Where one recorded process looks whether to record."""

    pid: int
    path: Path

    @property
    def session(self) -> Path:
        """The folder that the process records into."""
        return self.path.parent

    @property
    def base(self) -> str:
        """What the names of the process's files begin with."""
        return self.path.stem


def sessions_folder(environment: Mapping[str, str]) -> Path:
    """The folder of the user's running recordings, made when needed and used by nobody else."""
    troubles = []
    for folder in _places(environment):
        trouble = _trouble_with(folder)
        if not trouble:
            return folder
        troubles.append(trouble)
    raise MachineError(
        f"there is no folder for the list of running recordings: {', '.join(troubles)}",
        hint="set XDG_RUNTIME_DIR to a folder you own",
    )


def _trouble_with(folder: Path) -> str:
    """Why the list cannot be in `folder`, which is made when needed; nothing where it can."""
    try:
        private_folder(folder)
    except OSError as error:
        return f"cannot make {folder}: {error.strerror}" if error.strerror else str(error)
    return ""


def _places(environment: Mapping[str, str]) -> Iterator[Path]:
    """Where the list may be, the best place first.

    All can make files in a temporary folder: where another user took our name in it, the list is
    in the user's own cache, with the machine's name, as several may share that.
    """
    base = Path(environment.get("XDG_RUNTIME_DIR", ""))
    if base.is_absolute() and os.access(base, os.W_OK) and base.stat().st_uid == os.geteuid():
        yield base / "wavescope"
    yield Path(tempfile.gettempdir()) / f"wavescope-{os.geteuid()}"
    cache = Path(environment.get("XDG_CACHE_HOME", ""))
    if not cache.is_absolute():
        cache = Path(environment.get("HOME", "")) / ".cache"
    if cache.is_absolute():
        yield cache / "wavescope" / f"running-{os.uname().nodename}"


@contextmanager
def registered(session: Path, environment: Mapping[str, str]) -> Iterator[None]:
    """Let `wavescope pause` and its like find the session while the block runs."""
    entry = sessions_folder(environment) / str(os.getpid())
    entry.write_bytes(os.fsencode(session))
    try:
        yield
    finally:
        entry.unlink(missing_ok=True)


def pages_of(process: int, environment: Mapping[str, str]) -> list[ControlPage]:
    """As `found_pages`; an error when there are none."""
    found = found_pages(process, environment)
    if not found:
        raise UsageError(
            f"no recording of process {process} is running",
            hint="give the process id of `wavescope trace` or of a program it records, after the "
            "program has first used the GPU or a marker",
        )
    return found


def found_pages(process: int, environment: Mapping[str, str]) -> list[ControlPage]:
    """The control pages of a recorded process, of what it started, or of a whole recording.

    `process` may be the recorder, a recorded process, or one above it.
    """
    found: list[ControlPage] = []
    for recorder, session in _running(environment):
        pages = pages_in(session)
        if recorder == process:
            found += pages
        else:
            found += [page for page in pages if _is_at_or_below(page.pid, process)]
    return found


def set_process_recording(
    process: int, environment: Mapping[str, str], *, recording: bool
) -> tuple[int, ...]:
    """Pause or resume the recording of a process and of what it started; which these are."""
    pages = pages_of(process, environment)
    if recording and is_dormant(pages[0].session):
        raise UsageError(
            f"process {pages[0].pid} runs dormant: it is recorded only while somebody is attached",
            hint=f"wavescope attach {pages[0].pid} --duration 10s",
        )
    for page in pages:
        set_recording(page, recording=recording)
    return tuple(page.pid for page in pages)


def set_recording(page: ControlPage, *, recording: bool) -> None:
    """Pause or resume one process."""
    with opened_control_page(page.path) as file:
        os.pwrite(file, int(recording).to_bytes(4, "little"), _RECORDING_OFFSET)


def is_recording(page: ControlPage) -> bool:
    """Whether the process is told to record."""
    with opened_control_page(page.path) as file:
        return os.pread(file, 4, _RECORDING_OFFSET) != bytes(4)


def is_dormant(session: Path) -> bool:
    """Whether the program of the session is recorded only while somebody is attached."""
    return DORMANT in read_session_facts(session)


@contextmanager
def held(page: ControlPage) -> Iterator[bool]:
    """Keep others from recording a window of the process; False when somebody else does."""
    with opened_control_page(page.path) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


def _running(environment: Mapping[str, str]) -> Iterator[tuple[int, Path]]:
    for entry in _entries(environment):
        if not entry.name.isdecimal():
            continue
        if not Path(f"/proc/{entry.name}").exists():
            entry.unlink(missing_ok=True)  # its recorder died
            continue
        with suppress(OSError):
            yield int(entry.name), Path(os.fsdecode(entry.read_bytes()))


def _entries(environment: Mapping[str, str]) -> list[Path]:
    """The files of all lists that are there and the user's own."""
    found: list[Path] = []
    for folder in _places(environment):
        with suppress(OSError):
            found += [] if why_not_private(folder) else sorted(folder.iterdir())
    return found


def require_no_recorder(output: Path, environment: Mapping[str, str]) -> None:
    """Refuse an output that a running recording of this user is going to write.

    Of two recordings that begin at the same moment the second hears of it when it is to write.
    """
    for recorder, session in _running(environment):
        facts = read_session_facts(session)
        if facts.get("output") == str(output.absolute()) and DORMANT not in facts:
            raise UsageError(
                f"process {recorder} is recording a program into {output}",
                hint="choose another -o, or add --force: then the last one wins",
            )


def pages_in(session: Path) -> list[ControlPage]:
    """The control pages of the processes of a session that still run."""
    pages = [
        ControlPage(int(name.partition("-")[0]), session / name) for name in control_names(session)
    ]
    return [page for page in pages if Path(f"/proc/{page.pid}").exists()]


def _is_at_or_below(process: int, ancestor: int) -> bool:
    for _ in range(_MOST_ANCESTORS):
        if process == ancestor:
            return True
        process = parent_of(process)
        if process <= 1:
            return False
    return False


def after_a_moment(
    look: Callable[[], tuple[int, ...]],
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> tuple[int, ...]:
    """What `look` finds after a second, or nothing as soon as it finds nothing.

    Some processes end right after the program, because it did: those that help Python's
    multiprocessing, for one.
    """
    deadline = clock() + _MOMENT_S
    while (found := look()) and clock() < deadline:
        sleep(_LOOK_AGAIN_S)
    return found


def outliving(session: Path) -> tuple[int, ...]:
    """Processes of this user that record into `session` as soon as there is anything to record.

    While one becomes a daemon it may end after its child was looked for: a look counts when the
    next one finds the same.
    """
    found = _processes_of(session)
    for _ in range(_MOST_LOOKS):
        before, found = found, _processes_of(session)
        if found == before:
            break
    return found


def _processes_of(session: Path) -> tuple[int, ...]:
    wanted = b"WAVESCOPE_OUTPUT=" + os.fsencode(session)
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal():
            continue
        try:
            environment = (folder / "environ").read_bytes()
        except OSError:  # it ended meanwhile, or is somebody else's
            continue
        if wanted in environment.split(b"\0"):
            found.append(int(folder.name))
    return tuple(sorted(found))
