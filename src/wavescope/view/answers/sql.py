"""SQL of the page: read-only, in a process of its own that may take little time and memory."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

import orjson

from wavescope.errors import UsageError
from wavescope.view.answers.question import Answer, Asked
from wavescope.view.answers.sql_file import SqlFile
from wavescope.view.answers.sql_process import SqlLimits
from wavescope.view.opening import TraceView

LIMITS = SqlLimits()
MOST_PROCESSES = 2
_START_S = 20.0
"""Beside the time of the statement: a busy machine starts processes slowly."""
_LOOK_S = 0.1
"""Between two looks at whether anybody still waits for the answer."""
_PROGRAM = (
    "import sys; sys.path[:] = {path!r}; "
    "from wavescope.view.answers.sql_process import main; main()"
)
_running = threading.Semaphore(MOST_PROCESSES)


def sql(asked: Asked) -> Answer:
    """The rows of one SELECT statement: columns, rows, whether there are more, seconds."""
    return answer_within(asked, LIMITS)


def answer_within(asked: Asked, limits: SqlLimits) -> Answer:
    """The same, with limits of the caller's choice."""
    statement = asked.text("sql")
    asked.view.require_unchanged()
    file = asked.view.derived(_sql_file)
    # Names of files need not be text.
    path = os.fsencode(file.path()).hex()
    given = {"path": path, "sql": statement, "server": os.getpid()}
    with _turn(asked):
        said = _said_by_process(orjson.dumps({**given, **limits.as_json()}), limits, asked)
    answer = orjson.loads(said)
    if "error" in answer:
        raise UsageError(answer["error"], hint=answer["hint"])
    return Answer(said)


def _sql_file(view: TraceView) -> SqlFile:
    return SqlFile(view)


@contextmanager
def _turn(asked: Asked) -> Iterator[None]:
    """Few statements at once; who went away while waiting is forgotten."""
    while not _running.acquire(timeout=_LOOK_S):
        _require_awaited(asked)
    try:
        yield
    finally:
        _running.release()


def _said_by_process(request: bytes, limits: SqlLimits, asked: Asked) -> bytes:
    # The same modules as here, and none that lie in the current folder.
    program = _PROGRAM.format(path=[place for place in sys.path if place])
    with (
        _readable(request) as given,
        subprocess.Popen(
            [sys.executable, "-c", program],
            stdin=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as process,
    ):
        try:
            said = _said_in_time(process, limits.wall_s + _START_S, asked)
        finally:
            process.kill()
    if said.endswith(b"}"):
        return said
    raise UsageError(
        f"the statement took more than {limits.wall_s:g} s, or more memory than it may, and was "
        "ended",
        hint="`wavescope query` has no such limits",
    )


def _readable(data: bytes) -> BinaryIO:
    """A file in memory: a pipe would have to be filled while the process is watched."""
    file = os.fdopen(os.memfd_create("statement"), "w+b")
    file.write(data)
    file.seek(0)
    return file


def _said_in_time(process: subprocess.Popen[bytes], seconds: float, asked: Asked) -> bytes:
    """What the process says before it ends; nothing where that takes longer."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        with suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=_LOOK_S)[0]
        _require_awaited(asked)
    return b""


def _require_awaited(asked: Asked) -> None:
    if not asked.is_awaited():
        raise UsageError("nobody waits for the answer any more")
