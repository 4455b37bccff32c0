"""SQL that people already use with rocm-trace-lite and rocmProfileData runs unchanged."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from tests.builders import a_trace
from wavescope.formats.wavescope.writing import write_trace


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    maker = (
        a_trace()
        .with_copy(1_000_000, 1_400_000, size_bytes=4096)
        .with_kernel("gemm", 2_000_000, 2_300_000, grid_x=512, workgroup_x=64, stream=3)
        .with_kernel("gemm", 2_100_000, 2_500_000, queue=1)
        .with_kernel("add", 2_600_000, 2_700_000)
        .with_kernel("gemm", 9_000_000, 9_100_000, gpu=1)
        .with_marker("prefill", 1_900_000, 2_550_000)
        .with_marker("decode", 2_560_000, 9_200_000)
        .with_call("hipMemcpy", 900_000, 1_500_000)
        .with_call("hipLaunchKernel", 1_950_000, 1_960_000, args="grid=512")
        .with_link(1, 1)
        .with_link(2, 2)
    )
    write_trace([maker.builder], tmp_path / "matmul_result.rpd")
    opened = sqlite3.connect(tmp_path / "matmul_result.rpd")
    yield opened
    opened.close()


def test_list_all_roctx_markers_with_duration(connection: sqlite3.Connection) -> None:
    rows = connection.execute(
        """
        SELECT s.string AS marker, (o.end - o.start) / 1e6 AS duration_ms
        FROM rocpd_op o JOIN rocpd_string s ON o.description_id = s.id
        WHERE o.gpuId = -1 ORDER BY o.start;
        """
    ).fetchall()

    assert rows == [("prefill", 0.65), ("decode", 6.64)]


def test_top_kernels_within_a_specific_region(connection: sqlite3.Connection) -> None:
    statement = """
        SELECT s.string AS kernel, COUNT(*) AS calls,
               ROUND(AVG(o.end - o.start) / 1e3, 1) AS avg_us
        FROM rocpd_op o JOIN rocpd_string s ON o.description_id = s.id
        WHERE o.gpuId >= 0 AND o.start BETWEEN <region_start> AND <region_end>
        GROUP BY s.string ORDER BY SUM(o.end - o.start) DESC LIMIT 10;
        """
    statement = statement.replace("<region_start>", "1900000").replace("<region_end>", "2650000")

    rows = connection.execute(statement).fetchall()

    assert rows == [("gemm", 2, 350.0), ("add", 1, 100.0)]


def test_kernels_by_roctx_region_as_on_the_samples_page(connection: sqlite3.Connection) -> None:
    statement = """
        SELECT s.string AS kernel, COUNT(*) AS calls,
               ROUND(AVG(o.end - o.start) / 1e3, 1) AS avg_us
        FROM rocpd_op o JOIN rocpd_string s ON o.description_id = s.id
        WHERE o.gpuId >= 0
          AND o.start BETWEEN <prefill_start> AND <prefill_end>
        GROUP BY s.string ORDER BY SUM(o.end - o.start) DESC LIMIT 10;
        """
    statement = statement.replace("<prefill_start>", "1900000").replace("<prefill_end>", "2550000")

    assert connection.execute(statement).fetchall() == [("gemm", 2, 350.0)]


def test_the_tables_and_views_of_the_tutorial_are_there(connection: sqlite3.Connection) -> None:
    tables = connection.execute(
        "SELECT name, type, sql FROM sqlite_master where type='table' or type='view';"
    ).fetchall()
    table_view = pd.DataFrame(data=tables, columns=["name", "type", "schema"]).set_index("name")

    for table in (
        "rocpd_kernelcodeobject",
        "rocpd_string",
        "rocpd_barrierop",
        "rocpd_copyapi",
        "rocpd_op_inputSignals",
        "rocpd_op",
        "rocpd_api",
        "rocpd_api_ops",
        "rocpd_kernelapi",
        "rocpd_metadata",
        "rocpd_monitor",
    ):
        assert table_view.loc[table, "type"] == "table"
    for view in ("api", "op", "busy", "ktop", "top", "kernel", "copy", "copyop"):
        assert table_view.loc[view, "type"] == "view"


def test_pandas_reads_op(connection: sqlite3.Connection) -> None:
    df_op = pd.read_sql_query("SELECT * from op", connection)

    assert list(df_op.columns) == [
        "id",
        "gpuId",
        "queueId",
        "sequenceId",
        "start",
        "end",
        "description",
        "opType",
    ]
    assert df_op.loc[0].tolist() == [1, 0, 0, 0, 1_000_000, 1_400_000, "", "CopyHostToDevice"]
    assert df_op.loc[1, "description"] == "gemm"
    assert df_op.loc[1, "opType"] == "KernelExecution"


def test_pandas_reads_top_in_microseconds(connection: sqlite3.Connection) -> None:
    df_top = pd.read_sql_query("SELECT * from top", connection)

    assert list(df_top.columns) == ["Name", "TotalCalls", "TotalDuration", "Ave", "Percentage"]
    assert df_top.values.tolist() == [
        ["gemm", 3, 800, 266, pytest.approx(800 / 13)],
        ["CopyHostToDevice", 1, 400, 400, pytest.approx(400 / 13)],
        ["add", 1, 100, 100, pytest.approx(100 / 13)],
    ]


def test_pandas_reads_ktop_without_copies(connection: sqlite3.Connection) -> None:
    df_ktop = pd.read_sql_query("SELECT * from ktop", connection)

    assert df_ktop.values.tolist() == [
        ["gemm", 3, 800, 266, pytest.approx(800 / 9)],
        ["add", 1, 100, 100, pytest.approx(100 / 9)],
    ]


def test_busy_is_a_union_of_intervals(connection: sqlite3.Connection) -> None:
    df_busy = pd.read_sql_query("SELECT * from busy", connection)

    assert df_busy.values.tolist() == [
        [0, 1_000_000, 8_100_000, pytest.approx(1_000_000 / 8_100_000)],
        [1, 100_000, 8_100_000, pytest.approx(100_000 / 8_100_000)],
    ]


def test_api_shows_names_and_arguments(connection: sqlite3.Connection) -> None:
    df_api = pd.read_sql_query("SELECT * from api", connection)

    assert df_api[["pid", "tid", "apiName", "args"]].values.tolist() == [
        [1, 1, "hipMemcpy", ""],
        [1, 1, "hipLaunchKernel", "grid=512"],
    ]


def test_kernel_shows_launch_parameters(connection: sqlite3.Connection) -> None:
    rows = connection.execute(
        "SELECT kernelName, duration, stream, gridX, workgroupX FROM kernel WHERE id = 2"
    ).fetchall()

    assert rows == [("gemm", 300_000, 3, 512, 64)]


def test_copyop_shows_sizes_and_the_call(connection: sqlite3.Connection) -> None:
    rows = connection.execute("SELECT id, duration, size, apiName FROM copyop").fetchall()

    assert rows == [(1, 400_000, 4096, "hipMemcpy")]
