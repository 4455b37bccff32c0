"""Runs the recorded program: its streams are its own, signals reach it, its end is waited for.

Ctrl-C in a terminal reaches the program by itself, because it is in the terminal's foreground group
like the recorder; so does what somebody sends to the whole group. A signal to the recorder alone is
passed on. The second interruption kills the program and all that it started. So does the end of
somebody's patience, after the program was asked to end.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from wavescope.collect.patience import GRACE_S, Patience, Watch, cpu_ticks
from wavescope.errors import MachineError, UsageError

_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_ALSO_FORWARDED = (signal.SIGUSR1, signal.SIGUSR2)
_SENT_BY_KERNEL = 0x80
_LOOK_AGAIN_S = 0.5
"""Other threads of this process do not block signals: one may swallow that of the program's end."""
_SET_ASIDE_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
STDOUT, STDERR = 1, 2
_PROBE_PATIENCE_S = 0.05
"""How much later than the recorder the probe may get a signal."""


@dataclass(frozen=True)
class ProgramEnd:
    """How the program ended."""

    status: int
    """Its exit code, or minus the signal that ended it."""
    interruptions: int = 0
    """How often it was asked to stop from outside."""
    wall_ns: int = field(default=0, compare=False)
    """How long it ran, from its start until its end was noticed."""
    trouble: str = field(default="", compare=False)
    """Why what was to be done meanwhile was given up, or nothing."""
    given_up: str = ""
    """Why the program was ended before its end, or nothing."""

    @property
    def exit_code(self) -> int:
        """What a shell would report: 128 plus the number of a signal."""
        return self.status if self.status >= 0 else 128 - self.status

    @property
    def words(self) -> str:
        """How it ended, for people."""
        if self.status >= 0:
            return f"exit code {self.status}"
        try:
            name = signal.Signals(-self.status).name
        except ValueError:
            name = f"signal {-self.status}"
        return f"ended by {name}"


def do_nothing() -> None:
    """What there is to do while most programs run."""


def launch(
    command: Sequence[str],
    environment: Mapping[str, str],
    meanwhile: Callable[[], None] = do_nothing,
    patience: Patience | None = None,
) -> ProgramEnd:
    """Run `command` to its end, or to that of `patience`; an error when it cannot be started.

    `meanwhile` is called about twice a second, and is to be back soon: signals wait for it. When it
    fails it is not called again, and the program goes on.
    """
    watched = {signal.SIGCHLD, *_FORWARDED, *_ALSO_FORWARDED}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, watched)
    try:
        began_ns = time.monotonic_ns()
        with GroupSignalProbe(watched) as probe:
            child = _started(command, environment, before)
            giving_up = _GivingUp(child, patience) if patience is not None else None
            end = _watched(child, watched, probe, meanwhile, giving_up)
        return replace(end, wall_ns=time.monotonic_ns() - began_ns)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _started(command: Sequence[str], environment: Mapping[str, str], mask: Iterable[int]) -> int:
    try:
        return os.posix_spawnp(
            command[0],
            list(command),
            dict(environment),
            setsigmask=mask,
            setsigdef=_SET_ASIDE_BY_PYTHON,
        )
    except FileNotFoundError as error:
        raise UsageError(
            f"there is no program '{command[0]}'",
            hint="check the spelling and PATH; a program here needs ./ before its name",
        ) from error
    except PermissionError as error:
        raise UsageError(
            f"'{command[0]}' cannot be executed", hint="chmod +x, or name its interpreter"
        ) from error
    except OSError as error:
        raise MachineError(f"'{command[0]}' cannot be started: {error.strerror}") from error


class _GivingUp:
    """Ends a program when patience is over: it is asked to end, and killed if it does not."""

    def __init__(self, child: int, patience: Patience) -> None:
        self._child = child
        self._watch = Watch(patience, self._used_ticks)
        self._family: list[int] = []
        self._killing_s = 0.0
        self.reason = ""

    def look(self) -> None:
        """Ask or kill, when it is time to."""
        if not self.reason:
            self.reason = self._watch.verdict()
            if self.reason:
                self._family = self._processes()
                self._killing_s = time.monotonic() + GRACE_S
                for process in self._family:
                    _send(process, signal.SIGTERM)
        elif time.monotonic() >= self._killing_s:
            self._kill(self._processes())

    def finish(self) -> str:
        """Kill what the ended program has left behind, if it was given up; why it was."""
        self._kill(process for process in self._family if process != self._child)
        return self.reason

    def _kill(self, processes: Iterable[int]) -> None:
        for process in processes:
            _send(process, signal.SIGKILL)

    def _processes(self) -> list[int]:
        return [self._child, *descendants(self._child)]

    def _used_ticks(self) -> int:
        return sum(map(cpu_ticks, self._processes()))


def _watched(
    child: int,
    watched: Iterable[int],
    probe: GroupSignalProbe,
    meanwhile: Callable[[], None],
    giving_up: _GivingUp | None,
) -> ProgramEnd:
    interruptions, trouble = 0, ""
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            given_up = giving_up.finish() if giving_up is not None else ""
            return ProgramEnd(code, interruptions, trouble=trouble, given_up=given_up)
        if giving_up is not None:
            giving_up.look()
        try:
            meanwhile()
        except Exception as error:  # noqa: BLE001  whatever it is, the program must not suffer
            meanwhile, trouble = do_nothing, str(error) or type(error).__name__
        info = signal.sigtimedwait(watched, _LOOK_AGAIN_S)
        if info is None or info.si_signo == signal.SIGCHLD:
            continue
        if info.si_signo in _FORWARDED:
            interruptions += 1
        if interruptions > 1 and info.si_signo in _FORWARDED:
            kill_tree(child)
        elif not _has_reached(child, info, probe):
            _send(child, info.si_signo)


def _has_reached(child: int, info: signal.struct_siginfo, probe: GroupSignalProbe) -> bool:
    """Whether the program received a signal itself, as a member of the recorder's group."""
    try:
        is_in_group = os.getpgid(child) == os.getpgrp()
    except ProcessLookupError:
        return True
    # A terminal's keys reach the whole group; its end reaches the leader of the session alone.
    was_a_key = info.si_code == _SENT_BY_KERNEL and info.si_signo != signal.SIGHUP
    return is_in_group and (was_a_key or probe.has_received(info.si_signo))


def kill_tree(process: int) -> None:
    """Kill a process and everything it started, as far as the system still knows."""
    for descendant in [process, *descendants(process)]:
        _send(descendant, signal.SIGKILL)


def descendants(process: int) -> list[int]:
    """Processes that `process` started, directly or not."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal() and (parent := parent_of(int(folder.name))):
            children.setdefault(parent, []).append(int(folder.name))
    found: list[int] = []
    waiting = [process]
    while waiting:
        started = children.pop(waiting.pop(), [])
        found += started
        waiting += started
    return found


def parent_of(process: int) -> int:
    """The process that started `process`, or 0."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(errors="replace")
    except OSError:
        return 0
    fields = text.rpartition(")")[2].split()
    return int(fields[1]) if len(fields) > 1 and fields[1].isdecimal() else 0


def _send(process: int, number: int) -> None:
    try:
        os.kill(process, number)
    except ProcessLookupError:
        return
    except PermissionError:
        return


class GroupSignalProbe:
    """Tells a signal that was sent to the whole process group from one for the recorder alone.

    The system does not say to whom a signal was sent. A second process in the same group, which
    does nothing else, has received a group's signal too. It ends with the block, and with this
    process.
    """

    def __init__(self, watched: Iterable[int]) -> None:
        """`watched` are blocked in this process, and so they are in the probe."""
        self._watched = frozenset(watched)
        self._pid = 0
        self._questions: socket.socket | None = None

    def __enter__(self) -> GroupSignalProbe:
        ours, theirs = socket.socketpair()
        with warnings.catch_warnings():
            # Newer Pythons warn of threads; the child does nothing that they could have locked.
            warnings.simplefilter("ignore", DeprecationWarning)
            self._pid = os.fork()
        if self._pid == 0:
            try:
                ours.close()
                _testify(theirs)
            finally:
                os._exit(0)
        theirs.close()
        self._questions = ours
        return self

    def __exit__(self, *_: object) -> None:
        if self._questions is not None:
            self._questions.close()
        with suppress(ChildProcessError):
            os.waitpid(self._pid, 0)

    def has_received(self, number: int) -> bool:
        """Whether the probe received the signal too; each time it did is told once."""
        if self._questions is None or number not in self._watched:
            return False
        try:
            self._questions.sendall(bytes([number]))
            return self._questions.recv(1) == b"\1"
        except OSError:  # somebody killed it
            return False


def _testify(questions: socket.socket) -> None:
    """Answer until nobody can ask any more. Nothing else of this process is held open."""
    kept = questions.fileno()
    os.closerange(0, kept)
    os.closerange(kept + 1, 1 << 16)
    while question := questions.recv(1):
        received = signal.sigtimedwait(set(question), _PROBE_PATIENCE_S)
        questions.sendall(b"\1" if received is not None else b"\0")


@contextmanager
def children_print_to(output: int, errors: int) -> Iterator[None]:
    """Programs started meanwhile have these descriptors as standard output and error."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept_output, kept_errors = os.dup(STDOUT), os.dup(STDERR)
    try:
        os.dup2(output, STDOUT)
        os.dup2(errors, STDERR)
        yield
    finally:
        os.dup2(kept_output, STDOUT)
        os.dup2(kept_errors, STDERR)
        os.close(kept_output)
        os.close(kept_errors)
