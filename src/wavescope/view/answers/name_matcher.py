"""Names that match a regular expression, found by a process that is given up if it takes long."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import select
import subprocess
import sys
import threading
import time
import weakref

from wavescope.errors import UsageError
from wavescope.patterns import no_pattern

LONGEST_PATTERN = 1_000
MOST_SECONDS = 2.0
"""Of processor time, for one pattern; the process ends itself then."""
_PATIENCE = 10
"""On a busy machine that many times as long."""
LONGEST_MATCHED = 4_096
"""Characters of a name that are looked at, as in summaries."""


class NameMatcher:
    """Matches names with patterns, one after the other; names are handed over once."""

    def __init__(self, most_seconds: float = MOST_SECONDS) -> None:
        self._most_seconds = most_seconds
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._end: weakref.finalize[[subprocess.Popen[bytes]], NameMatcher] | None = None
        self._names: list[list[str]] = []

    def matching(self, pattern: str, names: list[list[str]]) -> list[int]:
        """The positions of the names of which any spelling has the pattern in it.

        A usage error says that it is no pattern, or that it takes too long.
        """
        if not pattern:
            raise UsageError("there is nothing to look for: the pattern is empty")
        if len(pattern) > LONGEST_PATTERN:
            raise UsageError(f"the pattern is longer than {LONGEST_PATTERN:,} characters")
        with self._lock:
            answer = json.loads(self._asked(pattern, names))
        if "error" in answer:
            raise no_pattern(pattern, answer["error"])
        hits: list[int] = answer["hits"]
        return hits

    def close(self) -> None:
        """Ends the process."""
        if self._end is not None:
            self._end()
        self._process = None

    def _asked(self, pattern: str, names: list[list[str]]) -> bytes:
        process = self._running()
        assert process.stdin is not None
        try:
            if names is not self._names:
                self._names = names
                cut = [[each[:LONGEST_MATCHED] for each in spellings] for spellings in names]
                process.stdin.write(json.dumps({"names": cut}).encode() + b"\n")
            process.stdin.write(json.dumps({"pattern": pattern}).encode() + b"\n")
            process.stdin.flush()
            answer = self._line(process)
        except BrokenPipeError:
            answer = b""
        if not answer.endswith(b"\n"):
            self.close()
            raise UsageError(
                f"the pattern takes too long: given up after {self._most_seconds:g} s",
                hint="repetitions inside of repetitions, such as (a+)+, are what takes long",
            )
        return answer

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        self.close()
        place = importlib.util.find_spec("wavescope.view.answers.name_worker")
        assert place is not None
        assert place.origin is not None
        self._names = []
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", place.origin, str(self._most_seconds)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        # The process ends with whoever asks it.
        self._end = weakref.finalize(self, _ended, self._process)
        return self._process

    def _line(self, process: subprocess.Popen[bytes]) -> bytes:
        """The answer, or what came of it in time."""
        assert process.stdout is not None
        until = time.monotonic() + _PATIENCE * self._most_seconds
        received = b""
        while not received.endswith(b"\n"):
            left = until - time.monotonic()
            if left <= 0 or not select.select([process.stdout], [], [], left)[0]:
                return received
            part = process.stdout.read1(1 << 20)  # type: ignore[attr-defined]
            if not part:
                return received
            received += part
        return received


def _ended(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(BrokenPipeError):
                stream.close()
    process.wait()
