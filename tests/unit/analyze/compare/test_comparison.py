"""Traces beside one another: deltas of time, calls and mean; what is new, gone or renamed."""

from __future__ import annotations

from pathlib import Path

import pytest

import wavescope
from tests.builders import TraceMaker, a_trace
from tests.sample_files import write_as
from wavescope.analyze.compare import CompareOptions, Part, compare
from wavescope.analyze.compare.figures import FigureOptions
from wavescope.model.result import Result, Value


def compared(*makers: TraceMaker, **options: object) -> Result:
    return compare([maker.build() for maker in makers], CompareOptions(**options))  # type: ignore[arg-type]


def rows(result: Result, table: str, *columns: str) -> list[tuple[Value, ...]]:
    found = result.table(table)
    return list(zip(*(found.column(name) for name in columns), strict=True))


def test_every_figure_of_one_kernel() -> None:
    base = a_trace().with_kernel("gemm", 0, 10).with_kernel("gemm", 20, 40)
    new = (
        a_trace().with_kernel("gemm", 0, 20).with_kernel("gemm", 30, 40).with_kernel("gemm", 50, 65)
    )

    (row,) = compared(base, new).table("kernels").records()

    assert row == {
        "name": "gemm",
        "category": "GEMM",
        "base_total_ns": 30,
        "new_total_ns": 45,
        "delta_ns": 15,
        "delta_percent": 50.0,
        "base_calls": 2,
        "new_calls": 3,
        "delta_calls": 1,
        "base_mean_ns": 15.0,
        "new_mean_ns": 15.0,
        "mean_percent": 0.0,
        "status": "both",
        "base_name": None,
        "matched_by": None,
        "calls_effect_ns": 15,
        "speed_effect_ns": 0,
    }


def test_new_gone_and_renamed_kernels() -> None:
    base, new = a_trace(), a_trace()
    for index in range(4):
        for maker, names in ((base, "in gemm_old out topk"), (new, "in gemm_new out")):
            for place, name in enumerate(names.split()):
                maker.with_kernel(name, 100 * index + 10 * place, 100 * index + 10 * place + 5)
    new.with_kernel("flash_attention", 1000, 1100)

    found = rows(compared(base, new), "kernels", "name", "status", "base_name", "delta_ns")

    assert found == [
        ("flash_attention", "new", None, 100),
        ("topk", "gone", None, -20),
        ("gemm_new", "renamed", "gemm_old", 0),
        ("in", "both", None, 0),
        ("out", "both", None, 0),
    ]


def test_without_matching_a_renamed_kernel_is_new_and_gone() -> None:
    base = a_trace().with_kernel("a", 0, 1).with_kernel("gemm_1", 2, 3).with_kernel("b", 4, 5)
    new = a_trace().with_kernel("a", 0, 1).with_kernel("gemm_2", 2, 3).with_kernel("b", 4, 5)

    statuses = dict(rows(compared(base, new, match_renamed=False), "kernels", "name", "status"))

    assert statuses == {"gemm_1": "gone", "gemm_2": "new", "a": "both", "b": "both"}


def test_phases_by_marker_path_hold_what_is_nested() -> None:
    def run(decode_ns: int) -> TraceMaker:
        maker = a_trace().with_marker("request", 0, 1000).with_marker("decode", 500, 900)
        maker.with_kernel("a", 10, 20).with_kernel("b", 510, 510 + decode_ns)
        return maker.with_kernel("c", 2000, 2001)

    result = compared(run(30), run(50), parts=(Part.PHASE,))

    assert rows(result, "phases", "name", "base_total_ns", "new_total_ns", "delta_ns") == [
        ("request", 40, 60, 20),
        ("request > decode", 30, 50, 20),
        ("(outside any range)", 1, 1, 0),
    ]


def test_steps_by_their_markers() -> None:
    def run(step_ns: int) -> TraceMaker:
        maker = a_trace()
        for index in range(3):
            maker.with_marker(f"ProfilerStep#{index}", 100 * index, 100 * index + 80)
            maker.with_kernel("a", 100 * index, 100 * index + step_ns)
            maker.with_kernel("b", 100 * index + 5, 100 * index + 5 + step_ns, queue=1)
        return maker

    result = compared(run(10), run(20), parts=(Part.STEP,))

    assert rows(
        result, "steps", "value", "trace", "step_count", "median_ns", "delta_ns", "delta_percent"
    ) == [
        ("busy", 1, 3, 15.0, None, None),
        ("busy", 2, 3, 25.0, 10.0, pytest.approx(100 * 10 / 15)),
        ("gpu-time", 1, 3, 20.0, None, None),
        ("gpu-time", 2, 3, 40.0, 20.0, 100.0),
        ("wall", 1, 3, 80.0, None, None),
        ("wall", 2, 3, 80.0, 0.0, 0.0),
    ]


def test_several_traces_are_held_against_the_first() -> None:
    makers = [a_trace().with_kernel("gemm", 0, 10 * n) for n in (1, 2, 4)]

    result = compared(*makers)

    assert rows(result, "kernels", "trace", "name", "delta_ns") == [
        (2, "gemm", 10),
        (3, "gemm", 30),
    ]
    assert rows(result, "kernel_totals", "name", "total_1_ns", "total_2_ns", "total_3_ns") == [
        ("gemm", 10, 20, 40)
    ]
    assert result.table("waterfall_categories").column("trace") == [2] * 5 + [3] * 5


def test_only_linked_ops_when_asked() -> None:
    maker = (
        a_trace()
        .with_call("aten::mm", 0, 10, category="cpu_op")
        .with_call("hipLaunchKernel", 1, 2)
        .with_kernel("gemm", 5, 10)
        .with_kernel("gemm", 20, 40)
        .with_link(2, 1)
    )

    linked = compared(maker, maker, figures=FigureOptions(linked_only=True))
    everything = compared(maker, maker)

    assert linked.table("traces").column("op_count") == [1, 1]
    assert linked.findings == []
    assert everything.table("traces").column("op_count") == [2, 2]
    assert [finding.id for finding in everything.findings] == ["launches-missing"]


def test_traces_that_cover_different_shares_of_the_work_are_told() -> None:
    lite = a_trace().with_kernel("gemm", 0, 10).with_coverage(100, 40)
    full = a_trace().with_kernel("gemm", 0, 10).with_coverage(100, 100)
    nearly = a_trace().with_kernel("gemm", 0, 10).with_coverage(1000, 995)
    unknown = a_trace().with_kernel("gemm", 0, 10)

    found = compared(lite, full)

    assert [finding.id for finding in found.findings] == ["coverage-differs"]
    assert "between 40.0 % and 100.0 %" in found.findings[0].evidence
    assert found.table("traces").column("coverage_percent") == [40.0, 100.0]
    assert compared(full, nearly).findings == []
    assert compared(full, unknown).findings == []


def test_phases_and_steps_are_looked_for_where_there_are_markers_or_on_request() -> None:
    plain = a_trace().with_kernel("gemm", 0, 10)
    marked = a_trace().with_kernel("gemm", 0, 10).with_marker("step 1", 0, 10)

    def names(result: Result) -> set[str]:
        return {table.name for table in result.tables}

    assert not names(compared(plain, marked)) & {"phases", "steps"}
    assert names(compared(marked, marked)) >= {"phases", "steps"}
    assert "phases" in names(compared(plain, plain, parts=(Part.PHASE,)))


def test_empty_traces_compare_as_nothing() -> None:
    result = compared(a_trace(), a_trace())

    assert result.table("kernels").rows == []
    assert rows(result, "waterfall_categories", "name", "running_ns")[-1] == ("(new)", 0)


def test_from_python_traces_and_paths_can_be_compared(tmp_path: Path) -> None:
    base = a_trace().with_kernel("gemm", 0, 10).build()
    path = write_as(a_trace().with_kernel("gemm", 0, 15), tmp_path / "new.db")

    result = wavescope.compare([base, path])

    assert result.table("kernels").column("delta_ns") == [5]
    with pytest.raises(wavescope.WavescopeError, match="at least two"):
        wavescope.compare([base])
