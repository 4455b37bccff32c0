"""A process that works on items, as seen by the one that started it."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass

from wavescope.closing import Closing
from wavescope.errors import MachineError
from wavescope.workers.answers import Answer, shortened, unpacked
from wavescope.workers.frames import ClosedError, FrameReader, send
from wavescope.workers.process_main import IDLE_EXIT, READY
from wavescope.workers.tasks import Task

_PROGRAM = (
    "import sys; sys.path[:] = {path!r}; from wavescope.workers.process_main import main; main()"
)
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
_KEPT_WORDS_BYTES = 8192
_END_S = 5.0
_FATAL = "Fatal Python error:"


@dataclass(frozen=True)
class ProcessLimits:
    """What a process and its items may take; None is no limit."""

    memory_bytes: int | None = None
    item_s: float | None = None
    idle_s: float | None = None


class ProcessHandle(Closing):
    """One process: it is given an item, and answers some time later."""

    def __init__(self, task: Task, limits: ProcessLimits) -> None:
        self._limits = limits
        self._process = _started()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._requests = self._process.stdin.fileno()
        self._replies = self._process.stdout.fileno()
        self._errors = self._process.stderr.fileno()
        for descriptor in (self._replies, self._errors):
            os.set_blocking(descriptor, False)
        self._reader = FrameReader(self._replies)
        self._last_words = b""
        self._given_at = 0.0
        self.is_ready = False
        self._set_up(task)

    def _set_up(self, task: Task) -> None:
        setup = {
            "starter": os.getpid(),
            "function": task.function,
            "memory_limit_bytes": self._limits.memory_bytes,
            "idle_limit_s": self._limits.idle_s,
        }
        self._send(json.dumps(setup).encode())
        self._send(task.options)

    @property
    def descriptors(self) -> tuple[int, int]:
        """What becomes readable when there is something to `take`."""
        return self._replies, self._errors

    def give(self, item: str) -> None:
        """Begin to work on `item`; `take` tells when that cannot be."""
        self._last_words = b""
        self._given_at = time.monotonic()
        self._send(json.dumps(item).encode())

    def take(self) -> Answer | None:
        """The answer to the item that was given, None while there is none.

        Where the process has ended, or took too long and is ended, the answer says so.
        """
        self._hear()
        try:
            frame = self._reader.next()
            if frame == READY and not self.is_ready:
                self.is_ready = True
                self._given_at = time.monotonic()
                frame = self._reader.next()
        except ClosedError:
            return self._lost()
        if frame is not None:
            return unpacked(frame)
        if self._process.poll() is not None:  # a process that it left behind holds the pipe
            return self._lost()
        limit_s = self._limits.item_s
        if limit_s is not None and time.monotonic() - self._given_at > limit_s:
            self.close()
            return Answer(problem=f"it took longer than {limit_s:g} s and was ended")
        return None

    @property
    def has_ended(self) -> bool:
        """Whether it can be given no more items."""
        return self._process.poll() is not None

    @property
    def was_idle_too_long(self) -> bool:
        """Whether it ended because nobody gave it anything."""
        return self._process.poll() == IDLE_EXIT

    def kill(self) -> None:
        """End the process, and what it started, at once; another thread may wait for its answer."""
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> None:
        """End the process at once, and give everything back."""
        self.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()

    def _send(self, data: bytes) -> None:
        with contextlib.suppress(ClosedError):  # `take` tells why
            send(self._requests, data)

    def _hear(self) -> None:
        """Keep the end of what the process says on standard error."""
        with contextlib.suppress(BlockingIOError):
            while part := os.read(self._errors, 1 << 16):
                self._last_words = (self._last_words + part)[-_KEPT_WORDS_BYTES:]

    def _lost(self) -> Answer:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_S)
        self._hear()
        code = self._process.poll()
        self.close()
        words = self._last_words.decode(errors="backslashreplace")
        last_line = shortened(words.partition(_FATAL)[0].strip().rpartition("\n")[2])
        problem = _ending(code) + (f": {last_line}" if last_line else "")
        if not self.is_ready:
            problem = f"a worker process could not start: {problem}"
        return Answer(problem=problem, details=words, is_lost=True)


def wait_for_any(handles: Iterable[ProcessHandle], seconds: float) -> None:
    """Come back when one of `handles` may have something to take, or after `seconds`."""
    poll = select.poll()
    for handle in handles:
        for descriptor in handle.descriptors:
            poll.register(descriptor, select.POLLIN)
    poll.poll(1000 * seconds)


def _started() -> subprocess.Popen[bytes]:
    # The same modules as here, and none that lie in the current folder.
    program = _PROGRAM.format(path=[place for place in sys.path if place])
    # One process is one thread of work: more would fight over the processors.
    environment = {**dict.fromkeys(_THREADS, "1"), **os.environ}
    try:
        return subprocess.Popen(
            [sys.executable, "-c", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            bufsize=0,
            start_new_session=True,  # Ctrl-C is not for it, and what it starts ends with it
        )
    except OSError as error:
        raise MachineError(
            f"cannot start a worker process: {error.strerror or error}",
            hint="are there limits of processes or memory? fewer workers need less of both",
        ) from error


def _ending(code: int | None) -> str:
    if code is None:
        return "the worker closed its pipe"
    if code >= 0:
        return f"the worker ended with exit code {code}"
    if code == -signal.SIGKILL:
        return "the worker was ended by signal 9 (out of memory?)"
    names = {int(each): each.name for each in signal.Signals}
    return f"the worker was ended by signal {-code} ({names.get(-code, 'unknown')})"
