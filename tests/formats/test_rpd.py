"""rocmProfileData files, schema versions 2 and 3: what their rows become."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.registered import importer_called
from wavescope.formats.rpd import reader as rpd
from wavescope.formats.sniff import Probe, probe
from wavescope.model.columns import (
    CALLS,
    COPIES,
    COUNTERS,
    LAUNCHES,
    MARKER_INSTANT,
    MARKERS,
    MONITORS,
    OPS,
)
from wavescope.model.trace import Trace

IMPORTER = importer_called("rocmProfileData")

KEY = "integer NOT NULL PRIMARY KEY AUTOINCREMENT"
COMMON = f"""
CREATE TABLE rocpd_metadata (id {KEY}, tag varchar(4096) NOT NULL, value varchar(4096) NOT NULL);
CREATE TABLE rocpd_string (id {KEY}, string varchar(4096) NOT NULL);
CREATE TABLE rocpd_api_ops (id {KEY}, api_id bigint NOT NULL, op_id bigint NOT NULL);
CREATE TABLE rocpd_copyapi (api_ptr_id bigint NOT NULL PRIMARY KEY, stream varchar(18),
  size integer, width integer, height integer, kind integer, dst varchar(18), src varchar(18),
  dstDevice integer, srcDevice integer, sync bool, pinned bool);
CREATE TABLE rocpd_monitor (id {KEY}, deviceType varchar(16), deviceId integer,
  monitorType varchar(16), start integer, end integer, value varchar(255));
"""
VERSION_3 = f"""{COMMON}
CREATE TABLE rocpd_ustring (id {KEY}, string varchar(4096) NOT NULL);
CREATE TABLE rocpd_api (id {KEY}, pid integer, tid integer, start integer, end integer,
  apiName_id bigint, category_id bigint, domain_id bigint, args_id bigint);
CREATE TABLE rocpd_op (id {KEY}, gpuId integer, queueId integer, sequenceId integer,
  start integer, end integer, description_id bigint, opType_id bigint);
CREATE TABLE rocpd_kernelapi (api_ptr_id bigint NOT NULL PRIMARY KEY, stream varchar(18),
  gridX integer, gridY integer, gridZ integer, workgroupX integer, workgroupY integer,
  workgroupZ integer, groupSegmentSize integer, privateSegmentSize integer, kernelName_id bigint);
CREATE TABLE rocpd_counter (id {KEY}, value real, op_id bigint, name_id bigint);
INSERT INTO rocpd_metadata (tag, value) VALUES ('schema_version', '3');
INSERT INTO rocpd_ustring VALUES (1, ''), (2, 'step 1'), (3, 'stream=0x0'), (4, 'mark');
"""
VERSION_2 = f"""{COMMON}
CREATE TABLE rocpd_api (id {KEY}, pid integer, tid integer, start integer, end integer,
  apiName_id integer, args_id integer);
CREATE TABLE rocpd_op (id {KEY}, gpuId integer, queueId integer, sequenceId integer,
  completionSignal varchar(18), start integer, end integer, description_id integer,
  opType_id integer);
CREATE TABLE rocpd_kernelapi (api_ptr_id integer NOT NULL PRIMARY KEY, stream varchar(18),
  gridX integer, gridY integer, gridZ integer, workgroupX integer, workgroupY integer,
  workgroupZ integer, groupSegmentSize integer, privateSegmentSize integer,
  kernelArgAddress varchar(18), aquireFence varchar(8), releaseFence varchar(8),
  codeObject_id integer, kernelName_id integer);
CREATE TABLE rocpd_barrierop (op_ptr_id integer PRIMARY KEY, signalCount integer);
INSERT INTO rocpd_metadata (tag, value) VALUES ('schema_version', '2');
"""
STRINGS = (
    "",
    "UserMarker",
    "KernelExecution",
    "CopyHostToDevice",
    "gemm",
    "hipMemcpy",
    "hip",
    "c1",
)
EMPTY, MARKER, KERNEL, COPY, GEMM, MEMCPY, HIP, COUNTER = range(1, 9)
SESSION = 1 << 32


def make_file(path: Path, schema: str, rows: str) -> Path:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA synchronous = OFF")
    connection.executescript(schema)
    connection.executemany("INSERT INTO rocpd_string VALUES (?, ?)", enumerate(STRINGS, 1))
    connection.executescript(rows)
    connection.close()
    return path


def opened(path: Path) -> Trace:
    return Trace(IMPORTER.open(path))


def columns(trace: Trace, table: Any, *names: str) -> list[tuple[Any, ...]]:
    rows = trace.table(table)
    rows.load(*names)
    return list(zip(*(rows[name].tolist() for name in names), strict=True))


def test_version_3(tmp_path: Path) -> None:
    rows = f"""
    INSERT INTO rocpd_api VALUES (1, 10, 11, 100, 150, {MEMCPY}, {EMPTY}, {HIP}, 3),
      (2, 10, 12, 160, 190, {MARKER}, {EMPTY}, {MARKER}, 2),
      (3, 10, 11, 200, 200, {MARKER}, {EMPTY}, {MARKER}, 4);
    INSERT INTO rocpd_op VALUES (1, 1, 2, 3, 120, 140, {EMPTY}, {COPY}),
      (2, 0, 5, 6, 170, 180, {GEMM}, {KERNEL});
    INSERT INTO rocpd_api_ops VALUES (1, 1, 1);
    INSERT INTO rocpd_copyapi VALUES (1, '0x7f', 4096, '', '', 1, '0xa0', '0xb0', 3, 2, 1, 0);
    INSERT INTO rocpd_kernelapi VALUES (9, '0x1', 2, 3, 4, 5, 6, 7, 8, 9, {GEMM});
    INSERT INTO rocpd_monitor VALUES (1, 'gpu', 0, 'sclk', 5, 9, '1700'), (2, 'gpu', 0, 'sclk', 9, 8, '800');
    INSERT INTO rocpd_counter VALUES (1, 2.5, 2, {COUNTER});
    """
    with opened(make_file(tmp_path / "trace.rpd", VERSION_3, rows)) as trace:
        assert trace.format == "rocmProfileData"
        assert columns(trace, OPS, "id", "gpu", "queue", "sequence", "start_ns", "end_ns") == [
            (1, 1, 2, 3, 120, 140),
            (2, 0, 5, 6, 170, 180),
        ]
        assert trace.ops.strings("name") == ["", "gemm"]
        assert trace.ops.strings("type") == ["CopyHostToDevice", "KernelExecution"]
        assert trace.ops["process"].tolist() == [0, 0]
        assert trace.ops["size_bytes"].tolist() == [4096, -1]
        assert columns(trace, CALLS, "id", "pid", "thread", "process") == [(1, 10, 11, 0)]
        assert trace.calls.strings("name") == ["hipMemcpy"]
        assert trace.calls.strings("domain") == ["hip"]
        assert trace.calls.strings("category") == [""]
        assert trace.calls.strings("args") == ["stream=0x0"]
        assert columns(
            trace, MARKERS, "id", "start_ns", "end_ns", "thread", "process", "flags"
        ) == [
            (2, 160, 190, 12, 0, 0),
            (3, 200, 200, 11, 0, MARKER_INSTANT),
        ]
        assert trace.markers.strings("name") == ["step 1", "mark"]
        assert trace.markers.strings("type") == ["UserMarker"] * 2
        assert trace.markers.strings("category") == ["roctx"] * 2
        assert trace.links["call"].tolist() == trace.links["op"].tolist() == [1]
        names = ("call", "stream", "size_bytes", "width", "height", "kind", "target", "source")
        assert columns(trace, COPIES, *names, "target_device", "source_device", "synchronous") == [
            (1, 0x7F, 4096, -1, -1, 1, 0xA0, 0xB0, 3, 2, 1)
        ]
        monitors = trace.table(MONITORS)
        assert monitors.strings("value") == ["1700", "800"]
        assert monitors["end_ns"].tolist() == [9, 9]
        assert columns(trace, COUNTERS, "op", "value") == [(2, 2.5)]
        assert trace.counters.strings("name") == ["c1"]
        assert trace.metadata == {"schema_version": "3"}
        assert dict(trace.notes) == {
            "copies may have source and target exchanged by rocmProfileData: shown as stored": 1,
            "copies hold something else than a number in width: taken as unknown": 1,
            "copies hold something else than a number in height: taken as unknown": 1,
            "monitors ended before they started: taken as ending there": 1,
        }


def test_version_2_keeps_arguments_among_the_strings(tmp_path: Path) -> None:
    rows = f"""
    INSERT INTO rocpd_string VALUES (20, 'size=5'), (21, 'decode');
    INSERT INTO rocpd_api VALUES (1, 10, 11, 1, 5, {MEMCPY}, 20), (2, 10, 11, 5, 9, {MARKER}, 21);
    INSERT INTO rocpd_op VALUES (1, 0, 0, 0, '0x7f00', 2, 4, {GEMM}, {KERNEL});
    INSERT INTO rocpd_kernelapi VALUES (1, '0x9', 1, 2, 3, 4, 5, 6, 7, 8, '', '', '', 1, {GEMM});
    """
    with opened(make_file(tmp_path / "trace.rpd", VERSION_2, rows)) as trace:
        assert trace.calls.strings("args") == ["size=5"]
        assert trace.calls["category"].tolist() == [-1]
        assert trace.markers.strings("name") == ["decode"]
        assert trace.ops.strings("name") == ["gemm"]
        assert trace.ops["hardware_queue"].tolist() == [-1]
        launches = trace.table(LAUNCHES)
        assert launches["stream"].tolist() == [9]
        assert launches["workgroup_z"].tolist() == [6]
        assert launches.strings("name") == ["gemm"]


def two_sessions() -> str:
    """Two processes as two recorders write them: ids 2^32 apart, strings repeated."""
    second = SESSION
    return f"""
    INSERT INTO rocpd_string VALUES ({second + 1}, 'gemm'), ({second + 2}, 'KernelExecution'),
      ({second + 3}, 'hipMemcpy'), ({second + 4}, 'UserMarker');
    INSERT INTO rocpd_ustring VALUES ({second + 1}, 'other');
    INSERT INTO rocpd_api VALUES (1, 10, 10, 1, 2, {MEMCPY}, {EMPTY}, {HIP}, 1),
      ({second + 1}, 20, 20, 1, 2, {second + 3}, {EMPTY}, {HIP}, 1),
      ({second + 2}, 20, 20, 3, 4, {second + 4}, {EMPTY}, {HIP}, {second + 1});
    INSERT INTO rocpd_op VALUES (1, 0, 0, 0, 1, 2, {GEMM}, {KERNEL}),
      ({second + 1}, 1, 0, 0, 2, 3, {second + 1}, {second + 2});
    INSERT INTO rocpd_api_ops VALUES (1, 1, 1), ({second + 1}, {second + 1}, {second + 1});
    """


def test_ids_of_several_sessions_are_sparse(tmp_path: Path) -> None:
    with opened(make_file(tmp_path / "trace.rpd", VERSION_3, two_sessions())) as trace:
        assert trace.ops["id"].tolist() == [1, SESSION + 1]
        assert trace.ops.strings("name") == ["gemm", "gemm"]
        assert trace.ops.strings("type") == ["KernelExecution"] * 2
        assert trace.ops["process"].tolist() == [0, 1]
        assert trace.processes["pid"].tolist() == [10, 20]
        assert trace.calls["id"].tolist() == [1, SESSION + 1]
        assert trace.calls["process"].tolist() == [0, 1]
        assert trace.markers.strings("name") == ["other"]
        assert trace.markers["process"].tolist() == [1]
        assert trace.links["op"].tolist() == [1, SESSION + 1]
        assert trace.source.row_count(OPS) == SESSION + 1
        assert dict(trace.notes) == {}


def many_processes_of_one_session() -> str:
    calls = ",".join(
        f"({i}, {10 + i % 3}, 1, {i}, {i + 1}, {MEMCPY}, 1, {HIP}, 1)" for i in range(1, 40)
    )
    ops = ",".join(f"({i}, 0, 0, 0, {i}, {i + 1}, {GEMM}, {KERNEL})" for i in range(1, 41))
    links = ",".join(f"({i}, {40 - i}, {i})" for i in range(1, 40))
    return (
        f"INSERT INTO rocpd_api VALUES {calls}; INSERT INTO rocpd_op VALUES {ops};"
        f"INSERT INTO rocpd_api_ops VALUES {links};"
    )


def test_processes_of_one_session_are_told_by_links(tmp_path: Path) -> None:
    with opened(make_file(tmp_path / "trace.rpd", VERSION_3, many_processes_of_one_session())) as t:
        assert t.ops["process"].tolist() == [(40 - i) % 3 for i in range(1, 40)] + [-1]


def test_too_many_links_leave_processes_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rpd, "_MOST_ROWS_HELD", 10)
    with opened(make_file(tmp_path / "trace.rpd", VERSION_3, many_processes_of_one_session())) as t:
        assert set(t.ops["process"].tolist()) == {-1}
        assert dict(t.notes) == {
            "processes of ops could only be told by too many links: left unknown": 1
        }


def test_copies_behind_ops_tell_sizes_and_devices(tmp_path: Path) -> None:
    rows = f"""
    INSERT INTO rocpd_api VALUES (7, 1, 1, 1, 2, {MEMCPY}, 1, {HIP}, 1), (8, 1, 1, 3, 4, {MEMCPY}, 1, {HIP}, 1);
    INSERT INTO rocpd_op VALUES (1, 0, 0, 0, 1, 2, {EMPTY}, {COPY}), (2, 0, 0, 0, 3, 4, {GEMM}, {KERNEL}),
      (3, 0, 0, 0, 5, 6, {EMPTY}, {COPY});
    INSERT INTO rocpd_api_ops VALUES (1, 8, 1), (2, 7, 3);
    INSERT INTO rocpd_copyapi VALUES (7, '', 70, 0, 0, 1, '', '', 1, 2, 0, 0), (8, '', 80, 0, 0, 1, '', '', 3, 4, 0, 0);
    """
    with opened(make_file(tmp_path / "trace.rpd", VERSION_3, rows)) as trace:
        names = ("size_bytes", "source_device", "target_device")
        assert columns(trace, OPS, *names) == [(80, 4, 3), (-1, -1, -1), (70, 2, 1)]
        assert dict(trace.notes) == {
            "ops may have source and target exchanged by rocmProfileData: shown as stored": 2
        }


def test_uninitialised_ids_dangle_and_are_counted(tmp_path: Path) -> None:
    rows = f"""
    INSERT INTO rocpd_api VALUES (1, 1, 1, 1, 2, {MEMCPY}, 0, 94575343435, 1),
      (2, 1, 1, 3, 2, {MEMCPY}, {EMPTY}, {HIP}, 777);
    """
    with opened(make_file(tmp_path / "trace.rpd", VERSION_3, rows)) as trace:
        assert trace.calls.strings("domain") == ["", "hip"]
        assert trace.calls.strings("category") == ["", ""]
        assert trace.calls.strings("args") == ["", ""]
        trace.calls.strings("args")
        assert dict(trace.notes)["arguments are not in the file: shown as empty"] == 1


def test_arguments_that_are_no_text_are_shown_with_marks(tmp_path: Path) -> None:
    rows = f"""
    INSERT INTO rocpd_ustring VALUES (50, CAST(x'61ff' AS TEXT)), (51, 5);
    INSERT INTO rocpd_api VALUES (1, 1, 1, 1, 2, {MEMCPY}, {EMPTY}, {HIP}, 50),
      (2, 1, 1, 3, 4, {MEMCPY}, {EMPTY}, {HIP}, 51), (3, 1, 1, 3, 4, {MEMCPY}, {EMPTY}, {HIP}, NULL);
    """
    with opened(make_file(tmp_path / "trace.rpd", VERSION_3, rows)) as trace:
        for _ in range(2):
            assert trace.calls.strings("args") == ["a\ufffd", "5", ""]
        assert dict(trace.notes) == {"strings are not valid UTF-8: shown with marks": 1}


def test_notes_of_one_pass_do_not_add_up_over_passes(tmp_path: Path) -> None:
    rows = f"""
    INSERT INTO rocpd_api VALUES (1, 1, 1, 1, 2, {MEMCPY}, 0, 94575343435, 1),
      (2, 1, 1, 3, 2, {MEMCPY}, {EMPTY}, {HIP}, 1);
    """
    source = IMPORTER.open(make_file(tmp_path / "trace.rpd", VERSION_3, rows))
    for _ in range(3):
        list(source.batches(CALLS))
    assert dict(source.notes) == {
        "calls refer to a string that is not in the file: shown as empty": 2,
        "calls ended before they started: taken as ending there": 1,
    }
    source.close()


@pytest.mark.parametrize("column", ["apiName_id", "pid", "args_id", "domain_id"])
def test_a_call_table_without_a_column_is_read(tmp_path: Path, column: str) -> None:
    rows = f"INSERT INTO rocpd_api VALUES (1, 1, 1, 1, 2, {MEMCPY}, 1, {HIP}, 3)"
    path = make_file(tmp_path / "trace.rpd", VERSION_3, rows)
    connection = sqlite3.connect(path)
    connection.execute(f"ALTER TABLE rocpd_api DROP COLUMN {column}")
    connection.close()
    with opened(path) as trace:
        assert trace.calls["end_ns"].tolist() == [2]
        assert trace.calls.strings("name") == ["" if column == "apiName_id" else "hipMemcpy"]
        assert len(trace.markers) == 0
        assert len(trace.processes) == (0 if column == "pid" else 1)


@pytest.mark.parametrize("schema", [VERSION_2, VERSION_3])
def test_it_is_known_by_its_tables(tmp_path: Path, schema: str) -> None:
    seen = probe(make_file(tmp_path / "trace.txt", schema, ""))
    assert IMPORTER.matches(seen)
    newer = seen.sqlite_tables | {"wavescope_process"}
    assert not IMPORTER.matches(Probe(seen.path, b"", sqlite_tables=newer))
    newest = seen.sqlite_tables | {"rocpd_kernel_dispatch"}
    assert not IMPORTER.matches(Probe(seen.path, b"", sqlite_tables=newest))


def test_nothing_beside_the_file_appears(tmp_path: Path) -> None:
    path = make_file(tmp_path / "trace.rpd", VERSION_3, two_sessions())
    before = path.read_bytes(), path.stat().st_mtime_ns
    with opened(path) as trace:
        trace.ops.load(*OPS.column_names)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert [found.name for found in tmp_path.iterdir()] == ["trace.rpd"]
