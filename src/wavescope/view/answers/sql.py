"""SQL of the page: read-only, in a process of its own that may take little time and memory."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

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
    file = asked.view.derived(_sql_file)
    given = {"path": str(file.path()), "sql": statement, "server": os.getpid()}
    with _running:
        said = _said_by_process(orjson.dumps({**given, **limits.as_json()}), limits)
    answer = orjson.loads(said)
    if "error" in answer:
        raise UsageError(answer["error"], hint=answer["hint"])
    return Answer(said)


def _sql_file(view: TraceView) -> SqlFile:
    return SqlFile(view)


def _said_by_process(request: bytes, limits: SqlLimits) -> bytes:
    # The same modules as here, and none that lie in the current folder.
    program = _PROGRAM.format(path=[place for place in sys.path if place])
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            said, _ = process.communicate(request, timeout=limits.wall_s + _START_S)
        except subprocess.TimeoutExpired:
            said = b""
        finally:
            process.kill()
    if said.endswith(b"}"):
        return said
    raise UsageError(
        f"the statement took more than {limits.wall_s:g} s, or more memory than it may, and was "
        "ended",
        hint="`wavescope query` has no such limits",
    )
