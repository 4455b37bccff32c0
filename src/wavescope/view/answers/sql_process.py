"""The process in which a statement of the page runs: it limits itself, answers once, and ends.

The system ends it where a statement takes too long, whatever became of the server; memory that it
may not have is refused to it. Temporary files of a statement are bounded, too.
"""

from __future__ import annotations

import ctypes
import math
import os
import resource
import signal
import sys
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson

from wavescope.errors import WavescopeError
from wavescope.formats.sqlite.read_only_query import ReadOnlyQuery, SqlValue
from wavescope.render.results.json_text import json_bytes

_EXACT_IN_A_PAGE = 1 << 53
_MOST_CELL_CHARACTERS = 10_000
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class SqlLimits:
    """What one statement may take, and how much of its rows is answered."""

    wall_s: float = 10.0
    memory_bytes: int = 512 << 20
    temporary_bytes: int = 1 << 30
    rows: int = 1000
    answer_bytes: int = 2_000_000

    def as_json(self) -> dict[str, float]:
        """The limits by name."""
        return asdict(self)


def main() -> None:
    """Read a request from standard input and answer it on standard output."""
    request = orjson.loads(sys.stdin.buffer.read())
    _end_with(request.pop("server"))
    path = Path(os.fsdecode(bytes.fromhex(request.pop("path"))))
    statement = request.pop("sql")
    limits = SqlLimits(**request)
    _limit(limits)
    sys.stdout.buffer.write(json_bytes(_answer(path, statement, limits)))
    sys.stdout.buffer.flush()


def _end_with(server: int) -> None:
    """Have the system end this process with the one that started it, however that ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != server:  # it has ended already
        sys.exit(1)


def _limit(limits: SqlLimits) -> None:
    used_bytes = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    _lower(resource.RLIMIT_AS, used_bytes + limits.memory_bytes)
    _lower(resource.RLIMIT_FSIZE, limits.temporary_bytes)
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_CPU, math.ceil(limits.wall_s) + 1)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, limits.wall_s)


def _lower(what: int, value: int) -> None:
    """Set a limit, which may be lower already."""
    _, hard = resource.getrlimit(what)
    bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(what, (bound, bound))


def _answer(path: Path, statement: str, limits: SqlLimits) -> Mapping[str, Any]:
    try:
        return _rows(path, statement, limits)
    except WavescopeError as error:
        return {"error": str(error), "hint": error.hint}
    except MemoryError:
        megabytes = limits.memory_bytes >> 20
        return {
            "error": f"the statement needs more than {megabytes} MB of memory",
            "hint": "`wavescope query` has no such limit",
        }


def _rows(path: Path, statement: str, limits: SqlLimits) -> Mapping[str, Any]:
    began = time.monotonic()
    rows: list[list[object]] = []
    left_bytes, is_cut = limits.answer_bytes, False
    with closing(ReadOnlyQuery(path, statement)) as query:
        for row in query:
            cells = [_cell(value) for value in row]
            left_bytes -= len(json_bytes(cells)) + 1
            is_cut = left_bytes < 0 or len(rows) == limits.rows
            if is_cut:
                break
            rows.append(cells)
        columns = query.columns
    seconds = round(time.monotonic() - began, 6)
    return {"columns": columns, "rows": rows, "truncated": is_cut, "seconds": seconds}


def _cell(value: SqlValue) -> object:
    """A value as the page can hold it: whole numbers that it would round become text."""
    if isinstance(value, bytes):
        value = f"x'{value[:_MOST_CELL_CHARACTERS].hex()}'"
    if isinstance(value, int) and abs(value) >= _EXACT_IN_A_PAGE:
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, str) and len(value) > _MOST_CELL_CHARACTERS:
        return f"{value[:_MOST_CELL_CHARACTERS]}…"
    return value
