"""Phases and steps of a sampled trace: what markers tell, estimated; nothing by structure."""

from __future__ import annotations

import pytest

from tests.builders import TraceMaker, a_trace
from wavescope.analyze.findings import findings
from wavescope.analyze.phases import PhaseOptions, PhaseSource, phases_of, phases_result
from wavescope.analyze.steps import StepOptions, sampled_steps_result, steps_of
from wavescope.model.selection import Selection, select


def marked(lost: int = 0) -> TraceMaker:
    """Six slices; prefill takes 30 ns of each, decode 10; a decode graph runs between them."""
    maker = a_trace().with_process(10, start_ns=0, end_ns=6_000)
    for number in range(6):
        at = 1_000 * number
        maker.with_slice(at, at + 100)
        maker.with_marker("prefill", at, at + 40).with_marker("decode", at + 40, at + 900)
        maker.with_marker(f"step {number}", at, at + 900 + number)
        maker.with_kernel("gemm", at, at + 30).with_kernel("flash_fwd_kernel", at + 50, at + 60)
        maker.with_op("graph 7", at + 200, at + 800, type="GraphExecution", graph=7)
    skipped = 108 - lost
    maker.with_coverage(120, 12, skipped=skipped, lost=lost, process=0, reason="outside the slices")
    return maker


def test_phases_are_estimated_and_graph_runs_told_beside_them() -> None:
    result = phases_result(marked().build())

    prefill, decode = result.table("phase_estimates").records()
    assert (prefill["phase"], prefill["percent"]) == ("prefill", pytest.approx(75.0))
    assert (prefill["estimated_total_ns"], prefill["estimated_total_low_ns"]) == (1_800, 1_800)
    assert (prefill["calls"], prefill["graph_runs"]) == (6, 0)
    assert (decode["phase"], decode["total_ns"], decode["estimated_calls"]) == ("decode", 60, 60)
    assert (decode["graph_runs"], decode["graph_run_ns"]) == (6, 3_600)
    paths = {row["path"]: row["gpu_time_ns"] for row in result.table("phases").records()}
    assert (paths["step * > prefill"], paths["step * > decode"]) == (180, 60)
    assert [finding.id for finding in result.findings] == ["sampled", "phases-unknown"]


def test_structure_is_not_asked() -> None:
    maker = marked()

    phases = phases_of(maker.build(), use_markers=False)

    assert (phases.source, phases.found) == (PhaseSource.NONE, None)
    result = phases_result(maker.build(), PhaseOptions(use_markers=False))
    assert [row["phase"] for row in result.table("phase_estimates").records()] == ["unclassified"]


def repeated() -> TraceMaker:
    """60 alike passes of a language model without markers."""
    maker, at = a_trace().with_process(10), 0
    for _ in range(60):
        for name in ("embedding_kernel", *("gemm", "flash_fwd_kernel", "rms_norm") * 4, "argmax"):
            maker.with_kernel(name, at, at + 1_000)
            at += 1_100
    return maker


def test_neither_steps_nor_phases_are_found_in_what_repeats() -> None:
    whole, sampled = repeated().build(), repeated().with_slice(0, 10**9).build()

    assert (len(steps_of(whole)), len(steps_of(sampled))) == (60, 0)
    assert phases_of(whole).found is not None
    assert phases_of(sampled).found is None


def test_steps_are_marked_ranges_and_nothing_else() -> None:
    trace = marked().build()

    result = sampled_steps_result(trace, StepOptions())

    (row,) = result.table("marked_steps").records()
    assert (row["process"], row["steps"]) == (0, 6)
    assert (row["median_ns"], row["p95_ns"], row["longest_ns"]) == (902, 905, 905)
    assert row["mean_ns"] == pytest.approx(902.5)
    assert sampled_steps_result(trace, StepOptions("^no such")).facts["step_count"] == 0
    assert len(steps_of(trace, StepOptions(use_markers=False))) == 0


def test_findings_say_what_was_not_looked_for_and_promise_nothing() -> None:
    told = findings(marked().build())

    assert told[0].id == "sampled"
    assert "launch-bound" in told[0].evidence and "gpu-idle" in told[0].evidence
    assert {finding.id for finding in told} <= {"sampled", "dominant-work"}
    assert all(finding.gain_percent is None for finding in told)


def test_kernels_that_are_missing_for_another_reason_are_told() -> None:
    assert "low-coverage" in {finding.id for finding in findings(marked(lost=40).build())}
    assert "low-coverage" not in {finding.id for finding in findings(marked().build())}


def test_a_selected_phase_is_of_its_own_time() -> None:
    part = select(marked().build(), Selection(marker="prefill"))

    result = phases_result(part)

    assert result.facts["slice_total_ns"] == 240
    (row,) = result.table("phase_estimates").records()
    # launches were counted for the whole run only
    assert (row["total_ns"], row["percent"], row["estimated_total_ns"]) == (180, 100.0, None)
