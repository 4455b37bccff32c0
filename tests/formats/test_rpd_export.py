"""RPD export: the schema its tools expect, API rows for the time range, read back without loss."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.builders import TraceMaker, a_trace, random_ops
from tests.registered import exporter_called, importer_called
from wavescope.formats import ExportOptions
from wavescope.formats.id_index import IdIndex
from wavescope.formats.sniff import probe
from wavescope.model.columns import CALLS, COPIES, LAUNCHES, MARKER_INSTANT, MONITORS, OPS
from wavescope.model.trace import Trace

IMPORTER = importer_called("rocmProfileData")
EXPORTER = exporter_called("rpd")


def exported(maker: TraceMaker, folder: Path) -> Path:
    path = folder / "x.rpd"
    path.unlink(missing_ok=True)
    EXPORTER.write(maker.builder, path, ExportOptions(), lambda done, total: None)
    return path


def query(path: Path, sql: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchall()


def a_rich_trace() -> TraceMaker:
    return (
        a_trace()
        .with_process(900)
        .with_process(901)
        .with_kernel("gemm", 20, 30, gpu=1, queue=7, stream=2, grid_x=64, workgroup_x=32)
        .with_copy(30, 35, size_bytes=4096, gpu=1, target_device=1, stream=2)
        .with_kernel("add", 40, 45)
        .with_kernel("add", 40, 45, gpu=1)
        .with_call("hipLaunchKernel", 10, 12, pid=900, thread=77, category="c", domain="HIP",
                   args="grid=1")
        .with_call("hipMemcpyAsync", 13, 14, pid=900)
        .with_call("hipGraphLaunch", 15, 16, pid=900)
        .with_link(1, 1)
        .with_link(2, 2)
        .with_link(3, 3)
        .with_link(3, 4)
        .with_link(9, 4)
        .with_marker("step 'x'", 1, 60, process=1, thread=78)
        .with_marker("mark", 5, 5, process=1, thread=78, flags=MARKER_INSTANT)
        .with_counter(1, "SQ_WAVES", 64.5)
        .with_metadata("command", "python3")
    )  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return exported(a_rich_trace(), tmp_path)


def test_tables_views_and_columns_are_those_of_the_real_schema(
    path: Path, shared_data: Path
) -> None:
    real = shared_data / "rpd" / "synthetic_v3.rpd"

    def shape(file: Path) -> dict[str, list[Any]]:
        uri = f"file:{file}?mode=ro&immutable=1"
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            names = connection.execute(
                "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')"
            ).fetchall()
            return {
                name: connection.execute(
                    'SELECT name, type, "notnull", pk FROM pragma_table_info(?)', (name,)
                ).fetchall()
                for (name,) in names
            }

    def without_view_types(shapes: dict[str, list[Any]]) -> dict[str, list[Any]]:
        return {
            name: columns if name.startswith("rocpd") else [column[0] for column in columns]
            for name, columns in shapes.items()
            if not name.startswith("wavescope_")  # which its tools do not ask for
        }

    assert without_view_types(shape(path)) == without_view_types(shape(real))
    indexes = "SELECT name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL ORDER BY 1"
    assert query(path, indexes) == query(real, indexes)


def test_the_database_is_sound(path: Path) -> None:
    assert query(path, "PRAGMA integrity_check") == [("ok",)]
    assert query(path, "PRAGMA foreign_key_check") == []
    assert query(path, "SELECT tag, value FROM rocpd_metadata ORDER BY id") == [
        ("gpu_stride", "1000"),
        ("pid_stride", "10000000"),
        ("schema_version", "3"),
        ("command", "python3"),
        ("wavescope_launches", "made from ops"),
    ]


def test_calls_and_markers_are_api_rows(path: Path) -> None:
    rows = query(path, "SELECT id, pid, tid, start, end, domain, category, apiName, args FROM api")

    assert rows == [
        (1, 900, 77, 10, 12, "HIP", "c", "hipLaunchKernel", "grid=1"),
        (2, 900, 1, 13, 14, "", "hip", "hipMemcpyAsync", ""),
        (3, 900, 1, 15, 16, "", "hip", "hipGraphLaunch", ""),
        (4, 901, 78, 1, 60, "", "", "UserMarker", "step 'x'"),
        (5, 901, 78, 5, 5, "", "", "UserMarker", "mark"),
    ]
    assert query(path, "SELECT min(start), max(end) FROM rocpd_api") == [(1, 60)]


def test_ops_links_and_views(path: Path) -> None:
    assert query(path, "SELECT id, gpuId, queueId, start, end, description, opType FROM op") == [
        (1, 1, 7, 20, 30, "gemm", "KernelExecution"),
        (2, 1, 0, 30, 35, "", "CopyHostToDevice"),
        (3, 0, 0, 40, 45, "add", "KernelExecution"),
        (4, 1, 0, 40, 45, "add", "KernelExecution"),
    ]
    assert query(path, "SELECT api_id, op_id FROM rocpd_api_ops") == [
        (1, 1),
        (2, 2),
        (3, 3),
        (3, 4),
    ]
    assert query(
        path, "SELECT id, kernelName, stream, gridX, workgroupX, duration FROM kernel"
    ) == [(1, "gemm", "0x2", 64, 32, 10)]
    assert query(path, "SELECT id, size, kind, dstDevice, apiName FROM copyop") == [
        (2, 4096, 1, 1, "hipMemcpyAsync")
    ]
    assert query(path, "SELECT Name, TotalCalls FROM top ORDER BY 1") == [
        ("CopyHostToDevice", 1),
        ("add", 2),
        ("gemm", 1),
    ]
    assert query(path, "SELECT gpuId, GpuTime, WallTime FROM busy") == [(0, 5, 25), (1, 20, 25)]
    assert query(path, "SELECT value, op_id FROM rocpd_counter") == [(64.5, 1)]


def test_arguments_of_the_trace_itself_are_kept(tmp_path: Path) -> None:
    maker = a_rich_trace()
    kernel = {"stream": 255, "grid_x": 8, "lds_bytes": 16, "name": "gemm"}
    maker.builder.add_row(LAUNCHES, call=1, **kernel)
    maker.builder.add_row(LAUNCHES, call=1, **kernel)
    maker.builder.add_row(LAUNCHES, call=99, **kernel)
    maker.builder.add_row(COPIES, call=2, size_bytes=64, kind=1, target=4096, synchronous=1)
    maker.builder.add_row(
        MONITORS, device_type="gpu", device=1, quantity="sclk", start_ns=1, end_ns=2, value="2100"
    )
    path = exported(maker, tmp_path)

    sql = "SELECT api_ptr_id, stream, gridX, groupSegmentSize FROM rocpd_kernelapi"
    assert query(path, sql) == [(1, "0xff", 8, 16)]
    assert query(path, "SELECT api_ptr_id, size, dst, src, sync FROM rocpd_copyapi") == [
        (2, 64, "0x1000", "", 1)
    ]
    assert query(path, "SELECT * FROM rocpd_monitor") == [(1, "gpu", 1, "sclk", 1, 2, "2100")]


def test_a_trace_of_ops_alone_gets_a_time_range(tmp_path: Path) -> None:
    maker = a_trace().with_process(900).with_kernel("f", 100, 130).with_kernel("g", 50, 60)
    path = exported(maker, tmp_path)

    assert query(path, "SELECT pid, tid, start, end, apiName, args FROM api") == [
        (900, 900, 50, 130, "UserMarker", "trace")
    ]


def test_an_empty_trace_is_an_empty_database(tmp_path: Path) -> None:
    path = exported(a_trace(), tmp_path)

    assert query(path, "SELECT count(*) FROM rocpd_api") == [(0,)]
    assert query(path, "PRAGMA integrity_check") == [("ok",)]


def test_the_source_is_not_changed(tmp_path: Path) -> None:
    maker = a_trace().with_kernel("f", 1, 2)
    before = list(maker.builder.strings)
    exported(maker, tmp_path)

    assert list(maker.builder.strings) == before


def test_reading_back_gives_the_same_trace(path: Path) -> None:
    assert IMPORTER.matches(probe(path))
    before, after = a_rich_trace().build(), Trace(IMPORTER.open(path))

    for name in ("id", "gpu", "queue", "start_ns", "end_ns"):
        assert after.ops[name].tolist() == before.ops[name].tolist(), name
    assert after.ops.strings("name") == before.ops.strings("name")
    assert after.ops.strings("type") == before.ops.strings("type")
    assert after.calls.strings("name") == before.calls.strings("name")
    assert after.calls.strings("args") == before.calls.strings("args")
    assert after.calls["start_ns"].tolist() == before.calls["start_ns"].tolist()
    assert sorted(after.markers.strings("name")) == ["mark", "step 'x'"]
    assert list(zip(after.links["call"], after.links["op"], strict=True)) == [
        (1, 1),
        (2, 2),
        (3, 3),
        (3, 4),
    ]


def test_many_ops_keep_every_time(tmp_path: Path) -> None:
    maker = random_ops(300_000)
    path = exported(maker, tmp_path)
    before, after = maker.build(), Trace(IMPORTER.open(path))

    assert np.array_equal(before.ops["start_ns"], after.ops["start_ns"])
    assert np.array_equal(before.ops["end_ns"], after.ops["end_ns"])
    assert before.ops.strings("name") == after.ops.strings("name")
    assert query(path, "PRAGMA integrity_check") == [("ok",)]


def test_ids_of_many_sessions_cost_no_memory(tmp_path: Path) -> None:
    maker = a_trace()
    for session in range(3):
        first = (session << 32) + 1
        maker.with_kernel("f", 10, 20, id=first).with_call("hipLaunchKernel", 1, 2, id=first)
        maker.with_link(first, first)
    (tmp_path / "again").mkdir()
    source = IMPORTER.open(exported(maker, tmp_path))
    again = tmp_path / "again" / "x.rpd"
    EXPORTER.write(source, again, ExportOptions(), lambda done, total: None)

    assert IdIndex(source, OPS).size == IdIndex(source, CALLS).size == 3
    ids = [1, (1 << 32) + 1, (2 << 32) + 1]
    assert query(again, "SELECT api_id, op_id FROM rocpd_api_ops") == [(i, i) for i in ids]
    assert query(again, "SELECT api_ptr_id FROM rocpd_kernelapi") == [(i,) for i in ids]


def test_hostile_names_are_text_and_nothing_else(tmp_path: Path) -> None:
    names = ["'; DROP TABLE rocpd_op; --", 'a"b', "line\nbreak", "\ud800", "x" * 100_000]
    maker = a_trace()
    for name in names:
        maker.with_kernel(name, 1, 2)
    path = exported(maker, tmp_path)

    read = [name for (name,) in query(path, "SELECT description FROM op ORDER BY id")]
    assert read == ["'; DROP TABLE rocpd_op; --", 'a"b', "line\nbreak", "?", "x" * 100_000]
