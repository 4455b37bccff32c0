"""SQL of the viewer's page: it reads, within limits of time, memory and rows, and writes nothing."""

from __future__ import annotations

import gc
import json
import stat
import sys
import tempfile
import time
import weakref
from collections.abc import Iterator
from contextlib import ExitStack
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.builders import a_trace
from tests.sample_files import FIRST_NS, rich_trace, write_as
from tests.view_servers import ask_sql, opened_view, served
from wavescope.errors import UsageError
from wavescope.formats import open_source
from wavescope.model.selection import Selection, selected_source
from wavescope.model.trace import Trace
from wavescope.view.answers import Asked
from wavescope.view.answers import sql as sql_module
from wavescope.view.answers.sql import MOST_PROCESSES, answer_within, sql
from wavescope.view.answers.sql_process import SqlLimits
from wavescope.view.opening import Loaded, TraceView

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TraceView]:
    view = opened_view(write_as(rich_trace(), tmp_path_factory.mktemp("sql") / "trace.db"))
    yield view
    view.trace.close()


def answered(view: TraceView, statement: str, **limits: Any) -> Any:
    asked = Asked([view], {"sql": statement})
    return json.loads(answer_within(asked, SqlLimits(**limits)).body)


def refused(view: TraceView, statement: str, **limits: Any) -> str:
    with pytest.raises(UsageError) as caught:
        answered(view, statement, **limits)
    return str(caught.value)


def test_rows_come_with_their_columns_over_http(view: TraceView) -> None:
    with served() as unused:
        assert ask_sql(unused, "SELECT 1").json["error"] == "there is no trace 0"
    path = Path(view.trace.path)
    with served(opened_view(path)) as server:
        reply = ask_sql(server, "SELECT count(*) AS ops, 'a' || 'ä' AS text FROM rocpd_op")

    assert (reply.status, reply.headers["Content-Type"]) == (200, "application/json")
    found = reply.json
    assert 0 <= found.pop("seconds") < 10
    assert found == {"columns": ["ops", "text"], "rows": [[44, "aä"]], "truncated": False}


def test_values_are_exact_in_a_page(view: TraceView) -> None:
    found = answered(
        view,
        "SELECT min(start), 1 << 53, (1 << 53) - 1, -1 - (1 << 53), NULL, 0.5, 9e999, x'00ff', "
        "zeroblob(20000) FROM rocpd_op",
    )

    *plain, blob = found["rows"][0]
    assert plain == [
        str(FIRST_NS),
        "9007199254740992",
        9007199254740991,
        "-9007199254740993",
        None,
        0.5,
        "inf",
        "x'00ff'",
    ]
    assert len(blob) == 10_001


def test_so_many_rows_are_answered(view: TraceView) -> None:
    series = ENDLESS.replace("FROM n)", "FROM n WHERE i < {})") + "SELECT i FROM n"

    whole = answered(view, series.format(1000))
    assert (len(whole["rows"]), whole["truncated"]) == (1000, False)
    more = answered(view, series.format(1001))
    assert (len(more["rows"]), more["truncated"]) == (1000, True)
    endless = answered(view, ENDLESS + "SELECT i FROM n")
    assert (len(endless["rows"]), endless["truncated"]) == (1000, True)


def test_so_many_bytes_are_answered(view: TraceView) -> None:
    statement = ENDLESS + "SELECT hex(zeroblob(2000)) FROM n"
    reply = answer_within(Asked([view], {"sql": statement}), SqlLimits(answer_bytes=100_000))

    assert 90_000 < len(reply.body) < 101_000
    found = json.loads(reply.body)
    assert (len(found["rows"]), found["truncated"]) == (24, True)
    assert set(map(len, found["rows"][0])) == {4000}


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM rocpd_op",
        "CREATE TEMP TABLE t(x)",
        "ATTACH '/etc/passwd' AS other",
        "VACUUM INTO '/tmp/copy.db'",
        "SELECT load_extension('/tmp/x.so')",
    ],
)
def test_writing_and_other_files_are_refused(view: TraceView, statement: str) -> None:
    path = Path(view.trace.path)
    before = path.read_bytes()

    assert "only reading is allowed here" in refused(view, statement)
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == ["trace.db"]


def test_mistakes_are_explained(view: TraceView) -> None:
    assert refused(view, "SELECT absent FROM rocpd_op") == "SQL: no such column: absent"
    assert refused(view, "SELECT json_extract('[', '$')") == "SQL: malformed JSON"
    assert refused(view, "") == "the SQL statement is empty"
    assert refused(view, "SELECT 1; SELECT 2") == "give one SQL statement at a time"
    with pytest.raises(UsageError, match="the parameter 'sql' is missing"):
        sql(Asked([view]))


def test_statements_may_be_long(view: TraceView) -> None:
    text = "a" * 200_000

    assert answered(view, f"SELECT length('{text}') AS length")["rows"] == [[200_000]]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python does not tell which error it was")
def test_more_temporary_space_than_allowed_is_no_damage(view: TraceView) -> None:
    statement = "SELECT i, hex(randomblob(500)) AS text FROM n ORDER BY text"

    said = refused(view, ENDLESS + statement, temporary_bytes=1 << 20, wall_s=60)

    assert said == "the statement needs more temporary space than there is"


def test_names_of_files_need_not_be_text(tmp_path: Path) -> None:
    trace = write_as(a_trace().with_kernel("gemm", 0, 10), tmp_path / "trace.db")
    view = opened_view(trace.rename(tmp_path / "\udcff\n.db"))

    assert answered(view, "SELECT count(*) FROM rocpd_op")["rows"] == [[1]]
    view.trace.close()


def test_an_endless_statement_is_ended(view: TraceView) -> None:
    said = refused(view, ENDLESS + "SELECT max(i) FROM n", wall_s=0.3)

    assert said.startswith("the statement took more than 0.3 s")
    assert answered(view, "SELECT 1")["rows"] == [[1]]


def test_statements_that_were_given_up_make_room_for_others(
    view: TraceView, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sql_module, "LIMITS", SqlLimits(wall_s=3600))
    body = json.dumps({"sql": ENDLESS + "SELECT max(i) FROM n"})
    with served(view) as server, ExitStack() as stack:
        for _ in range(MOST_PROCESSES):
            connection = HTTPConnection("127.0.0.1", server.port)
            stack.callback(connection.close)
            place = urlsplit(server.address).path + "api/sql"
            connection.request("POST", place, body, {"Content-Type": "application/json"})
        while sql_module._running._value:
            time.sleep(0.01)
        stack.close()

        assert ask_sql(server, "SELECT 1").json["rows"] == [[1]]


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT length(hex(zeroblob(400000000)))",
        ENDLESS + "SELECT i, zeroblob(50000000) AS b FROM n ORDER BY b, i",
    ],
)
def test_a_statement_gets_so_much_memory(view: TraceView, statement: str) -> None:
    said = refused(view, statement, memory_bytes=64 << 20, temporary_bytes=1 << 20, wall_s=60)

    assert any(words in said for words in ("more than 64 MB of memory", "too big", "disk"))


def test_modules_of_the_current_folder_are_not_run(
    view: TraceView, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("json", "orjson", "sqlite3", "wavescope", "numpy"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])

    assert answered(view, "SELECT 1")["rows"] == [[1]]
    assert not (tmp_path / "ran").exists()


def test_other_formats_are_converted_once_into_a_private_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    private = tmp_path / "temporary"
    private.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(private))
    view = opened_view(write_as(rich_trace(), tmp_path / "trace.json"))

    assert list(private.iterdir()) == []
    assert answered(view, "SELECT count(*) FROM rocpd_op")["rows"] == [[44]]
    (folder,) = private.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    (copy,) = folder.iterdir()
    written_ns = copy.stat().st_mtime_ns
    assert answered(view, "SELECT count(*) FROM rocpd_api")["rows"] == [[36]]
    assert [(each, each.stat().st_mtime_ns) for each in folder.iterdir()] == [(copy, written_ns)]

    view.trace.close()
    gone = weakref.ref(view)
    del view
    gc.collect()
    assert gone() is None
    assert list(private.iterdir()) == []


def test_a_part_of_a_trace_is_asked_alone(tmp_path: Path) -> None:
    maker = a_trace().with_kernel("a", 100, 200).with_kernel("b", 300, 400)
    source = open_source(write_as(maker, tmp_path / "two.db"))
    part = Trace(selected_source(source, Selection(start="250")))
    view = TraceView(0, "two.db", part, Loaded(first_ns=300, end_ns=400, is_whole=True))

    rows = answered(view, "SELECT start, end FROM rocpd_op")["rows"]

    assert rows == [[300, 400]]
    part.close()
