"""The timeline of a report: strips, single ops, markers."""

from __future__ import annotations

import numpy as np

from tests.builders import TraceMaker, a_trace, random_ops
from wavescope.analyze.ops.gpu_timelines import gpu_timelines
from wavescope.analyze.timeline import Colouring, Timeline, TimelineOptions, shares, timeline
from wavescope.analyze.timeline.strips import MarkerLane
from wavescope.model.columns import QUEUES
from wavescope.model.trace import Trace


def by_name(trace: Trace) -> Colouring:
    names, of_op = np.unique(trace.ops["name"], return_inverse=True)
    labels = [trace.strings[code] for code in names.tolist()]
    return Colouring.of_used("name", "Name", labels, of_op)


def timeline_of(maker: TraceMaker, options: TimelineOptions | None = None) -> Timeline:
    trace = maker.build()
    return timeline(trace, gpu_timelines(trace), [by_name(trace)], options)


def test_a_gpu_with_one_queue_is_one_strip() -> None:
    drawn = timeline_of(a_trace().with_kernel("gemm", 1000, 1010).with_kernel("add", 1015, 1020))

    assert [(s.gpu, s.queue, s.op_count, s.busy_ns) for s in drawn.strips] == [(0, None, 2, 15)]
    assert drawn.grid.origin_ns == 1000
    assert drawn.span_ns == 20
    labels = drawn.colourings[0].labels
    times = dict(zip(labels, drawn.strips[0].times[0].sum(axis=1), strict=True))
    assert times == {"gemm": 10, "add": 5}


def test_queues_have_strips_of_their_own_below_their_gpu() -> None:
    maker = a_trace().with_kernel("gemm", 0, 10, queue=1).with_kernel("add", 4, 8, queue=7)

    drawn = timeline_of(maker.with_kernel("gemm", 0, 4, gpu=2))

    assert [(s.gpu, s.queue, s.busy_ns) for s in drawn.strips] == [
        (0, None, 10),
        (0, 1, 10),
        (0, 7, 4),
        (2, None, 4),
    ]


def test_queues_are_called_by_their_names() -> None:
    maker = a_trace().with_kernel("gemm", 0, 10, queue=1).with_kernel("add", 4, 8, queue=7)
    maker.builder.add_row(QUEUES, gpu=0, queue=7, name="copies to the host")

    assert [strip.name for strip in timeline_of(maker).strips] == ["", "", "copies to the host"]


def test_where_ops_overlap_the_busy_time_is_divided() -> None:
    drawn = timeline_of(a_trace().with_kernel("a", 0, 64, queue=0).with_kernel("b", 0, 64, queue=1))

    assert drawn.strips[0].times[0].sum(axis=1).tolist() == [32, 32]
    assert drawn.strips[1].times[0].sum(axis=1).tolist() == [64, 0]


def test_shares_are_percents_and_nothing_vanishes() -> None:
    drawn = timeline_of(
        a_trace().with_kernel("a", 0, 1).with_kernel("b", 512, 1024),
        TimelineOptions(bins_of_a_strip=2),
    )
    assert drawn.grid.bin_ns == 512

    assert shares(drawn.strips[0].times[0], drawn.grid).tolist() == [[1, 0], [0, 100]]


def test_all_ops_are_kept_when_there_is_room_ordered_by_strip_and_start() -> None:
    maker = a_trace().with_kernel("late", 50, 60).with_kernel("early", 0, 5)

    ops = timeline_of(maker.with_kernel("other", 10, 12, gpu=1)).ops

    assert ops.strip.tolist() == [0, 0, 1]
    assert ops.start_ns.tolist() == [0, 50, 10]
    assert ops.duration_ns.tolist() == [5, 10, 2]
    assert ops.left_out_count == 0


def test_only_the_longest_ops_are_kept_and_the_others_counted() -> None:
    maker = a_trace()
    for place, length in enumerate((5, 1, 9, 3, 5)):
        maker.with_kernel("k", 100 * place, 100 * place + length)

    ops = timeline_of(maker, TimelineOptions(ops=2)).ops

    # Two ops of 5 ns share the second place: neither is kept.
    assert ops.duration_ns.tolist() == [9]
    assert (ops.left_out_count, ops.longest_left_out_ns) == (4, 5)


def test_barriers_are_not_drawn() -> None:
    drawn = timeline_of(
        a_trace()
        .with_kernel("k", 0, 10)
        .with_op("", 0, 1000, type="Barrier")
        .with_kernel("k", 20, 30)
    )

    assert drawn.span_ns == 30
    assert drawn.strips[0].op_count == 2
    assert drawn.ops.duration_ns.tolist() == [10, 10]


def test_the_least_busy_queues_find_no_room() -> None:
    maker = a_trace()
    for queue in range(4):
        maker.with_kernel("k", 0, 10 * (queue + 1), queue=queue)

    drawn = timeline_of(maker, TimelineOptions(strips=3))

    assert [s.queue for s in drawn.strips] == [None, 2, 3]
    assert drawn.left_out_strips == 2
    # Ops of queues without a strip are drawn on their GPU's.
    assert drawn.ops.strip.tolist() == [0, 0, 1, 2]


def test_bins_hold_the_busy_time_of_every_strip() -> None:
    drawn = timeline_of(random_ops(3_000))

    for strip in drawn.strips:
        assert round(strip.times[0].sum()) == strip.busy_ns
    for strip in drawn.coarser().strips:
        assert round(strip.times[0].sum()) == strip.busy_ns


def test_markers_are_cut_to_the_ops_and_nested_by_thread() -> None:
    maker = a_trace().with_kernel("k", 100, 200)
    maker.with_marker("request", 0, 150).with_marker("decode", 120, 140)
    maker.with_marker("other", 110, 400, thread=5).with_marker("before", 0, 100)
    maker.with_marker("instant", 130, 130)

    markers = timeline_of(maker).markers

    assert markers.lanes == [MarkerLane(0, 1, 2), MarkerLane(0, 5, 1)]
    assert markers.lane.tolist() == [0, 0, 1]
    assert markers.depth.tolist() == [0, 1, 0]
    assert markers.start_ns.tolist() == [0, 20, 10]
    assert markers.duration_ns.tolist() == [50, 20, 90]
    assert markers.left_out_count == 0


def test_a_trace_without_ops() -> None:
    drawn = timeline_of(a_trace())

    assert drawn.strips == []
    assert drawn.span_ns == 1
