"""What is written to a trace file is read back, by pages and by what SQLite itself does."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest

from tests.builders import TraceMaker, a_trace, random_ops
from tests.reference.sqlite_insert import InsertingWriter
from wavescope.errors import UnreadableInputError
from wavescope.formats import open_source, open_trace
from wavescope.formats.sqlite import sqlite_bulk, sqlite_columns
from wavescope.formats.wavescope.writing import write_trace
from wavescope.model.columns import TABLES, ColumnType, Table
from wavescope.model.source import TraceSource, read_columns, read_metadata


@pytest.fixture(params=["pages", "sql"], autouse=True)
def _way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "sql":
        monkeypatch.setattr(sqlite_bulk, "PageWriter", InsertingWriter)
        monkeypatch.setattr(sqlite_columns, "_can_read_pages", lambda *_: False)


def everything() -> TraceMaker:
    return (
        a_trace()
        .with_process(100, rank=3, host="node1", command="python3 model.py")
        .with_agent(0, uuid="GPU-1", chip="gfx942", cu_count=304, host="node1")
        .with_kernel("gemm", 0, 100, grid_x=1024, workgroup_x=256, stream=7, marker=1)
        .with_copy(100, 150, size_bytes=4096, queue=2)
        .with_kernel("add<1, 2>", 160, 170)
        .with_marker("prefill", 0, 155, category="roctx")
        .with_marker("now", 90, 90, flags=1)
        .with_call("hipLaunchKernel", 0, 5, args='{"stream": 7}', correlation=11, return_code=0)
        .with_call("hipMemcpyAsync", 6, 9)
        .with_link(1, 1)
        .with_link(2, 2)
        .with_counter(1, "SQ_WAVES", 12.5)
        .with_coverage(100, 3, mode="lite", skipped=97, reason="graph replay", gpu=0, process=0)
        .with_slice(20, 40)
        .with_slice(120, 140)
        .with_metadata("command", "python3 model.py")
    )


def decoded(source: TraceSource, table: Table) -> dict[str, list[object]]:
    """All columns with codes and handles replaced by what they stand for."""
    columns = read_columns(source, table, table.column_names)
    result: dict[str, list[object]] = {}
    for column in table.columns:
        values = columns[column.name]
        if column.type is ColumnType.STRING:
            result[column.name] = list(source.strings.decode(values))
        elif column.type is ColumnType.TEXT:
            result[column.name] = list(source.texts(values))
        elif column.type is ColumnType.REAL:
            result[column.name] = [float(v) for v in values]
        else:
            result[column.name] = [int(v) for v in values]
    return result


@pytest.mark.parametrize("table", [t for t in TABLES if t.name not in ("metadata", "markers")])
def test_every_table_comes_back_as_it_was(tmp_path: Path, table: Table) -> None:
    source = everything().builder
    write_trace([source], tmp_path / "t.db")

    read = decoded(open_source(tmp_path / "t.db"), table)
    expected = decoded(source, table)

    if table.name == "ops":
        expected["marker"] = [4, -1, -1]
    if table.name == "processes":
        expected["origin"] = ["test.db"]
    if table.name == "agents":
        expected["local_index"] = expected["process"] = [0]
    assert read == expected


def test_markers_come_back_behind_the_ops(tmp_path: Path) -> None:
    write_trace([everything().builder], tmp_path / "t.db")

    trace = open_trace(tmp_path / "t.db")

    assert trace.markers.strings("name") == ["prefill", "now"]
    assert trace.markers["id"].tolist() == [4, 5]
    assert trace.markers["flags"].tolist() == [0, 1]
    assert trace.ops["marker"].tolist() == [4, -1, -1]
    assert len(trace.ops) == 3


def test_metadata_says_the_schema_and_the_source(tmp_path: Path) -> None:
    write_trace([everything().builder], tmp_path / "t.db")

    metadata = read_metadata(open_source(tmp_path / "t.db"))

    assert metadata == {
        "schema_version": "3",
        "command": "python3 model.py",
        "source_format": "test",
    }


def test_sqlite_finds_nothing_wrong_with_the_file(tmp_path: Path) -> None:
    write_trace([random_ops(20_000).builder], tmp_path / "t.db")

    with sqlite3.connect(tmp_path / "t.db") as connection:
        (verdict,) = connection.execute("PRAGMA integrity_check").fetchone()
        (rows,) = connection.execute("SELECT count(*) FROM rocpd_op").fetchone()
    connection.close()

    assert verdict == "ok"
    assert rows == 20_000


def test_batches_give_the_columns_asked_for(tmp_path: Path) -> None:
    write_trace([random_ops(5_000).builder], tmp_path / "t.db")
    source = open_source(tmp_path / "t.db")

    batches = list(source.batches(TABLES[0], ("start_ns", "process"), 2_000))

    assert [len(batch["start_ns"]) for batch in batches] == [2_000, 2_000, 1_000]
    assert list(batches[0]) == ["start_ns", "process"]
    assert batches[0]["process"].dtype == np.int32


def test_side_rows_may_be_missing(tmp_path: Path) -> None:
    write_trace([everything().builder], tmp_path / "t.db")
    connection = sqlite3.connect(tmp_path / "t.db")
    connection.execute("DELETE FROM wavescope_op WHERE op_id = 1")
    connection.commit()
    connection.close()

    trace = open_trace(tmp_path / "t.db")

    assert trace.ops["stream"].tolist() == [-1, -1, -1]
    assert trace.ops["size_bytes"].tolist() == [-1, 4096, -1]


def test_side_rows_whose_op_is_gone_are_passed_over(tmp_path: Path) -> None:
    maker = a_trace()
    for index in range(20):
        maker.with_kernel("k", index, index + 1, stream=index)
    write_trace([maker.builder], tmp_path / "t.db")
    connection = sqlite3.connect(tmp_path / "t.db")
    connection.execute("DELETE FROM rocpd_op WHERE id BETWEEN 2 AND 15")
    connection.commit()
    connection.close()

    batches = open_source(tmp_path / "t.db").batches(TABLES[0], ("stream",), 2)

    assert [batch["stream"].tolist() for batch in batches] == [[0, 15], [16, 17], [18, 19]]


def test_damaged_rows_are_repaired_and_noted(tmp_path: Path) -> None:
    write_trace([everything().builder], tmp_path / "t.db")
    connection = sqlite3.connect(tmp_path / "t.db")
    connection.execute('UPDATE rocpd_op SET "end" = start - 5 WHERE id = 3')
    connection.execute("UPDATE rocpd_op SET description_id = 9999 WHERE id = 1")
    connection.commit()
    connection.close()

    trace = open_trace(tmp_path / "t.db")
    trace.ops.load("start_ns", "end_ns", "name")
    assert trace.ops["end_ns"].tolist() == [100, 150, 160]
    assert trace.ops.strings("name")[0] == ""
    assert dict(trace.notes) == {
        "ops ended before they started: taken as ending there": 1,
        "ops refer to a string that is not in the file: shown as empty": 1,
    }


def test_a_later_schema_is_refused_with_a_hint(tmp_path: Path) -> None:
    write_trace([everything().builder], tmp_path / "t.db")
    connection = sqlite3.connect(tmp_path / "t.db")
    connection.execute("PRAGMA user_version = 99")
    connection.close()

    with pytest.raises(UnreadableInputError, match="schema version is 99") as caught:
        open_source(tmp_path / "t.db")

    assert "update wavescope" in caught.value.hint


def test_an_older_file_without_a_column_is_read_with_it_unknown(tmp_path: Path) -> None:
    write_trace([everything().builder], tmp_path / "t.db")
    connection = sqlite3.connect(tmp_path / "t.db")
    connection.execute("DROP VIEW kernel")
    connection.execute("ALTER TABLE wavescope_op DROP COLUMN gridX")
    connection.execute("DROP TABLE wavescope_counter")
    connection.execute("PRAGMA user_version = 0")
    connection.commit()
    connection.close()

    trace = open_trace(tmp_path / "t.db")

    assert trace.ops["grid_x"].tolist() == [-1, -1, -1]
    assert trace.ops["stream"].tolist() == [7, -1, -1]
    assert len(trace.counters) == 0
