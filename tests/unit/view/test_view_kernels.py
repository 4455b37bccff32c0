"""Kernels of the page: the table of the command, histograms, and instances one by one."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import wavescope
from tests.builders import TraceMaker, a_trace
from wavescope.analyze.page import duration_histograms
from wavescope.errors import UsageError
from wavescope.view.answers import Asked
from wavescope.view.answers import kernels as kernel_answers
from wavescope.view.answers.kernels import MARK_BINS, kernel, kernels
from wavescope.view.opening import Loaded, StillReadingError, TraceView, loaded_view

FIRST_NS = 6_000_000_000_000_000_000
GEMM = "void gemm<float, 4>(float*)"


def three_kernels() -> TraceMaker:
    """Instances of a kernel that last 7, 3 and 9 ns, a copy, a barrier, another kernel."""
    return (
        a_trace()
        .with_kernel(GEMM, FIRST_NS + 100, FIRST_NS + 107)
        .with_kernel(GEMM, FIRST_NS, FIRST_NS + 3, queue=2)
        .with_kernel("void gemm<float, 4>(double*)", FIRST_NS + 990, FIRST_NS + 999, gpu=1)
        .with_kernel("add", FIRST_NS + 200, FIRST_NS + 264)
        .with_copy(FIRST_NS + 300, FIRST_NS + 310, gpu=1)
        .with_op("wait", FIRST_NS + 400, FIRST_NS + 500, type="Barrier")
        .with_marker("to the end", FIRST_NS, FIRST_NS + 1_000)
    )


def asked(view: TraceView, **parameters: str) -> dict[str, Any]:
    question = kernel if "name" in parameters else kernels
    found: dict[str, Any] = json.loads(question(Asked([view], parameters)).body)
    return found


def test_the_table_is_that_of_the_summary_with_histograms() -> None:
    trace = three_kernels().build()
    document = asked(loaded_view(trace))

    options = wavescope.KernelSummaryOptions(ops=wavescope.OpChoice.ALL)
    told = wavescope.summary(trace, wavescope.SummaryOptions(options)).table("kernels")
    (table,) = document["tables"]
    assert [tuple(row) for row in table["rows"]] == list(told.rows)
    histograms = document["histograms"]
    assert histograms["names"] == told.column("name")
    assert [sum(counts) for counts in histograms["counts"]] == told.column("calls")
    gemm = histograms["counts"][histograms["names"].index("gemm")]
    edges = histograms["edges_ns"]
    assert len(edges) == len(gemm) + 1
    found = [edges[place] for place, count in enumerate(gemm) if count]
    assert [low <= value for low, value in zip(found, (3, 7, 9), strict=True)] == [True] * 3


def test_instances_come_in_order_of_time_or_length() -> None:
    view = loaded_view(three_kernels().build())

    first = asked(view, name="gemm")
    longest = asked(view, name="gemm", order="longest")

    assert first["rows"] == [1, 0, 2]
    assert first["start"] == [0, 100, 990]
    assert first["duration"] == [3, 7, 9]
    assert first["rowId"] == ["queue/0/2", "queue/0/0", "queue/1/0"]
    assert (first["total"], first["total_ns"]) == (3, 19)
    assert longest["rows"] == [2, 0, 1]
    assert longest["duration"] == [9, 7, 3]
    marks = [(place, count) for place, count in enumerate(first["bins"]) if count]
    assert marks == [(0, 1), (MARK_BINS // 10, 1), (MARK_BINS * 99 // 100, 1)]
    expected = duration_histograms(*_one_group([3, 7, 9]), 1)
    assert first["histogram"]["counts"] == expected.counts.tolist()


def _one_group(durations: list[int]) -> tuple[Any, Any]:
    return np.zeros(len(durations), np.int64), np.array(durations)


def test_names_are_known_by_the_codes_that_lanes_have() -> None:
    trace = three_kernels().build()
    view = loaded_view(trace)
    of_row = {row.id: row for row in view.loaded.rows}

    gemm, copy = asked(view, name="gemm"), asked(view, name="CopyHostToDevice")

    assert {trace.strings[code] for code in gemm["codes"]} == {
        GEMM,
        "void gemm<float, 4>(double*)",
    }
    (lane,) = of_row["copies/1"].lanes
    assert copy["codes"] == lane.names.tolist()
    assert copy["rowId"] == ["copies/1"]


def test_more_instances_come_in_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_answers, "MOST_INSTANCES", 2)
    view = loaded_view(three_kernels().build())

    assert asked(view, name="gemm")["rows"] == [1, 0]
    rest = asked(view, name="gemm", **{"from": "2"})
    assert (rest["rows"], rest["from"], rest["total"]) == ([2], 2, 3)


def test_sampled_traces_list_what_the_table_counts() -> None:
    sampled = three_kernels().with_slice(FIRST_NS, FIRST_NS + 150).build()
    view = loaded_view(sampled)

    assert asked(view, name="gemm")["rows"] == [1, 0]
    assert "estimates" in asked(view)["tables"][0]["title"]


def test_what_cannot_be_answered_is_refused() -> None:
    view = loaded_view(three_kernels().build())

    with pytest.raises(UsageError, match="no such kernel"):
        asked(view, name="nobody")
    with pytest.raises(UsageError, match="first or longest"):
        asked(view, name="add", order="worst")
    with pytest.raises(UsageError, match="from 0 on"):
        asked(view, name="add", **{"from": "-1"})
    with pytest.raises(StillReadingError):
        asked(TraceView(0, "a", three_kernels().build(), Loaded()))


def test_a_trace_of_nothing_has_an_empty_table() -> None:
    document = asked(loaded_view(a_trace().build()))

    assert document["tables"][0]["rows"] == []
    assert document["histograms"]["counts"] == []
