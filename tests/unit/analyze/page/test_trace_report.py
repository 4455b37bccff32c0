"""What the report of one trace holds: phases, hot kernels, shares, histograms, names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.builders import TraceMaker, a_trace
from tests.sample_files import rich_trace
from wavescope.analyze.findings import findings
from wavescope.analyze.page import ReportOptions, TraceReport, report_of
from wavescope.analyze.page.time_shares import OUTSIDE, REST
from wavescope.analyze.summary import summarize
from wavescope.arrays.groups import grouped_rows


def report(maker: TraceMaker) -> TraceReport:
    return report_of(maker.build())


def marked() -> TraceMaker:
    """Two requests: a GEMM of 60 in prefill, attention and a collective in numbered decode steps."""
    maker = a_trace()
    for request in (0, 1):
        at = 1_000 * request
        maker.with_marker(f"request {request}", at, at + 900)
        maker.with_marker("prefill", at + 10, at + 200)
        maker.with_marker("decode 0", at + 300, at + 400).with_marker(
            "decode 1", at + 400, at + 500
        )
        maker.with_kernel("Cijk_Alik_Bljk_BBS_BH_MT64x64x256_MI16", at + 20, at + 80)
        for step in (300, 400):
            maker.with_kernel("paged_attention_ll4mi_QKV_mfma16_kernel", at + step, at + step + 30)
            maker.with_kernel("ncclDevKernel_AllReduce", at + step + 40, at + step + 50)
    return maker.with_kernel("after", 5_000, 5_010)


def test_phases_are_the_outermost_markers_that_differ() -> None:
    phases = report(marked()).phases

    assert [phase.phase for phase in phases] == ["prefill", "decode", OUTSIDE]
    prefill, decode, outside = phases
    assert (decode.op_count, decode.compute_ns, decode.communication_ns) == (8, 120, 40)
    assert (prefill.op_count, prefill.compute_ns, prefill.communication_ns) == (2, 120, 0)
    assert (outside.op_count, outside.compute_ns) == (1, 10)


def test_hot_kernels_are_shares_of_compute_without_collectives() -> None:
    prefill, decode, _ = report(marked()).phases

    assert decode.kernels.records()[0] | {"note": ""} == {
        "rank": 1,
        "name": "paged_attention (ll4mi_QKV_mfma16)",
        "calls": 4,
        "mean_ns": 30.0,
        "compute_percent": 100.0,
        "note": "",
    }
    assert prefill.kernels.column("note") == ["hipBLASLt GEMM, tile 64x64x256"]


def test_time_is_shared_out_by_category_phase_and_gpu() -> None:
    found = report(marked().with_kernel("other", 5_000, 5_040, gpu=3))

    labels = found.timeline.colourings[0].labels
    assert labels == ("GEMM", "attention", "communication", "other")
    assert [(row.label, row.times_ns) for row in found.category_shares] == [
        ("all", (120, 120, 40, 50)),
        ("prefill", (120, 0, 0, 0)),
        ("decode", (0, 120, 40, 0)),
        (OUTSIDE, (0, 0, 0, 50)),
        ("GPU 0", (120, 120, 40, 10)),
        ("GPU 3", (0, 0, 0, 40)),
    ]


def test_a_trace_without_ops_has_phases_without_time() -> None:
    found = report(a_trace().with_marker("prefill", 0, 10).with_marker("decode", 10, 20))

    assert [(row.label, row.times_ns) for row in found.category_shares] == [("all", ())]
    assert found.phases == []


def test_times_that_add_up_to_more_than_64_bits_are_exact() -> None:
    longest = 2**63 - 1
    maker = a_trace()
    for gpu in range(3):
        maker.with_kernel("k", 0, longest, gpu=gpu)

    found = report(maker)

    assert [(row.label, row.times_ns) for row in found.category_shares][:2] == [
        ("all", (3 * longest,)),
        ("GPU 0", (longest,)),
    ]
    assert [phase.compute_ns for phase in found.phases] == [3 * longest]


def test_many_markers_are_put_together() -> None:
    maker = a_trace()
    for number, name in enumerate("abcdefgh"):
        maker.with_marker(name, 100 * number, 100 * number + 90)
        maker.with_kernel("k", 100 * number, 100 * number + 10 + number)

    assert [phase.phase for phase in report(maker).phases] == ["c", "d", "e", "f", "g", "h", REST]


def test_without_markers_or_attention_all_ops_are_one_phase() -> None:
    found = report(a_trace().with_kernel("k", 0, 10))

    assert [phase.phase for phase in found.phases] == ["all ops"]
    assert [colouring.name for colouring in found.timeline.colourings] == ["category"]


def test_decode_steps_without_markers_are_told_by_their_kernels() -> None:
    maker = a_trace()
    for step in range(40):
        at = 10_000 * step
        maker.with_kernel("paged_attention_ll4mi_QKV_mfma16_kernel", at, at + 2_000)
        maker.with_kernel("Cijk_Alik_Bljk_BBS_BH_MT16x16x256_MI16", at + 2_000, at + 4_000)
        maker.with_kernel("sample_tokens_kernel", at + 4_000, at + 4_500)

    found = report(maker)

    assert [phase.phase for phase in found.phases] == ["decode"]
    assert found.timeline.colourings[1].title == "Phase (inferred)"


def test_histograms_follow_the_table_of_kernels() -> None:
    maker = a_trace().with_kernel("long", 0, 5_000).with_kernel("short", 6_000, 6_100)
    maker.with_kernel("short", 7_000, 7_900).with_copy(8_000, 8_001)

    durations = report(maker).durations

    assert durations.names == ["long", "short", "CopyHostToDevice"]
    assert durations.histograms.counts.sum(axis=1).tolist() == [1, 2, 1]


def test_only_so_many_histograms_are_kept() -> None:
    maker = a_trace().with_kernel("long", 0, 5_000).with_kernel("short", 6_000, 6_100)

    durations = report_of(maker.build(), ReportOptions(histograms=1)).durations

    assert durations.names == ["long"]
    assert durations.histograms.counts.sum(axis=1).tolist() == [1]


def test_single_ops_are_named() -> None:
    found = report(a_trace().with_kernel("b", 10, 20).with_kernel("a", 0, 5))

    names = [found.op_names.names[index] for index in found.op_names.of_op.tolist()]
    assert names == ["a", "b"]
    assert np.array_equal(found.timeline.ops.start_ns, [0, 10])


def test_the_tables_are_those_of_the_summary() -> None:
    found = report(rich_trace())

    names = [table.name for table in found.summary.tables]
    assert names[:6] == ["kernels", "categories", "gpus", "queues", "gaps", "gap_histogram"]
    assert names == [table.name for table in summarize(rich_trace().build()).tables]
    assert {"copies", "calls", "launch_gpus", "coverage"} <= set(names)
    assert found.summary.facts["gpu_count"] == 2


def test_timelines_are_made_once_for_all_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    groupings: list[int] = []

    def counted(*arguments: Any) -> Any:
        groupings.append(1)
        return grouped_rows(*arguments)

    monkeypatch.setattr("wavescope.analyze.ops.gpu_timelines.grouped_rows", counted)
    trace = rich_trace().build()

    report_of(trace)
    summarize(trace)
    findings(trace)

    assert len(groupings) == 1
