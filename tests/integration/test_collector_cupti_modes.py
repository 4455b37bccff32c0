"""CUDA recordings of only a part of what runs: slices, windows, chosen kernels; and what commands make of them."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.played_cuda import PlayedCuda
from tests.played_runs import (
    CLOCK_ERROR_NS,
    WAVESCOPE,
    coverage_of,
    kernel_differences,
    names_and_counts,
    run_collected,
    run_traced,
    traced_kernels,
)
from wavescope.model.op_kinds import OpKind


def test_lite_records_slices(played: PlayedCuda, tmp_path: Path) -> None:
    run = run_collected(
        played, tmp_path, "for", 1200, mode="lite", WAVESCOPE_SLICE_MS="20",
        WAVESCOPE_SLICE_PERIOD_MS="100",
    )  # fmt: skip

    assert (run.code, run.out, run.err, run.complaints) == (3, "done for\n", "", "")
    with run.trace() as trace:
        slices = trace.slices.to_pandas()
        assert (slices["end_ns"] > slices["start_ns"]).any()
        starts = np.sort([row["start_ns"] for row in traced_kernels(trace)])
        ran = np.sort([op.start_ns for op in run.kernels])
        assert 0 < len(starts) < len(ran)
        for start_ns, end_ns in zip(slices["start_ns"], slices["end_ns"], strict=True):
            inside = ran[(ran >= start_ns + CLOCK_ERROR_NS) & (ran < end_ns - CLOCK_ERROR_NS)]
            nearest = np.abs(starts[:, None] - inside[None, :]).min(axis=0, initial=1 << 60)
            assert (nearest <= CLOCK_ERROR_NS).all()
        coverage = coverage_of(trace)
        skipped = sum(coverage["skipped"].values())
        assert (coverage["seen"], coverage["timed"]) == (len(ran), len(starts))
        assert skipped == len(ran) - len(starts)
        assert coverage["lost"] == {}
        assert all(reason.startswith("outside the slices") for reason in coverage["skipped"])


def test_lite_without_slices_has_kernels_and_runs_of_graphs(
    played: PlayedCuda, tmp_path: Path
) -> None:
    run = run_collected(played, tmp_path, "for", 100, mode="lite", WAVESCOPE_SLICE_MS="0")

    assert (run.code, run.out, run.err, run.complaints) == (3, "done for\n", "", "")
    with run.trace() as trace:
        assert len(trace.slices) == 0
        own = [op for op in run.kernels if op.graph == 0]
        assert kernel_differences(own, traced_kernels(trace)) == []
        whole = trace.ops.to_pandas()[trace.op_kind == OpKind.GRAPH_RUN]
        real = sorted((op.start_ns, op.end_ns, op.graph) for op in run.ops if op.kind == "graph")
        told = sorted(zip(whole["start_ns"], whole["end_ns"], whole["graph"], strict=True))
        assert len(told) == len(real)
        assert np.abs(np.array(told) - np.array(real)).max() <= CLOCK_ERROR_NS
        assert {row[2] for row in told} == {row[2] for row in real}
        coverage = coverage_of(trace)
        assert (coverage["seen"], coverage["timed"]) == (len(run.kernels), len(own))
        assert sum(coverage["skipped"].values()) == len(run.kernels) - len(own)
        assert coverage["lost"] == {}


def test_cupti_that_cannot_have_slices_records_without(played: PlayedCuda, tmp_path: Path) -> None:
    run = run_collected(played, tmp_path, "for", 600, mode="lite", version="12")

    assert (run.code, run.out, run.err, run.complaints) == (3, "done for\n", "", "")
    with run.trace() as trace:
        assert len(trace.slices) == 0
        assert list(trace.notes.sentences()) == [
            "recorded without slices: CUPTI before 13.0 may end a program whose records go on again"
        ]
        own = [op for op in run.kernels if op.graph == 0]
        assert kernel_differences(own, traced_kernels(trace)) == []
        assert int((trace.op_kind == OpKind.GRAPH_RUN).sum()) == sum(
            op.kind == "graph" for op in run.ops
        )


def test_full_has_synchronizations_and_allocations(played: PlayedCuda, tmp_path: Path) -> None:
    run = run_collected(played, tmp_path, "copies", 3, mode="full")

    assert (run.code, run.complaints) == (3, "")
    with run.trace() as trace:
        assert len(trace.ops) == len(run.ops)
        calls = trace.calls.to_pandas()
        assert calls["name"].tolist().count("cudaStreamSynchronize") == 3
        assert calls["name"].tolist().count("cudaMalloc") == 1
        assert calls["name"].tolist().count("cudaFree") == 1
        (allocation,) = calls[calls["name"] == "cudaMalloc"]["args"]
        assert "1048576" in allocation


def test_a_duration_ends_recording_but_not_the_program(played: PlayedCuda, tmp_path: Path) -> None:
    run = run_traced(played, tmp_path, "for", 900, options=["-q", "--duration", "0.2"])

    assert (run.code, run.out, run.err, run.complaints) == (3, "done for\n", "", "")
    with run.trace() as trace:
        kernels = traced_kernels(trace)
        assert 0 < len(kernels) < len(run.kernels)
        first = run.kernels[0].start_ns
        assert max(row["start_ns"] for row in kernels) < run.kernels[-1].start_ns
        assert min(row["start_ns"] for row in kernels) == pytest.approx(first, abs=CLOCK_ERROR_NS)
        assert coverage_of(trace)["lost"] == {}


def test_only_chosen_kernels_are_kept(played: PlayedCuda, tmp_path: Path) -> None:
    run = run_traced(played, tmp_path, "steps", 10, options=["-q", "--kernel", "gemm"])

    with run.trace() as trace:
        gemms = [op for op in run.kernels if "gemm" in op.name]
        assert kernel_differences(gemms, traced_kernels(trace)) == []
        assert coverage_of(trace)["timed"] + sum(coverage_of(trace)["skipped"].values()) == 40


def test_only_the_last_part_is_kept(played: PlayedCuda, tmp_path: Path) -> None:
    # The end of a process takes its time on a busy machine, and counts.
    run = run_traced(played, tmp_path, "for", 3000, options=["-q", "--last", "2s"])

    assert (run.code, run.out, run.err, run.complaints) == (3, "done for\n", "", "")
    with run.trace() as trace:
        kept = traced_kernels(trace)
        last = sorted(run.kernels, key=lambda op: op.start_ns)[-len(kept) :]
        assert 0 < len(kept) < len(run.kernels)
        assert kernel_differences(last, kept) == []


@pytest.mark.parametrize("mode", ["standard", "hip"])
def test_only_the_newest_records_are_kept(mode: str, played: PlayedCuda, tmp_path: Path) -> None:
    options = ["-q", "--mode", mode, "--max-size", "300k"]
    run = run_traced(played, tmp_path, "for", 3000, options=options)

    assert (run.code, run.out, run.err, run.complaints) == (3, "done for\n", "", "")
    with run.trace() as trace:
        kept = traced_kernels(trace)
        assert 0 < len(kept) < len(run.kernels)
        streams = Counter((int(row["gpu"]), int(row["stream"])) for row in kept)
        last = []  # CUPTI hands out the records of each stream in order, streams as it likes
        for stream, count in streams.items():
            ran = [op for op in run.kernels if (op.gpu, op.stream) == stream]
            last += sorted(ran, key=lambda op: op.start_ns)[-count:]
        assert kernel_differences(last, kept) == []
        reason = "older than the newest records, which are all that --max-size keeps"
        assert coverage_of(trace) == {
            "seen": len(run.kernels),
            "timed": len(kept),
            "skipped": {reason: len(run.kernels) - len(kept)},
            "lost": {},
        }
        sentences = [sentence for sentence in trace.notes.sentences() if reason in sentence]
        assert any("calls" in sentence for sentence in sentences) == (mode == "hip")


def test_commands_work_on_the_trace(played: PlayedCuda, tmp_path: Path) -> None:
    run = run_traced(played, tmp_path, "steps", 12, options=["-q"])

    summary = result_of(tmp_path, "summary")
    assert summary["facts"]["coverage"] == "48 of 48 dispatches timed (100.0 %)"
    calls = {row["name"]: row["calls"] for row in rows_of(summary, "kernels")}
    assert calls == {"softmax": 24, "gemm": 12, "add": 12}
    phases = result_of(tmp_path, "phases")
    (step,) = rows_of(phases, "phases")
    assert (step["path"], step["occurrences"], step["op_count"]) == ("step", 12, 60)
    said(tmp_path, "report", "trace.db", "-o", "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    for name in names_and_counts(run.kernels):
        assert name.partition("(")[0] in page
    assert "NVIDIA H200 (played)" in page


def result_of(folder: Path, command: str) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(said(folder, command, "trace.db", "--json"))
    return result


def rows_of(result: dict[str, Any], name: str) -> list[dict[str, Any]]:
    (table,) = (table for table in result["tables"] if table["name"] == name)
    names = [column["name"] for column in table["columns"]]
    return [
        row if isinstance(row, dict) else dict(zip(names, row, strict=True))
        for row in table["rows"]
    ]


def said(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [*WAVESCOPE, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
