"""rocm-trace-lite files: what their rows become, and what damage is repaired or refused."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.registered import importer_called
from wavescope.errors import UnreadableInputError
from wavescope.formats.sniff import Probe, probe
from wavescope.formats.sqlite import sqlite_columns
from wavescope.model.columns import (
    CALLS,
    MARKER_INSTANT,
    MARKERS,
    OPS,
    PROCESSES,
    TABLES,
    ColumnType,
)
from wavescope.model.source import TraceSource
from wavescope.model.trace import Trace

IMPORTER = importer_called("rocm-trace-lite")

SCHEMA = """
CREATE TABLE rocpd_string (id INTEGER PRIMARY KEY, string TEXT UNIQUE);
CREATE TABLE rocpd_op (id INTEGER PRIMARY KEY, gpuId INTEGER, queueId INTEGER, sequenceId INTEGER,
  completionSignal TEXT, start INTEGER, end INTEGER, description_id INTEGER, opType_id INTEGER,
  roctxId INTEGER DEFAULT 0);
CREATE TABLE rocpd_api (id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, start INTEGER,
  end INTEGER, apiName_id INTEGER, args_id INTEGER);
CREATE TABLE rocpd_api_ops (id INTEGER PRIMARY KEY, api_id INTEGER, op_id INTEGER);
CREATE TABLE rocpd_kernelapi (api_id INTEGER PRIMARY KEY, stream TEXT, gridX INTEGER,
  gridY INTEGER, gridZ INTEGER, workgroupX INTEGER, workgroupY INTEGER, workgroupZ INTEGER,
  groupSegmentSize INTEGER, privateSegmentSize INTEGER, kernelName_id INTEGER);
CREATE TABLE rocpd_copyapi (api_id INTEGER PRIMARY KEY, stream TEXT, size INTEGER, dst TEXT,
  src TEXT, kind INTEGER, sync INTEGER);
CREATE TABLE rocpd_metadata (id INTEGER PRIMARY KEY, tag TEXT, value TEXT);
CREATE TABLE rocpd_monitor (id INTEGER PRIMARY KEY, deviceType TEXT, deviceId INTEGER,
  monitorType TEXT, start INTEGER, end INTEGER, value TEXT);
"""
STRINGS = ("KernelExecution", "UserMarker", "gemm", "add", "step", "hipMalloc", "size=64")
KERNEL, MARKER, GEMM, ADD, STEP, MALLOC, SIZE = range(1, 8)


def op(
    start: Any,
    end: Any,
    *,
    gpu: Any = 0,
    queue: int = 7,
    text: Any = None,
    name: Any = GEMM,
    kind: Any = KERNEL,
    roctx: int = 0,
) -> tuple[Any, ...]:
    return (gpu, queue, 0, text, start, end, name, kind, roctx)


def marker(start: int, end: int, *, roctx: int, name: int = STEP) -> tuple[Any, ...]:
    return op(start, end, gpu=-1, queue=0, name=name, kind=MARKER, roctx=roctx)


def make_file(
    path: Path, ops: Iterable[tuple[Any, ...]] = (), *, pid: str | None = "42", more: str = ""
) -> Path:
    """A file as the recorder writes it: `ops` get the ids 1, 2, 3, ..."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA synchronous = OFF")
    connection.executescript(SCHEMA)
    connection.executemany("INSERT INTO rocpd_string VALUES (?, ?)", enumerate(STRINGS, 1))
    connection.executemany("INSERT INTO rocpd_op VALUES (NULL,?,?,?,?,?,?,?,?,?)", ops)
    if pid is not None:
        connection.execute("INSERT INTO rocpd_metadata VALUES (1, 'pid', ?)", (pid,))
    connection.executescript(more)
    connection.commit()
    connection.close()
    return path


def opened(path: Path) -> Trace:
    return Trace(IMPORTER.open(path))


def notes(trace: Trace) -> dict[str, int]:
    return dict(trace.notes)


def test_rows_with_a_gpu_are_ops_and_the_others_markers(tmp_path: Path) -> None:
    path = make_file(
        tmp_path / "trace.db",
        [
            op(10, 20, gpu=3, queue=140518992891904, name=ADD),
            marker(5, 30, roctx=1),
            op(20, 25, gpu=1),
            marker(40, 40, roctx=2),
        ],
    )
    with opened(path) as trace:
        assert trace.format == "rocm-trace-lite"
        assert trace.ops["id"].tolist() == [1, 3]
        assert trace.ops["gpu"].tolist() == [3, 1]
        assert trace.ops["queue"].tolist() == [140518992891904, 7]
        assert trace.ops["start_ns"].tolist() == [10, 20]
        assert trace.ops["end_ns"].tolist() == [20, 25]
        assert trace.ops.strings("name") == ["add", "gemm"]
        assert trace.ops.strings("type") == ["KernelExecution"] * 2
        assert trace.ops["process"].tolist() == [0, 0]
        assert trace.markers["id"].tolist() == [2, 4]
        assert trace.markers.strings("name") == ["step", "step"]
        assert trace.markers.strings("type") == ["UserMarker"] * 2
        assert trace.markers["flags"].tolist() == [0, MARKER_INSTANT]
        assert trace.table(PROCESSES)["pid"].tolist() == [42]
        assert trace.metadata == {"pid": "42"}
        assert notes(trace) == {}


@pytest.mark.parametrize("columns", [("start_ns",), ("id", "start_ns", "end_ns", "name", "type")])
def test_markers_are_the_same_before_and_after_a_pass_over_the_ops(
    tmp_path: Path, columns: tuple[str, ...]
) -> None:
    rows = [op(10, 20), marker(5, 30, roctx=1), op(20, 25), marker(40, 40, roctx=2)]
    path = make_file(tmp_path / "trace.db", rows)

    def markers(trace: Trace) -> list[tuple[object, ...]]:
        table = trace.markers
        table.load(*MARKERS.column_names)
        return [tuple(table[name].tolist()) for name in ("id", "start_ns", "end_ns", "flags")]

    with opened(path) as first, opened(path) as after:
        after.ops.load(*columns)
        assert markers(after) == markers(first) == [(2, 4), (5, 40), (30, 40), (0, MARKER_INSTANT)]
        assert after.markers.strings("name") == ["step", "step"]


def test_dispatch_text_becomes_queue_and_sizes(tmp_path: Path) -> None:
    path = make_file(
        tmp_path / "trace.db",
        [
            op(1, 2, text="hwq=0x7e4d2e6bb000 wg=256,2,1 grid=131072,4,3"),
            op(2, 3, text="nonsense"),
            op(3, 4),
        ],
    )
    with opened(path) as trace:
        assert trace.ops["hardware_queue"].tolist() == [0x7E4D2E6BB000, -1, -1]
        assert trace.ops["grid_x"].tolist() == [131072, -1, -1]
        assert trace.ops["grid_y"].tolist() == [4, -1, -1]
        assert trace.ops["grid_z"].tolist() == [3, -1, -1]
        assert trace.ops["workgroup_x"].tolist() == [256, -1, -1]
        assert trace.ops["workgroup_y"].tolist() == [2, -1, -1]


def test_a_kernel_knows_the_row_of_its_innermost_range(tmp_path: Path) -> None:
    path = make_file(
        tmp_path / "trace.db",
        [
            op(1, 2, roctx=9),
            op(2, 3, roctx=4),
            marker(0, 3, roctx=9),
            marker(0, 4, roctx=4),
            op(5, 6, roctx=77),
            op(6, 7),
        ],
    )
    with opened(path) as trace:
        assert trace.ops["marker"].tolist() == [3, 4, -1, -1]
        assert notes(trace) == {
            "ops lie in a range that was never closed and so not recorded": 1,
        }


def test_a_range_number_given_twice_says_nothing(tmp_path: Path) -> None:
    path = make_file(
        tmp_path / "trace.db",
        [
            op(1, 2, roctx=1),
            marker(0, 3, roctx=1),
            marker(5, 9, roctx=1),
            op(6, 7, roctx=2),
            marker(5, 9, roctx=2),
        ],
    )
    with opened(path) as trace:
        assert trace.ops["marker"].tolist() == [-1, 5]
        assert notes(trace) == {"ops lie in a range whose number was given twice: range unknown": 1}


def test_hip_mode_gives_calls_with_arguments(tmp_path: Path) -> None:
    path = make_file(
        tmp_path / "trace.db",
        [op(10, 20)],
        more=f"""
        INSERT INTO rocpd_api VALUES (5, 42, 43, 1, 9, {MALLOC}, {SIZE});
        INSERT INTO rocpd_api VALUES (6, 42, 44, 10, 12, {MALLOC}, NULL);
        INSERT INTO rocpd_api_ops VALUES (1, 5, 1);
        INSERT INTO rocpd_kernelapi VALUES (5, '0x10', 4, 5, 6, 7, 8, 9, 64, 32, {GEMM});
        INSERT INTO rocpd_copyapi VALUES (6, '0x0', 4096, '0x7f00', '0xFF', 1, 1);
        """,
    )
    with opened(path) as trace:
        calls = trace.calls
        assert calls["id"].tolist() == [5, 6]
        assert calls["pid"].tolist() == [42, 42]
        assert calls["thread"].tolist() == [43, 44]
        assert calls["process"].tolist() == [0, 0]
        assert calls.strings("name") == ["hipMalloc", "hipMalloc"]
        assert calls.strings("domain") == ["hip", "hip"]
        assert calls.strings("args") == ["size=64", ""]
        assert trace.links["call"].tolist() == [5]
        assert trace.links["op"].tolist() == [1]
        launches, copies = (table_rows(trace, name) for name in ("launches", "copies"))
        assert launches == [(5, 16, 4, 5, 6, 7, 8, 9, 64, 32, "gemm")]
        assert copies == [(6, 0, 4096, -1, -1, 1, 0x7F00, 0xFF, -1, -1, 1, -1)]


def table_rows(trace: Trace, name: str) -> list[tuple[Any, ...]]:
    table = trace.table(next(each for each in TABLES if each.name == name))
    columns = [
        table.strings(c.name) if c.type is ColumnType.STRING else table[c.name].tolist()
        for c in table.spec.columns
    ]
    return list(zip(*columns, strict=True))


def test_older_files_have_no_range_numbers(tmp_path: Path) -> None:
    path = make_file(tmp_path / "trace.db", [op(1, 2), marker(1, 2, roctx=0)])
    connection = sqlite3.connect(path)
    connection.execute("ALTER TABLE rocpd_op DROP COLUMN roctxId")
    connection.close()
    with opened(path) as trace:
        assert trace.ops["marker"].tolist() == [-1]
        assert trace.markers["id"].tolist() == [2]


def test_a_merged_file_cannot_tell_whose_an_op_is(tmp_path: Path) -> None:
    more = "INSERT INTO rocpd_metadata VALUES (2, 'pid', '43')"
    with opened(make_file(tmp_path / "trace.db", [op(1, 2)], more=more)) as trace:
        assert trace.processes["pid"].tolist() == [42, 43]
        assert trace.ops["process"].tolist() == [-1]


def test_a_killed_run_names_no_process_but_its_calls_do(tmp_path: Path) -> None:
    more = f"INSERT INTO rocpd_api VALUES (1, 91, 91, 1, 2, {MALLOC}, {SIZE})"
    with opened(make_file(tmp_path / "a.db", [op(1, 2)], pid=None, more=more)) as trace:
        assert trace.processes["pid"].tolist() == [91]
        assert trace.ops["process"].tolist() == [0]
    with opened(make_file(tmp_path / "b.db", [op(1, 2)], pid=None)) as trace:
        assert len(trace.processes) == 0
        assert trace.ops["process"].tolist() == [-1]


def test_rows_in_a_log_left_by_a_killed_run_are_read_and_nothing_is_touched(tmp_path: Path) -> None:
    live = make_file(tmp_path / "live.db", [op(1, 2)])
    connection = sqlite3.connect(live)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA wal_autocheckpoint=0")
    connection.execute("INSERT INTO rocpd_op VALUES (NULL,?,?,?,?,?,?,?,?,?)", op(5, 9, name=ADD))
    connection.commit()
    folder = tmp_path / "left"
    folder.mkdir()
    for suffix in ("", "-wal"):
        (folder / f"trace.db{suffix}").write_bytes((tmp_path / f"live.db{suffix}").read_bytes())
    connection.close()
    before = state_of(folder)

    with opened(folder / "trace.db") as trace:
        assert trace.ops.strings("name") == ["gemm", "add"]
        assert notes(trace) == {"write-ahead log left by a killed run was read too": 1}

    assert state_of(folder) == before
    assert sorted(before) == ["trace.db", "trace.db-wal"]


def state_of(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}


@pytest.mark.parametrize("native", [False, True])
def test_damaged_rows_are_repaired_or_skipped_and_counted(
    tmp_path: Path, native: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not native:
        monkeypatch.setattr(sqlite_columns, "_can_read_pages", lambda *_: False)
    path = make_file(
        tmp_path / "trace.db",
        [
            op(10, 20),
            op(30, 25),  # ends before it starts
            op(None, 40),
            op(40, None),
            op("soon", 50),
            op(2**62, 2**62 + 1),  # no clock says that
            op(60, 70, name=999),  # no such string
            op(70, 80, gpu=2**40),
            op(80, 90, kind=None),
        ],
    )
    with opened(path) as trace:
        trace.ops.load(*OPS.column_names)
        assert trace.ops["start_ns"].tolist() == [10, 30, 60, 70, 80]
        assert trace.ops["end_ns"].tolist() == [20, 30, 70, 80, 90]
        assert trace.ops["gpu"].tolist() == [0, 0, 0, -1, 0]
        assert trace.ops.strings("name") == ["gemm", "gemm", "", "gemm", "gemm"]
        assert trace.ops.strings("type") == ["KernelExecution"] * 4 + [""]
        assert notes(trace) == {
            "ops ended before they started: taken as ending there": 1,
            "ops have no start or end: skipped": 4,
            "ops hold something else than a number in start: taken as unknown": 1,
            "ops refer to a string that is not in the file: shown as empty": 1,
            "ops hold a number in gpu that is too large: taken as unknown": 1,
        }


def test_ids_that_are_no_key_must_still_increase(tmp_path: Path) -> None:
    path = make_file(tmp_path / "trace.db")
    connection = sqlite3.connect(path)
    connection.executescript(
        "DROP TABLE rocpd_op;"
        "CREATE TABLE rocpd_op (id INTEGER, gpuId INTEGER, start INTEGER, end INTEGER);"
        "INSERT INTO rocpd_op VALUES (1,0,1,2),(2,0,2,3),(2,0,3,4),(0,0,4,5),(9,0,5,6)"
    )
    connection.close()
    with opened(path) as trace:
        assert trace.ops["id"].tolist() == [1, 2, 9]
        assert notes(trace) == {"ops repeat an earlier id or have none: skipped": 2}
        assert trace.source.row_count(OPS) >= 9


def test_a_table_without_times_has_no_rows_to_show(tmp_path: Path) -> None:
    path = make_file(tmp_path / "trace.db", [op(1, 2)])
    connection = sqlite3.connect(path)
    connection.executescript("DROP VIEW IF EXISTS busy; ALTER TABLE rocpd_op DROP COLUMN end")
    connection.close()
    with opened(path) as trace:
        assert len(trace.ops) == 0
        assert notes(trace) == {"rocpd_op has no column end: its rows were skipped": 1}


def test_missing_tables_are_empty_tables(tmp_path: Path) -> None:
    path = tmp_path / "trace.db"
    connection = sqlite3.connect(path)
    connection.executescript(
        "CREATE TABLE rocpd_op (id INTEGER PRIMARY KEY, gpuId INTEGER, start INTEGER, end INTEGER,"
        " description_id INTEGER); INSERT INTO rocpd_op VALUES (1, 0, 5, 6, 3)"
    )
    connection.close()
    with opened(path) as trace:
        assert trace.ops["end_ns"].tolist() == [6]
        assert trace.ops.strings("name") == [""]
        assert len(trace.calls) == len(trace.links) == len(trace.processes) == 0
        assert trace.source.texts(np.array([1, -1])) == ["", ""]
        assert notes(trace) == {
            "ops refer to a string that is not in the file: shown as empty": 1,
            "arguments are not in the file: shown as empty": 1,
        }


def test_names_of_any_content_survive(tmp_path: Path) -> None:
    names = ["x" * 1_000_000, "a\"b'c</script>\n\t../\\", "", "π" * 5000, "null\x00inside"]
    path = make_file(tmp_path / "trace.db", [op(i, i + 1, name=100 + i) for i in range(len(names))])
    connection = sqlite3.connect(path)
    connection.executemany("INSERT INTO rocpd_string VALUES (?, ?)", enumerate(names, 100))
    connection.commit()
    connection.close()
    with opened(path) as trace:
        assert trace.ops.strings("name") == names
        assert notes(trace) == {}


def test_invalid_utf8_is_shown_with_marks(tmp_path: Path) -> None:
    more = "INSERT INTO rocpd_string VALUES (50, CAST(x'67ff65' AS TEXT))"
    with opened(make_file(tmp_path / "trace.db", [op(1, 2, name=50)], more=more)) as trace:
        assert trace.ops.strings("name") == ["g\ufffde"]
        assert notes(trace) == {"strings are not valid UTF-8: shown with marks": 1}


def test_a_file_in_utf16_reads_the_same(tmp_path: Path) -> None:
    path = tmp_path / "trace.db"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA encoding = 'UTF-16le'")
    connection.close()
    text = "hwq=0x10 wg=1,2,3 grid=4,5,6"
    with opened(make_file(path, [op(1, 2, text=text)])) as trace:
        assert trace.ops.strings("name") == ["gemm"]
        assert trace.ops["hardware_queue"].tolist() == [16]
        assert trace.ops["grid_z"].tolist() == [6]


@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
def test_a_truncated_file_is_refused(tmp_path: Path, share: float) -> None:
    whole = make_file(tmp_path / "whole.db", [op(i, i + 1) for i in range(20_000)]).read_bytes()
    path = tmp_path / "cut.db"
    path.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(UnreadableInputError, match="cut short"), opened(path) as trace:
        trace.ops.load("start_ns", "name")
        trace.markers.load("start_ns", "name")


def test_a_database_without_rocpd_tables_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE t (x)")
    connection.close()
    with pytest.raises(UnreadableInputError, match="neither rocpd_op nor rocpd_api"):
        IMPORTER.open(path)


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "text.db"
    path.write_bytes(b"SQLite format 3\x00" + bytes(range(256)) * 40)
    with pytest.raises(UnreadableInputError):
        IMPORTER.open(path)
    with pytest.raises(UnreadableInputError, match="not a file"):
        IMPORTER.open(tmp_path)


def test_a_trace_of_nothing(tmp_path: Path) -> None:
    with opened(make_file(tmp_path / "trace.db")) as trace:
        assert len(trace.ops) == len(trace.markers) == len(trace.calls) == 0
        assert list(trace.source.batches(OPS)) == []


@pytest.mark.parametrize(
    ("tables", "expected"),
    [
        ({"rocpd_op", "rocpd_string", "rocpd_api", "top", "busy"}, True),
        ({"rocpd_op"}, True),
        ({"rocpd_op", "rocpd_ustring"}, False),
        ({"rocpd_op", "rocpd_barrierop"}, False),
        ({"rocpd_op", "rocpd_kernel_dispatch_0000"}, False),
        ({"rocpd_op", "wavescope_op"}, False),
        ({"something"}, False),
        (set(), False),
    ],
)
def test_it_is_known_by_its_tables(tables: set[str], expected: bool) -> None:
    seen = Probe(Path("x.json"), b"", sqlite_tables=frozenset(tables))
    assert IMPORTER.matches(seen) is expected


def test_a_real_looking_file_is_sniffed_whatever_its_name(tmp_path: Path) -> None:
    assert IMPORTER.matches(probe(make_file(tmp_path / "holiday.jpg")))


def test_a_file_that_states_a_schema_version_is_read_as_rocmprofiledata(tmp_path: Path) -> None:
    more = "INSERT INTO rocpd_metadata VALUES (2, 'schema_version', '2')"
    with opened(make_file(tmp_path / "trace.db", [op(1, 2)], more=more)) as trace:
        assert trace.format == "rocmProfileData"


def test_only_what_is_asked_for_is_read(tmp_path: Path) -> None:
    path = make_file(tmp_path / "trace.db", [op(1, 2, text="hwq=0x1 wg=1,1,1 grid=1,1,1")])
    source = IMPORTER.open(path)
    batch = next(iter(source.batches(OPS, ("start_ns", "gpu"))))
    assert list(batch) == ["start_ns", "gpu"]
    assert len(source.strings) == 0
    source.close()


def test_batches_are_no_larger_than_asked(tmp_path: Path) -> None:
    rows = [op(i, i + 1) if i % 3 else marker(i, i + 1, roctx=i + 1) for i in range(100)]
    source = IMPORTER.open(make_file(tmp_path / "trace.db", rows))
    sizes = [len(batch["id"]) for batch in source.batches(OPS, ("id",), rows=7)]
    assert max(sizes) <= 7
    assert sum(sizes) == 66
    assert sum(len(batch["id"]) for batch in source.batches(MARKERS, rows=7)) == 34
    source.close()


numbers = st.one_of(
    st.none(), st.integers(-(2**63), 2**63 - 1), st.integers(0, 1000), st.text(max_size=3)
)


@settings(max_examples=60)
@given(rows=st.lists(st.tuples(numbers, numbers, numbers, numbers, numbers, numbers), max_size=20))
def test_whatever_the_columns_hold_the_rows_are_sound(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[Any, ...]]
) -> None:
    path = tmp_path_factory.mktemp("rtl") / "trace.db"
    ops = [
        (gpu, queue, 0, queue, start, end, name, name, roctx)
        for gpu, queue, start, end, name, roctx in rows
    ]
    source = IMPORTER.open(make_file(path, ops))
    try:
        for table in (OPS, MARKERS, CALLS):
            check_sound(source, table)
    finally:
        source.close()


def check_sound(source: TraceSource, table: Any) -> None:
    last = 0
    for batch in source.batches(table, rows=5):
        assert (np.diff(np.append(last, batch["id"])) > 0).all()
        assert (batch["end_ns"] >= batch["start_ns"]).all()
        assert (batch["name"] < len(source.strings)).all()
        last = int(batch["id"][-1])
        assert last <= source.row_count(table)
