"""Colours by kernel, process, phase, step and difference: what every command says of the ops."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import wavescope
from tests.builders import TraceMaker, a_trace
from tests.unit.view.test_view_categories import lane_of
from wavescope.analyze.compare import CompareOptions, Part, compare
from wavescope.analyze.phases import phases_of
from wavescope.errors import UsageError
from wavescope.model.op_kinds import OpKind
from wavescope.view.colouring import COLOURINGS, changes_of, colouring_of, colourings_for
from wavescope.view.opening import Loaded, StillReadingError, TraceView, loaded_view
from wavescope.view.rows import Row, RowKind


def view_of(maker: TraceMaker, number: int = 0) -> TraceView:
    """A trace that was read whole, with one row for each kind of range."""
    trace = maker.build()
    is_copy = np.isin(trace.op_kind, (OpKind.COPY, OpKind.FILL))
    queued, copied = np.flatnonzero(~is_copy).tolist(), np.flatnonzero(is_copy).tolist()
    rows = tuple(
        Row(row_id, kind, row_id, table=table, lanes=(lane_of(trace, table, chosen),))
        for row_id, kind, table, chosen in (
            ("queue/0/0", RowKind.QUEUE, "ops", queued),
            ("copies/0", RowKind.COPIES, "ops", copied),
            ("calls/1/7", RowKind.CALLS, "calls", list(range(len(trace.calls)))),
            ("markers/0/1", RowKind.MARKERS, "markers", list(range(len(trace.markers)))),
        )
    )
    return TraceView(number, "a", trace, Loaded(rows=rows, is_whole=True))


def shown(view: TraceView, by: str) -> dict[str, list[str]]:
    """By row the label of each range."""
    colouring = colouring_of(by)
    labels = colouring.labels(view)
    return {
        row.id: [labels[number] for number in colouring.classes(view, row, lane).tolist()]
        for row in view.loaded.rows
        for lane in row.lanes
    }


def test_kernels_with_most_time_are_classes_and_the_rest_is_one() -> None:
    maker = a_trace().with_copy(0, 1000).with_kernel("", 1000, 1900)
    for number in range(14):
        maker.with_kernel(f"k{number}", 2000 + 100 * number, 2000 + 100 * number + 50 + number)
    maker.with_kernel("k0", 5000, 5400).with_call("hipFree", 0, 10)
    view = view_of(maker)

    found = shown(view, "kernel")

    assert colouring_of("kernel").labels(view) == (
        "CopyHostToDevice", "(no name)", "k0",
        "k13", "k12", "k11", "k10", "k9", "k8", "k7", "k6", "k5",
        "other kernels", "host",
    )  # fmt: skip
    assert found["queue/0/0"][:3] == ["(no name)", "k0", "other kernels"]
    assert found["queue/0/0"][-2:] == ["k13", "k0"]
    assert found["copies/0"] == ["CopyHostToDevice"]
    assert found["calls/1/7"] == ["host"]


def test_instances_of_one_template_are_one_kernel() -> None:
    long = "void at::native::elementwise_kernel<128, {}, add>(int)"
    maker = a_trace().with_kernel(long.format(4), 0, 10).with_kernel(long.format(8), 10, 20)
    labels = set(shown(view_of(maker), "kernel")["queue/0/0"])

    assert len(labels) == 1
    assert labels.isdisjoint({"other kernels", "host"})


def test_ops_have_the_colour_of_their_process_and_rows_of_the_host_theirs() -> None:
    view = view_of(
        a_trace()
        .with_process(11, id=0, rank=3)
        .with_process(12, id=1, name="serve")
        .with_process(11, id=2, rank=3)
        .with_kernel("a", 0, 1, process=1)
        .with_kernel("b", 1, 2, process=0)
        .with_kernel("c", 2, 3, process=-1)
        .with_copy(3, 4, process=2)
        .with_call("hipFree", 0, 1, process=1)
        .with_marker("m", 0, 1)
    )

    assert shown(view, "process") == {
        "queue/0/0": ["serve (pid 12)", "rank 3 process 11", "no known process"],
        "copies/0": ["rank 3 process 11 [2]"],
        "calls/1/7": ["serve (pid 12)"],
        "markers/0/1": ["rank 3 process 11"],
    }


def test_many_processes_share_the_last_colour() -> None:
    maker = a_trace()
    for number in range(30):
        maker.with_process(100 + number, id=number, rank=number)
        maker.with_kernel("a", number, number + 1, process=number)
    found = shown(view_of(maker), "process")["queue/0/0"]

    assert found[21] == "rank 21 process 121"
    assert set(found[22:]) == {"other processes"}


def marked_steps(lengths: list[int]) -> TraceMaker:
    """A step for each length, with a prefill and a decode kernel in ranges of their own."""
    maker, at = a_trace().with_process(1, id=0), 0
    for number, length in enumerate(lengths, 1):
        maker.with_marker(f"step {number}", at, at + length)
        maker.with_marker("prefill", at, at + length // 2)
        maker.with_marker("decode", at + length // 2, at + length)
        for start in (at, at + length // 2):
            maker.with_kernel("gemm", start, start + length // 2, thread=1, marker=-1)
        at += length
    return maker.with_kernel("late", at + 10, at + 20)


def test_phases_are_those_of_every_command() -> None:
    view = view_of(marked_steps([10, 20]))
    phases = phases_of(view.trace)
    expected = [phases.labels[code] if code >= 0 else phases.outside_label for code in phases.codes]

    assert shown(view, "phase")["queue/0/0"] == expected
    assert set(expected) > {"(outside any range)"}


def test_without_phases_there_is_one_class() -> None:
    assert shown(view_of(a_trace().with_kernel("a", 0, 1)), "phase")["queue/0/0"] == [
        "no phases are known"
    ]


def test_steps_take_turns() -> None:
    view = view_of(marked_steps([10, 20, 10]))

    assert shown(view, "step")["queue/0/0"] == [
        "odd steps", "odd steps", "even steps", "even steps", "odd steps", "odd steps",
        "outside any step",
    ]  # fmt: skip
    assert set(shown(view, "step")["markers/0/1"]) == {"host"}


def test_steps_of_every_queue_are_odd_and_even_by_their_numbers_there() -> None:
    maker, number_of_steps = a_trace(), {0: 21, 1: 20}
    for gpu, count in number_of_steps.items():
        for step in range(count):
            for place, name in enumerate(("gemm", "softmax", "gemm", "rms_norm", "topk_select")):
                start = 1_000_000 * step + 10_000 * place
                maker.with_kernel(name, start, start + 9_000, gpu=gpu)
    view = loaded_view(maker.build())

    found = {gpu: shown(view, "step")[f"queue/{gpu}/0"][::5] for gpu in number_of_steps}

    turns = ["odd steps", "even steps"] * 11
    assert found == {0: turns[:21], 1: turns[:20]}
    told = wavescope.steps(view.trace).table("steps").records()
    assert [(row["gpu"], row["step"]) for row in told] == [
        (gpu, step) for gpu, count in number_of_steps.items() for step in range(1, count + 1)
    ]


def pair() -> tuple[TraceView, TraceView]:
    base = (
        a_trace()
        .with_kernel("alike", 0, 100)
        .with_kernel("worse", 100, 200)
        .with_kernel("better", 200, 300)
        .with_kernel("gone", 300, 400)
        .with_copy(400, 500)
    )
    new = (
        a_trace()
        .with_kernel("alike", 0, 105)
        .with_kernel("worse", 110, 216)
        .with_kernel("better", 220, 314)
        .with_op("fresh_one", 320, 420)
        .with_op("fresh_one", 420, 520)
        .with_copy(600, 650)
        .with_call("hipFree", 0, 1)
    )
    views = view_of(base, 0), view_of(new, 1)
    views[0].compared_with, views[1].compared_with = views[1], views[0]
    return views


def test_kernels_are_coloured_by_how_their_mean_differs() -> None:
    base, new = pair()

    assert shown(new, "difference") == {
        "queue/0/0": ["same", "slower", "faster", "only here", "only here"],
        "copies/0": ["faster"],
        "calls/1/7": ["host"],
        "markers/0/1": [],
    }
    assert shown(base, "difference")["queue/0/0"] == ["same", "faster", "slower", "only here"]
    assert shown(base, "difference")["copies/0"] == ["slower"]


def test_differences_are_those_of_the_command_compare() -> None:
    base, new = pair()
    table = compare([base.trace, new.trace], CompareOptions((Part.KERNEL,))).table("kernels")

    assert changes_of(base).table.records() == table.records()
    assert changes_of(new) is changes_of(base)


def test_a_renamed_kernel_is_not_only_here() -> None:
    def steps(name: str) -> TraceMaker:
        maker = a_trace()
        for at in range(0, 4000, 100):
            maker.with_kernel("before", at, at + 20, grid_x=64)
            maker.with_kernel(name, at + 20, at + 60, grid_x=640)
            maker.with_kernel("after", at + 60, at + 90, grid_x=64)
        return maker

    views = view_of(steps("sgemm_v1_nt"), 0), view_of(steps("sgemm_v2_nt"), 1)
    views[0].compared_with, views[1].compared_with = views[1], views[0]

    assert set(shown(views[0], "difference")["queue/0/0"]) == {"same"}
    assert set(shown(views[1], "difference")["queue/0/0"]) == {"same"}


def test_both_traces_may_be_asked_at_the_same_time() -> None:
    for _ in range(5):
        views = pair()
        found: list[tuple[str, ...]] = []

        def ask(view: TraceView, found: list[tuple[str, ...]] = found) -> None:
            found.append(tuple(shown(view, "difference")["queue/0/0"]))

        threads = [threading.Thread(target=ask, args=(view,), daemon=True) for view in views]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=60)
        assert len(found) == 2


def test_differences_need_another_trace() -> None:
    view = view_of(a_trace().with_kernel("a", 0, 1))
    with pytest.raises(UsageError, match="no other trace"):
        colouring_of("difference").labels(view)

    assert [each.id for each in colourings_for(view)] == list(COLOURINGS)[:-1]
    assert [each.id for each in colourings_for(pair()[0])] == list(COLOURINGS)


@pytest.mark.parametrize("by", ["kernel", "phase", "step", "process", "difference"])
def test_what_needs_the_whole_trace_says_so_while_it_is_read(by: str) -> None:
    views = pair()
    views[1].loaded = Loaded(rows=views[1].loaded.rows, is_whole=False)
    row = views[1].loaded.rows[0]

    with pytest.raises(StillReadingError, match="still being read"):
        colouring_of(by).labels(views[1])
    with pytest.raises(StillReadingError, match="still being read"):
        colouring_of(by).classes(views[1], row, row.lanes[0])


def test_sampled_traces_are_not_told_apart_kernel_by_kernel() -> None:
    sampled = a_trace().with_kernel("a", 0, 10).with_slice(0, 20)
    views = loaded_view(sampled.build()), view_of(a_trace().with_kernel("a", 0, 10), 1)
    views[0].compared_with, views[1].compared_with = views[1], views[0]

    with pytest.raises(UsageError, match="sampled traces"):
        colouring_of("difference").labels(views[0])
    for view in views:
        assert "difference" not in [each.id for each in colourings_for(view)]
