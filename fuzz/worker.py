"""Child processes that run cases: forked from one that has imported everything already.

A child is told one case at a time. A case that takes too long, or ends the child, costs only it.
"""

from __future__ import annotations

import faulthandler
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, NoReturn

from fuzz.cases import Case
from fuzz.execution import Limits, Places, execute, prepare
from fuzz.verdict import HANG, Outcome

_CASES_PER_CHILD = 200
_CLOCK_FACTOR = 3
MakeCase = Callable[[str, int], Case]
"""The case of a reader and a number."""


class Worker:
    """Runs cases, each in a child that may serve the next ones, too."""

    def __init__(self, places: Places, make_case: MakeCase, limits: Limits) -> None:
        self._places = places
        self._make_case = make_case
        self._limits = limits
        self._child: _Child | None = None

    def run(self, reader: str, number: int) -> Outcome:
        """What comes of a case."""
        if self._child is not None and self._child.run_count >= _CASES_PER_CHILD:
            self.close()
        if self._child is None:
            self._child = _Child(self._places, self._make_case, self._limits)
        outcome = self._child.run(reader, number)
        if outcome.signal:
            self.close()
        return outcome

    def run_once(self, case: Case, *, is_debugged: bool = False) -> Outcome:
        """What comes of `case` in a child of its own; the traceback of any error for debugging."""
        self.close()
        child = _Child(
            self._places, lambda reader, number: case, self._limits, is_debugged=is_debugged
        )
        try:
            return child.run(case.reader, case.number)
        finally:
            child.end()

    def close(self) -> None:
        """End the child."""
        if self._child is not None:
            self._child.end()
            self._child = None


class _Child:
    """A forked process, and the two pipes to it."""

    def __init__(
        self, places: Places, make_case: MakeCase, limits: Limits, *, is_debugged: bool = False
    ) -> None:
        self.run_count = 0
        self._places = places
        self._limits = limits
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()
        sys.stdout.flush()
        self._process = os.fork()
        if self._process == 0:
            os.close(ours_in)
            os.close(ours_out)
            with os.fdopen(theirs_in, "rb") as asked, os.fdopen(theirs_out, "wb") as answers:
                _serve(places, make_case, limits, asked, answers, is_debugged=is_debugged)
        os.close(theirs_in)
        os.close(theirs_out)
        self._asked = os.fdopen(ours_out, "wb")
        self._answers = os.fdopen(ours_in, "rb")

    def run(self, reader: str, number: int) -> Outcome:
        """What the child says of a case, or how it ended."""
        self.run_count += 1
        start = time.monotonic()
        with suppress(BrokenPipeError):
            self._asked.write(f"{number} {reader}\n".encode())
            self._asked.flush()
        is_answered = self._waited()
        line = self._answers.readline() if is_answered else b""
        if line:
            return Outcome.from_json(line.decode())
        ending = self._ending() if is_answered else HANG
        return Outcome(signal=ending, errors=self._errors(), seconds=time.monotonic() - start)

    def _waited(self) -> bool:
        """Whether the child says anything, or ends, before it has used up its time.

        Its own time counts, since other programs may keep it from running; one that waits for
        what never comes uses none, and has a longer time by the clock.
        """
        end = time.monotonic() + self._limits.seconds * _CLOCK_FACTOR
        most = self._used_seconds() + self._limits.seconds
        while time.monotonic() < end and self._used_seconds() < most:
            if select.select([self._answers], [], [], self._limits.seconds / 4)[0]:
                return True
        return False

    def _used_seconds(self) -> float:
        stat = Path(f"/proc/{self._process}/stat").read_text().rpartition(")")[2].split()
        return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")

    def _ending(self) -> int:
        _, status = os.waitpid(self._process, 0)
        self._process = 0
        return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 1_000 + os.WEXITSTATUS(status)

    def _errors(self) -> str:
        with suppress(OSError):
            return self._places.errors.read_bytes()[-20_000:].decode("utf-8", "replace")
        return ""

    def end(self) -> None:
        """Kill the child and what it may have started."""
        if self._process:
            with suppress(ProcessLookupError):
                os.killpg(self._process, signal.SIGKILL)
            os.waitpid(self._process, 0)
            self._process = 0
        with suppress(BrokenPipeError):
            self._asked.close()
        self._answers.close()


def _serve(
    places: Places,
    make_case: MakeCase,
    limits: Limits,
    asked: BinaryIO,
    answers: BinaryIO,
    *,
    is_debugged: bool,
) -> NoReturn:
    """Run what is asked for until nobody asks any more."""
    os.setsid()
    prepare(places, limits)
    if is_debugged:
        os.environ["WAVESCOPE_DEBUG"] = "1"
    with places.errors.open("a") as errors:
        faulthandler.enable(errors)
        for line in asked:
            number, _, reader = line.decode().strip().partition(" ")
            case = make_case(reader, int(number))
            faulthandler.dump_traceback_later(limits.seconds * 0.9, file=errors)
            outcome = execute(case, places)
            faulthandler.cancel_dump_traceback_later()
            answers.write(outcome.to_json().encode() + b"\n")
            answers.flush()
    os._exit(0)
