"""The kernel summary: exact values on small traces."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from tests.builders import a_trace, random_ops
from wavescope.analyze.summary import (
    KernelNaming,
    KernelSummaryOptions,
    OpChoice,
    Scope,
    kernel_summary,
)
from wavescope.model.op_kinds import BARRIER_TYPE, FILL_TYPE
from wavescope.model.result import ResultTable, Value
from wavescope.model.toml_files import read_rules
from wavescope.names.kernel_names import NameRules

FLOAT_ADD = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int)"
BF16_ADD = "void at::native::vectorized_elementwise_kernel<8, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul> >(int)"


def columns(table: ResultTable, *names: str) -> list[tuple[Value, ...]]:
    return list(zip(*(table.column(name) for name in names), strict=True))


def test_every_statistic_of_one_kernel() -> None:
    maker = a_trace()
    for duration in range(1, 101):
        maker.with_kernel("gemm", 1_000 * duration, 1_000 * duration + duration)

    (row,) = kernel_summary(maker.build()).table("kernels").records()

    assert row.pop("std_ns") == pytest.approx(math.sqrt((100**2 - 1) / 12), rel=1e-12)
    assert row == {
        "name": "gemm",
        "category": "GEMM",
        "calls": 100,
        "total_ns": 5_050,
        "percent": 100.0,
        "mean_ns": 50.5,
        "median_ns": 50,
        "p95_ns": 95,
        "p99_ns": 99,
        "min_ns": 1,
        "max_ns": 100,
    }


def test_the_largest_total_comes_first_and_ties_go_by_name() -> None:
    trace = (
        a_trace()
        .with_kernel("b", 0, 10)
        .with_kernel("a", 10, 20)
        .with_kernel("big", 20, 80)
        .with_kernel("b", 80, 100)
        .with_kernel("c", 100, 110)
        .build()
    )

    table = kernel_summary(trace).table("kernels")

    assert columns(table, "name", "calls", "total_ns", "percent") == [
        ("big", 1, 60, 100 * 60 / 110),
        ("b", 2, 30, 100 * 30 / 110),
        ("a", 1, 10, 100 * 10 / 110),
        ("c", 1, 10, 100 * 10 / 110),
    ]


def test_short_names_join_what_full_names_keep_apart() -> None:
    trace = a_trace().with_kernel(FLOAT_ADD, 0, 10).with_kernel(BF16_ADD, 20, 50).build()

    short = kernel_summary(trace, KernelSummaryOptions(full_names=True))
    full = kernel_summary(trace, KernelSummaryOptions(naming=KernelNaming.FULL))

    assert columns(short.table("kernels"), "name", "calls", "total_ns") == [
        ("vectorized_elementwise (add)", 2, 40)
    ]
    assert short.table("full_names").rows == [
        ("vectorized_elementwise (add)", BF16_ADD, 1, 30),
        ("vectorized_elementwise (add)", FLOAT_ADD, 1, 10),
    ]
    assert columns(full.table("kernels"), "name", "total_ns") == [(BF16_ADD, 30), (FLOAT_ADD, 10)]


def test_rules_give_groups_and_categories(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_text("[[rule]]\nmatch = '^Cijk'\nname = 'GEMM'\ncategory = 'matmul'\n")
    trace = (
        a_trace()
        .with_kernel("Cijk_Ailk_Bljk_MT16x16x16_a", 0, 10)
        .with_kernel("Cijk_Ailk_Bljk_MT32x32x32_a", 10, 30)
        .with_kernel("other(int)", 30, 35)
        .build()
    )

    table = kernel_summary(
        trace, KernelSummaryOptions(rules=NameRules.from_document(read_rules(path)))
    ).table("kernels")

    assert columns(table, "name", "category", "calls", "total_ns") == [
        ("GEMM", "matmul", 2, 30),
        ("other", "other", 1, 5),
    ]


def test_each_gpu_has_its_own_list_and_its_own_hundred_percent() -> None:
    trace = (
        a_trace()
        .with_kernel("a", 0, 10, gpu=7)
        .with_kernel("b", 10, 40, gpu=7)
        .with_kernel("a", 0, 5, gpu=2)
        .build()
    )

    table = kernel_summary(trace, KernelSummaryOptions(scope=Scope.GPU)).table("kernels")

    assert columns(table, "gpu", "name", "total_ns", "percent") == [
        (2, "a", 5, 100.0),
        (7, "b", 30, 75.0),
        (7, "a", 10, 25.0),
    ]


def test_each_process_is_named_by_pid_and_rank() -> None:
    trace = (
        a_trace()
        .with_process(100, rank=0)
        .with_process(101)
        .with_kernel("a", 0, 10, process=1)
        .with_kernel("a", 0, 20, process=0)
        .with_kernel("a", 0, 30, process=-1)
        .build()
    )

    table = kernel_summary(trace, KernelSummaryOptions(scope=Scope.PROCESS)).table("kernels")

    assert columns(table, "process", "pid", "rank", "total_ns") == [
        (None, None, None, 30),
        (0, 100, 0, 20),
        (1, 101, None, 10),
    ]


def test_copies_and_fills_are_listed_on_request_barriers_never() -> None:
    trace = (
        a_trace()
        .with_kernel("a", 0, 10)
        .with_kernel("", 10, 12)
        .with_copy(20, 50)
        .with_copy(50, 90, type="CopyDeviceToHost")
        .with_op("", 90, 95, type=FILL_TYPE)
        .with_op("", 100, 200, type=BARRIER_TYPE)
        .build()
    )

    kernels = kernel_summary(trace)
    everything = kernel_summary(trace, KernelSummaryOptions(ops=OpChoice.ALL))

    assert columns(kernels.table("kernels"), "name", "total_ns") == [("a", 10), ("(no name)", 2)]
    assert kernels.facts["listed_op_count"] == 2
    assert kernels.facts["unlisted_op_count"] == 4
    assert columns(everything.table("kernels"), "name", "total_ns") == [
        ("CopyDeviceToHost", 40),
        ("CopyHostToDevice", 30),
        ("a", 10),
        ("FillMemory", 5),
        ("(no name)", 2),
    ]
    assert everything.facts["gpu_time_ns"] == 87


def test_an_empty_trace_has_an_empty_table() -> None:
    for scope in Scope:
        result = kernel_summary(
            a_trace().build(), KernelSummaryOptions(scope=scope, full_names=True)
        )

        assert [table.rows for table in result.tables] == [[], []]
        assert result.facts["gpu_time_ns"] == 0


def test_ops_without_duration_have_no_share() -> None:
    table = kernel_summary(a_trace().with_kernel("a", 5, 5).build()).table("kernels")

    assert columns(table, "total_ns", "percent", "std_ns") == [(0, None, 0.0)]


def test_agrees_with_numpy_on_a_large_trace() -> None:
    trace = random_ops(50_000).build()

    table = kernel_summary(trace).table("kernels")

    names = np.array(trace.ops.strings("name"))
    durations = trace.ops.duration_ns
    assert len(table.rows) == 150
    assert sum(columns(table, "total_ns"), ()) == tuple(
        sorted(table.column("total_ns"), reverse=True)
    )
    for record in table.records()[:10]:
        own = np.sort(durations[names == record["name"]])
        assert record["calls"] == len(own)
        assert record["total_ns"] == own.sum()
        assert record["median_ns"] == np.percentile(own, 50, method="inverted_cdf")
        assert record["p95_ns"] == np.percentile(own, 95, method="inverted_cdf")
        assert record["p99_ns"] == np.percentile(own, 99, method="inverted_cdf")
        assert record["std_ns"] == pytest.approx(own.std(), rel=1e-9)
