"""`wavescope work`, the same table in `summary`, and its section of the report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.builders import a_trace
from tests.unit.analyze.work.graph_traces import captured, replayed
from tests.unit.analyze.work.inputs import BF16
from tests.unit.analyze.work.traces import MI300X, US, OperatorTrace
from tests.unit.cli.conftest import Run
from wavescope.formats.wavescope.writing import write_trace


@pytest.fixture
def product_file(tmp_path: Path) -> Path:
    """A product of two kernels and an activation on an MI300X."""
    made = OperatorTrace(**MI300X)
    matrix = (BF16, (4096, 4096))
    made.operator("aten::mm", matrix, matrix, kernels={"gemm": 150 * US, "reduce": 50 * US})
    made.operator("aten::silu", matrix, kernels={"silu": 50 * US})
    path = tmp_path / "trace.db"
    write_trace([made.maker.builder], path)
    return path


@pytest.fixture
def graph_files(tmp_path: Path) -> tuple[Path, Path]:
    """A trace of two graph replays, and one in which the graph was captured."""
    replay, capture = tmp_path / "replay.db", tmp_path / "capture.db"
    write_trace([replayed(OperatorTrace(**MI300X), 2).maker.builder], replay)
    write_trace([captured(OperatorTrace()).maker.builder], capture)
    return replay, capture


def records(out: str) -> list[dict[str, object]]:
    (table,) = [each for each in json.loads(out)["tables"] if each["name"] == "work"]
    names = [column["name"] for column in table["columns"]]
    return [dict(zip(names, row, strict=True)) for row in table["rows"]]


def test_the_table_in_json_has_every_figure(run: Run, product_file: Path) -> None:
    ran = run("work", product_file, "--json")

    product, activation = records(ran.out)
    assert (product["operator"], product["gpu_time_ns"]) == ("aten::mm", 200 * US)
    assert (product["flops"], product["bytes"]) == (2 * 4096**3, 3 * 2 * 4096**2)
    assert product["above_roofline_ns"] == 94_876  # 200,000 - 105,123.9
    assert (activation["operator"], activation["bound"]) == ("aten::silu", "memory")
    assert json.loads(ran.out)["facts"]["modelled_percent"] == 100.0


def test_people_see_rates_and_the_roofline(run: Run, product_file: Path) -> None:
    ran = run("work", product_file)

    assert "4096x4096x4096" in ran.out
    assert "compute" in ran.out
    assert "52.6" in ran.out  # % of peak
    assert "MI300X" in ran.out


def test_a_narrow_terminal_keeps_the_roofline(
    run: Run, product_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    ran = run("work", product_file)

    assert "52.6" in ran.out  # % of peak
    assert "94.88" in ran.out  # us above the roofline
    assert "no room for: Calls, TB/s" in ran.out


def test_summary_has_the_same_table_when_asked(run: Run, product_file: Path) -> None:
    alone = run("work", product_file, "--json").out
    within = run("summary", product_file, "--table", "work", "--json").out
    chosen = run("summary", product_file, "--table", "work", "--kernel", "reduce", "--json").out

    assert records(within) == records(alone)
    assert [(row["operator"], row["gpu_time_ns"]) for row in records(chosen)] == [
        ("aten::mm", 200 * US)
    ]
    tables = json.loads(run("summary", product_file, "--json").out)["tables"]
    assert "work" not in [table["name"] for table in tables]


def test_a_trace_without_operators_or_shapes_says_what_to_record(run: Run, tmp_path: Path) -> None:
    bare, shapeless = tmp_path / "bare.db", tmp_path / "shapeless.db"
    write_trace([a_trace().with_kernel("gemm", 0, 100).builder], bare)
    made = OperatorTrace(**MI300X).operator("aten::mm", kernels={"gemm": US})
    write_trace([made.maker.builder], shapeless)

    assert "no operator with a formula" in run("work", bare).err
    assert "no shapes were recorded" in run("work", shapeless).err
    assert run("work", bare, "-q").err == ""


def test_the_report_has_a_section_where_there_are_figures(
    run: Run, product_file: Path, tmp_path: Path
) -> None:
    with_figures, without = tmp_path / "with.html", tmp_path / "without.html"
    bare = tmp_path / "bare.db"
    write_trace([a_trace().with_kernel("gemm", 0, 100).builder], bare)

    run("report", product_file, "-o", with_figures)
    run("report", bare, "-o", without)

    page = with_figures.read_text(encoding="utf-8")
    assert "Work of operators" in page
    assert "4096x4096x4096" in page
    assert "peaks of: MI300X" in page
    assert "Work of operators" not in without.read_text(encoding="utf-8")


def test_captures_tell_the_work_of_replays(run: Run, graph_files: tuple[Path, Path]) -> None:
    replay, capture = graph_files
    ran = run("work", replay, "--capture", capture, "--json")
    within = run("summary", replay, "--table", "work", "--capture", capture, "--json")

    product, _ = records(ran.out)
    assert (product["operator"], product["calls"]) == ("aten::mm", 2)
    assert (product["gpu_time_ns"], product["flops"]) == (400 * US, 4 * 4096**3)
    assert records(within.out) == records(ran.out)
    assert ran.err == (
        "note: 500.0 us of 500.0 us of graph replays fit a capture by order and kernel names\n"
    )
    assert records(run("work", replay, "--json").out) == []
