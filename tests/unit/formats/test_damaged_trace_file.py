"""Trace files that somebody changed: refused or repaired with a note, never misread."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.builders import a_trace
from wavescope.errors import UnreadableInputError
from wavescope.formats import open_source, open_trace
from wavescope.formats.wavescope.writing import write_trace
from wavescope.model.columns import LAUNCHES, OPS, TABLES

OWN_TIME = "UPDATE rocpd_op SET start = {} WHERE gpuId {} -1"


def changed(tmp_path: Path, *statements: str) -> Path:
    """A trace of two ops and a marker after `statements` were run on its file."""
    maker = (
        a_trace()
        .with_kernel("gemm", 10, 20)
        .with_kernel("add", 30, 50, gpu=1)
        .with_marker("step", 5, 60)
        .with_call("launch", 1, 9, args="x")
        .with_link(1, 1)
    )
    path = tmp_path / "trace.db"
    write_trace([maker.builder], path)
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    return path


def read_everything(path: Path) -> None:
    with open_trace(path) as trace:
        for table in TABLES:
            trace.table(table).load(*table.column_names)


@pytest.mark.parametrize("compared", ["<>", "="], ids=["op", "marker"])
@pytest.mark.parametrize("value", ["NULL", "'soon'", "1.5", "9223372036854775807", "-5000000000000000000"])  # fmt: skip
def test_times_that_are_none_are_refused(tmp_path: Path, value: str, compared: str) -> None:
    path = changed(tmp_path, OWN_TIME.format(value, compared))

    with pytest.raises(UnreadableInputError, match="without a usable start") as caught:
        read_everything(path)

    assert "convert the recording again" in caught.value.hint


@pytest.mark.parametrize("value", ["x'fffe'", "NULL", "'first'", "1e300"])
def test_ids_of_strings_that_are_no_numbers_are_refused(tmp_path: Path, value: str) -> None:
    path = changed(
        tmp_path,
        "CREATE TABLE other AS SELECT * FROM rocpd_string",
        "DROP TABLE rocpd_string",
        "CREATE TABLE rocpd_string (id, string TEXT)",
        "INSERT INTO rocpd_string SELECT id, string FROM other",
        f"UPDATE rocpd_string SET id = {value} WHERE id = 1",
    )

    with pytest.raises(UnreadableInputError, match="an id in rocpd_string is not a whole number"):
        read_everything(path)


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("UPDATE rocpd_op SET id = -7 WHERE id = 1", "ops with the id -7"),
        ("UPDATE rocpd_api SET id = 0", "calls with the id 0"),
        ("UPDATE wavescope_process SET id = -1", "processes with the id -1"),
    ],
)
def test_ids_that_are_none_are_refused(tmp_path: Path, statement: str, reason: str) -> None:
    path = changed(tmp_path, statement)

    with pytest.raises(UnreadableInputError, match=reason):
        read_everything(path)


def test_a_table_without_its_key_is_refused(tmp_path: Path) -> None:
    views = ("op", "api", "marker", "top", "ktop", "busy", "kernel", "copy", "copyop")
    path = changed(
        tmp_path,
        *(f"DROP VIEW {name}" for name in views),
        "CREATE TABLE twice AS SELECT * FROM rocpd_op UNION ALL SELECT * FROM rocpd_op",
        "DROP TABLE rocpd_op",
        "ALTER TABLE twice RENAME TO rocpd_op",
    )

    with pytest.raises(UnreadableInputError, match="rocpd_op whose id is not its key"):
        read_everything(path)


NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
CODE = {
    "view": ("CREATE VIEW {0} AS " + NUMBERS + " SELECT i AS id, 'x' AS string FROM n", "a view"),
    "virtual": ("CREATE VIRTUAL TABLE {0} USING fts5(id, string)", "a virtual table"),
    "computed": (
        "CREATE TABLE {0} (id INTEGER PRIMARY KEY, string AS (hex(zeroblob(900000000))))",
        "a table with computed columns",
    ),
}


@pytest.mark.parametrize("kind", CODE)
@pytest.mark.parametrize("name", ["rocpd_string", "rocpd_api", "wavescope_agent"])
def test_code_in_place_of_a_table_is_refused(tmp_path: Path, kind: str, name: str) -> None:
    statement, called = CODE[kind]
    path = changed(
        tmp_path,
        "PRAGMA legacy_alter_table = ON",
        f"ALTER TABLE {name} RENAME TO other",
        statement.format(name),
    )

    with pytest.raises(UnreadableInputError, match=f"{name} is {called}, not a plain table"):
        read_everything(path)


def test_numbers_that_are_none_are_unknown_and_noted(tmp_path: Path) -> None:
    path = changed(tmp_path, "UPDATE wavescope_process SET pid = 'forty-two'")

    with open_trace(path) as trace:
        assert trace.processes["pid"].tolist() == [-1]
        assert dict(trace.notes) == {
            "processes hold something else than a number in pid: taken as unknown": 1
        }


def test_names_that_are_no_text_are_shown_as_text(tmp_path: Path) -> None:
    path = changed(
        tmp_path,
        "UPDATE rocpd_string SET string = CAST(x'61ff' AS BLOB) WHERE string = 'gemm'",
        "UPDATE rocpd_ustring SET string = x'62ff'",
    )

    with open_trace(path) as trace:
        assert trace.ops.strings("name") == ["a\ufffd", "add"]
        assert trace.calls.strings("args") == ["b\ufffd"]


@pytest.mark.parametrize("order", [("start_ns", "end_ns"), ("end_ns", "start_ns")])
def test_ends_are_repaired_whatever_is_asked_for_first(
    tmp_path: Path, order: tuple[str, str]
) -> None:
    path = changed(tmp_path, "UPDATE rocpd_op SET end = 3")

    with open_trace(path) as trace:
        for name in order:
            assert trace.ops[name].tolist() == [10, 30]
        assert trace.ops.duration_ns.tolist() == [0, 0]
        assert dict(trace.notes) == {"ops ended before they started: taken as ending there": 2}


def test_ops_of_unknown_gpus_are_no_markers(tmp_path: Path) -> None:
    maker = a_trace().with_kernel("lost", 10, 20, gpu=-1).with_kernel("found", 30, 40)
    path = tmp_path / "trace.db"
    write_trace([maker.builder], path)

    with open_trace(path) as trace:
        assert trace.ops.strings("name") == ["lost", "found"]
        assert trace.ops["gpu"].tolist() == [-1, 0]
        assert len(trace.markers) == 0
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT gpuId FROM rocpd_op").fetchall() == [(None,), (0,)]
        assert connection.execute("SELECT Name, TotalCalls FROM top ORDER BY 1").fetchall() == [
            ("found", 1),
            ("lost", 1),
        ]
        assert connection.execute("SELECT kernelName FROM kernel ORDER BY 1").fetchall() == [
            ("found",),
            ("lost",),
        ]


@pytest.mark.parametrize("missing_bytes", [1, 100, 4096, 9000])
def test_a_file_that_is_shorter_than_it_says_is_refused(tmp_path: Path, missing_bytes: int) -> None:
    path = changed(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-missing_bytes])

    with pytest.raises(UnreadableInputError, match="cut short") as caught:
        open_source(path)

    assert f"{len(whole) - missing_bytes:,} of {len(whole):,} bytes" in str(caught.value)


def test_ids_that_cannot_be_shifted_are_refused(tmp_path: Path) -> None:
    path = changed(tmp_path, "UPDATE rocpd_op SET id = 9223372036854775807 WHERE id = 2")

    with (
        open_source(path) as source,
        pytest.raises(UnreadableInputError, match="ids of its ops go beyond"),
    ):
        write_trace([source], tmp_path / "copy.db")


def test_a_call_keeps_one_launch(tmp_path: Path) -> None:
    maker = a_trace().with_call("launch", 1, 2).with_call("launch", 3, 4)
    for call, grid_x in ((1, 64), (1, 128), (2, 256), (1, 512)):
        maker.builder.add_row(LAUNCHES, call=call, grid_x=grid_x)
    path = tmp_path / "trace.db"
    write_trace([maker.builder], path)

    with open_trace(path) as trace:
        assert trace.table(LAUNCHES)["grid_x"].tolist() == [64, 256]
        assert (
            trace.metadata["note: launches repeat an earlier call or are out of order: left out"]
            == "2"
        )


def test_row_counts_never_get_negative(tmp_path: Path) -> None:
    path = changed(tmp_path, "UPDATE rocpd_op SET id = -id")

    with open_source(path) as source:
        assert source.row_count(OPS) == 0
