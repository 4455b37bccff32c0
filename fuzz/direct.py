"""Readers that no command line reaches with one file: they are called as commands would be.

Each takes the path that a command would be given. A `WavescopeError` is an answer; whatever else
is raised is a failure.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from fuzz.command_lines import run_command_line
from fuzz.interrupted_query import query_until_interrupted
from fuzz.viewer_connection import talk
from wavescope.analyze.ranks.digest import DigestOptions
from wavescope.api.rank_digests import digest_task, digests_of_file, read_digests
from wavescope.cli.terminal import say_error
from wavescope.errors import EXIT_BUG, EXIT_OK, WavescopeError
from wavescope.formats import open_trace
from wavescope.formats.captures import find_captures, load_capture
from wavescope.formats.counters import read_workload
from wavescope.model.columns import TABLES
from wavescope.names.demangle import demangle, why_unresolved
from wavescope.names.kernel_names import kernel_key, meaning_of, readable_name, short_name
from wavescope.view.answers import Asked
from wavescope.view.opening import loaded_view
from wavescope.view.server.admission import RefusedError
from wavescope.view.server.site import Site


def run_direct(name: str, path: Path) -> int:
    """The exit code that a command would have; a traceback is printed for what is a bug."""
    try:
        code: int = _FUNCTIONS[name](path) or EXIT_OK
    except WavescopeError as error:
        say_error(error)
        return error.exit_code
    except Exception:  # noqa: BLE001  what is not told as an error is what fuzzing looks for
        traceback.print_exc()
        return EXIT_BUG
    return code


def _read_trace(path: Path) -> None:
    """Every column of every table, and every string: what a reader can be asked for."""
    with open_trace(path) as trace:
        for spec in TABLES:
            table = trace.table(spec)
            table.load(*table.column_names)
            assert all(len(table[name]) == len(table) for name in table.column_names)
        for code in range(len(trace.strings)):
            assert isinstance(trace.strings[code], str)
        assert all(isinstance(sentence, str) for sentence in trace.notes.sentences())


def _read_capture(path: Path) -> None:
    for location in find_captures([path]):
        load_capture(location)


def _read_workload(path: Path) -> None:
    read_workload(path)


def _names(path: Path) -> None:
    """Everything that is made of a kernel's name; the content need not be JSON."""
    for name in _texts(path):
        for function in (demangle, why_unresolved, kernel_key, short_name, readable_name):
            assert isinstance(function(name), str)
        meaning_of(name)


def _texts(path: Path) -> list[str]:
    content = path.read_bytes()
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        found = None
    texts = found if isinstance(found, list) else [content.decode("utf-8", "replace")]
    return [str(text)[:4_000] for text in texts[:20]]


def _digests(path: Path) -> None:
    read_digests(path.read_bytes())


def _rank(path: Path) -> None:
    """The digests that a worker makes of a trace, there and back."""
    read_digests(digests_of_file(str(path), digest_task(DigestOptions()).options))


def _viewer(path: Path) -> None:
    """The answers to all requests; the status of a bug is one."""
    bugs: list[Exception] = []
    with open_trace(path / "trace.db") as trace:
        site = Site([loaded_view(trace)], b"page", bugs.append)
        for question, parameters in _requests(path / "requests.json"):
            asked = Asked(site.views, parameters)
            with suppress(RefusedError):
                site.reply(f"api/{question}", asked, is_posted=False)
            if bugs:
                raise bugs[0]


def _connection(path: Path) -> None:
    talk(path / "trace.db", (path / "requests.http").read_bytes())


def _query(path: Path) -> None:
    statement = (path / "statement.sql").read_bytes()
    query_until_interrupted(path / "trace.db", statement.decode("utf-8", "surrogateescape"))


def _requests(path: Path) -> list[tuple[str, dict[str, str]]]:
    """Questions and parameters as far as the file still has any: all of them are texts."""
    try:
        found = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return []
    requests = [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []
    return [
        (
            str(request.get("question")),
            {str(name): str(value)[:4_000] for name, value in request.items()},
        )
        for request in requests[:30]
    ]


_FUNCTIONS: dict[str, Callable[[Path], Any]] = {
    "@read": _read_trace,
    "@capture": _read_capture,
    "@workload": _read_workload,
    "@names": _names,
    "@digests": _digests,
    "@rank": _rank,
    "@viewer": _viewer,
    "@connection": _connection,
    "@query": _query,
    "@words": run_command_line,
}
