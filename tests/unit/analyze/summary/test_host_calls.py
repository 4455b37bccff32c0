"""The summary of host calls: exact values on small traces."""

from __future__ import annotations

import pytest

from tests.builders import a_trace
from wavescope.analyze.summary import Scope
from wavescope.analyze.summary.host_side import HostCallOptions, host_calls
from wavescope.errors import UsageError


def test_calls_are_added_up_by_category_and_name() -> None:
    trace = (
        a_trace()
        .with_call("hipLaunchKernel", 0, 10)
        .with_call("hipLaunchKernel", 20, 50)
        .with_call("hipMemcpy", 60, 70)
        .with_call("aten::add", 0, 1_000, category="cpu_op")
        .with_call("hipMemcpy", 0, 3, category="cpu_op")
        .build()
    )

    result = host_calls(trace)

    assert [tuple(record.values())[:5] for record in result.table("calls").records()] == [
        ("cpu_op", "aten::add", 1, 1_000, 100 * 1_000 / 1_003),
        ("hip", "hipLaunchKernel", 2, 40, 80.0),
        ("hip", "hipMemcpy", 1, 10, 20.0),
        ("cpu_op", "hipMemcpy", 1, 3, 100 * 3 / 1_003),
    ]
    assert result.table("calls").records()[1] == {
        "category": "hip",
        "name": "hipLaunchKernel",
        "calls": 2,
        "total_ns": 40,
        "percent": 80.0,
        "mean_ns": 20.0,
        "median_ns": 10,
        "p95_ns": 30,
        "p99_ns": 30,
        "min_ns": 10,
        "max_ns": 30,
        "std_ns": 10.0,
    }
    assert result.facts == {"call_count": 5, "call_name_count": 3}


def test_each_process_has_its_own_list() -> None:
    trace = (
        a_trace()
        .with_process(10, rank=3)
        .with_process(11)
        .with_call("f", 0, 10, process=0)
        .with_call("f", 0, 20, process=1)
        .with_call("g", 0, 60, process=1)
        .build()
    )

    table = host_calls(trace, HostCallOptions(scope=Scope.PROCESS)).table("calls")

    assert [row[:8] for row in table.rows] == [
        (0, 10, 3, "hip", "f", 1, 10, 100.0),
        (1, 11, None, "hip", "g", 1, 60, 75.0),
        (1, 11, None, "hip", "f", 1, 20, 25.0),
    ]


def test_no_calls_give_an_empty_table() -> None:
    assert host_calls(a_trace().build()).table("calls").rows == []


def test_calls_have_no_gpu() -> None:
    with pytest.raises(UsageError, match="not to GPUs"):
        host_calls(a_trace().build(), HostCallOptions(scope=Scope.GPU))
