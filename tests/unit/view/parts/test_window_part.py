"""A window read from the file says what the same window of the whole trace says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import wavescope
from tests.builders import TraceMaker, a_trace
from tests.sampled_runs import simulated_run
from wavescope.formats import exporter_for, open_trace, write_source
from wavescope.model.result import Result
from wavescope.model.selection import Selection, trace_span
from wavescope.model.source import TraceSource
from wavescope.render.results.json_text import json_bytes
from wavescope.view.answers.ranges import range_result
from wavescope.view.opening import Loaded, TraceView
from wavescope.view.parts import stored_table

FIRST = 1_000


@pytest.fixture(autouse=True)
def small_zones(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Few rows to a zone, so that a small trace has many."""
    monkeypatch.setattr(stored_table, "ZONE_ROWS", 3)
    return


def random_trace(seed: int, *, operators: bool = True) -> TraceMaker:
    """Ops of two GPUs with launches some time before them, inside operators that may overlap."""
    rng = np.random.default_rng(seed)
    maker = a_trace().with_process(7, rank=0).with_process(8, rank=1)
    count = int(rng.integers(1, 40))
    starts = FIRST + np.sort(rng.integers(0, 1_000, count))
    names = ("gemm", "add", "ncclDevKernel_AllReduce_Sum", "softmax")
    for index, start in enumerate(starts.tolist()):
        gpu = int(rng.integers(0, 2))
        kind = {0: "CopyHostToDevice", 1: "Barrier"}.get(int(rng.integers(0, 8)), "KernelExecution")
        maker.with_op(
            names[int(rng.integers(0, len(names)))],
            start,
            start + int(rng.choice((0, 5, 30, 200))),
            gpu=gpu,
            queue=int(rng.integers(0, 2)),
            type=kind,
            process=gpu,
            size_bytes=int(rng.integers(1, 99)) if kind != "KernelExecution" else -1,
        )
        launch = start - int(rng.choice((1, 20, 300)))
        maker.with_call("hipLaunchKernel", launch, launch + 3, process=gpu, thread=gpu + 1)
        if rng.random() < 0.8:
            maker.with_link(index + 1, index + 1)
    for _ in range(int(rng.integers(0, 30))):
        start = FIRST - 300 + int(rng.integers(0, 1_300))
        length = int(rng.choice((4, 40, 400, 1_500)))
        thread = int(rng.integers(0, 2))
        if operators:
            name, category = f"aten::op{rng.integers(0, 4)}", "cpu_op"
        else:
            name, category = "hipStreamSynchronize", "hip"
        maker.with_call(
            name, start, start + length, process=thread, thread=thread + 1, category=category
        )
    for number in range(int(rng.integers(0, 6))):
        start = FIRST + int(rng.integers(0, 1_000))
        maker.with_marker(("prefill", "decode", "step")[number % 3], start, start + 150)
    return maker


def reference(trace: wavescope.Trace, start_ns: int, end_ns: int) -> list[bytes]:
    """The tables that commands give for the window of the whole trace."""
    where = Selection(start=str(start_ns), end=str(end_ns))
    summary = wavescope.summary(trace, selection=where)
    phases = wavescope.phases(trace, selection=where)
    idle = wavescope.findings_result(trace, selection=where).table("idle")
    tables = [*summary.tables]
    if summary.facts["op_count"]:
        named = ("phases", "phase_kernels", "phase_segments")
        tables += [table for table in phases.tables if table.name in named]
        tables.append(idle)
    return _documents(Result("Summary", tables, facts=summary.facts))


def asked(source: TraceSource, first_ns: int, start_ns: int, end_ns: int) -> list[bytes]:
    view = TraceView(0, "a", wavescope.Trace(source), Loaded(first_ns=first_ns, is_whole=True))
    return _documents(range_result(view, start_ns, end_ns))


def _documents(result: Result) -> list[bytes]:
    """Tables and facts; phases may have points in time where the summary has none."""
    document = result.to_json()
    document["facts"].pop("first_timestamp_ns", None)
    return [json_bytes(document["tables"]), json_bytes(document["facts"])]


@pytest.mark.parametrize("seed", range(60))
def test_any_window_of_any_trace_is_as_selected_from_the_whole(seed: int) -> None:
    maker = random_trace(seed, operators=seed % 3 > 0)
    rng = np.random.default_rng(seed + 1_000)
    start = FIRST + int(rng.integers(-400, 900))
    end = start + int(rng.choice((1, 30, 200, 2_000)))
    first_ns = trace_span(maker.build())[0]

    found = asked(maker.builder, first_ns, start, end)

    assert found == reference(maker.build(), start, end)


def same_as_selected(maker: TraceMaker, start: int, end: int) -> bool:
    first_ns = trace_span(maker.build())[0]
    return asked(maker.builder, first_ns, start, end) == reference(maker.build(), start, end)


def test_what_hides_an_enclosing_call_by_overlapping_it_counts() -> None:
    """The launch lies in b, which began inside of a without ending there: neither is outermost."""
    maker = a_trace().with_process(1)
    maker.with_call("aten::first", 0, 5, category="cpu_op")
    maker.with_call("aten::a", 40, 55, category="cpu_op")
    maker.with_call("aten::b", 50, 120, category="cpu_op")
    maker.with_call("hipLaunchKernel", 100, 105)
    maker.with_kernel("gemm", 300, 400).with_link(4, 1)
    for number in range(20):
        maker.with_call("hipGetDevice", 500 + number, 501 + number)

    assert same_as_selected(maker, 200, 350)
    assert b"(outside any operator)" in reference(maker.build(), 200, 350)[0]


def test_replays_get_the_operators_of_a_capture_before_the_window() -> None:
    maker = a_trace().with_process(1)
    runtime = {"category": "cuda_runtime"}
    maker.with_call("hipStreamBeginCapture", 0, 1, **runtime)
    for at, operator, kernel in ((10, "aten::mm", "gemm"), (20, "aten::relu", "relu")):
        maker.with_call(operator, at, at + 9, category="cpu_op")
        given = f'{{"kernel": "{kernel}"}}'
        maker.with_call("hipLaunchKernel", at + 2, at + 3, args=given, **runtime)
    maker.with_call("hipStreamEndCapture", 30, 31, **runtime)
    maker.with_call("hipGraphLaunch", 1_000, 1_001, **runtime)
    maker.with_kernel("gemm", 1_010, 1_017).with_kernel("relu", 1_020, 1_027)
    maker.with_link(7, 1).with_link(7, 2)

    assert same_as_selected(maker, 900, 2_000)
    assert b"aten::mm" in reference(maker.build(), 900, 2_000)[0]


def test_slices_of_a_sampled_trace_stand_for_all_of_it() -> None:
    maker = simulated_run(3, blocks=30).maker
    first_ns, end_ns = trace_span(maker.build())
    third = (end_ns - first_ns) // 3
    for start in range(first_ns, end_ns, third // 4):
        maker.with_op("graph 7", start, start + third // 9, type="GraphExecution")

    assert same_as_selected(maker, first_ns + third, first_ns + 2 * third)


def test_a_file_says_the_same_as_memory(tmp_path: Path) -> None:
    maker = random_trace(11)
    target = tmp_path / "trace.db"
    write_source(maker.builder, target, exporter_for(target), inputs=[])
    first_ns = trace_span(maker.build())[0]

    with open_trace(target) as trace:
        found = asked(trace.source, first_ns, FIRST + 200, FIRST + 600)

        assert found == reference(trace, FIRST + 200, FIRST + 600)
