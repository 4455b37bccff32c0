"""Which rows a trace has: their tree, labels and order, and values over time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.builders import TraceMaker, a_trace, random_ops
from tests.view_ranges import expected_ops, shown_ranges
from wavescope.analyze.ops.coverage import recorded
from wavescope.analyze.ops.gpu_timelines import doubled_runs
from wavescope.formats import open_trace
from wavescope.model.columns import MONITORS, QUEUES, THREADS
from wavescope.model.op_kinds import OpKind
from wavescope.model.selection import trace_span
from wavescope.view.opening import loaded_view
from wavescope.view.rows import (
    HostPlace,
    OpPlace,
    Row,
    RowKind,
    op_row_id,
    place_of,
)


def rows_of(maker: TraceMaker) -> tuple[Row, ...]:
    return loaded_view(maker.build()).loaded.rows


def tree(rows: tuple[Row, ...]) -> list[tuple[str, str, str]]:
    return [(row.id, row.parent, row.label) for row in rows]


def test_gpus_come_first_with_queues_and_copies_then_processes_by_rank() -> None:
    maker = (
        a_trace()
        .with_process(70, rank=1, name="worker")
        .with_process(60, rank=0, name="worker")
        .with_kernel("b", 5, 9, gpu=1, queue=2)
        .with_kernel("a", 0, 4, gpu=0, queue=3)
        .with_kernel("a", 0, 4, gpu=0, queue=1)
        .with_copy(2, 3, gpu=0, queue=1)
        .with_call("launch", 0, 1, process=0, thread=7)
        .with_marker("step", 0, 9, process=0, thread=7)
        .with_call("launch", 0, 1, process=1, thread=6)
    )

    rows = rows_of(maker)

    assert tree(rows) == [
        ("gpu/0", "", "GPU 0"),
        ("queue/0/1", "gpu/0", "queue 1"),
        ("queue/0/3", "gpu/0", "queue 3"),
        ("copies/0", "gpu/0", "copies"),
        ("series/busy/0", "gpu/0", "busy"),
        ("gpu/1", "", "GPU 1"),
        ("queue/1/2", "gpu/1", "queue 2"),
        ("series/busy/1", "gpu/1", "busy"),
        ("process/1", "", "rank 0 worker (pid 60)"),
        ("calls/1/6", "process/1", "thread 6"),
        ("process/0", "", "rank 1 worker (pid 70)"),
        ("markers/0/7", "process/0", "thread 7 markers"),
        ("calls/0/7", "process/0", "thread 7"),
    ]
    assert [row.count for row in rows] == [3, 1, 1, 1, 0, 1, 1, 0, 0, 1, 0, 1, 1]
    assert rows[0].members == ("queue/0/1", "queue/0/3", "copies/0")
    assert rows[4].members == rows[0].members
    assert rows[4].unit == "%"
    assert {row.kind for row in rows} == set(RowKind)


@pytest.mark.parametrize(
    ("queue", "label"),
    [
        (99_999, "queue 99999"),
        (100_000, "queue …186a0"),
        (140_000_000_004_096, "queue …44d000"),
        (-1, "unknown queue"),
    ],
)
def test_queues_that_are_addresses_are_called_by_their_last_digits(queue: int, label: str) -> None:
    rows = rows_of(a_trace().with_kernel("a", 0, 1, queue=queue))

    assert rows[1].label == label


def test_names_of_queues_and_threads_come_from_their_tables() -> None:
    maker = a_trace().with_process(5).with_kernel("a", 0, 1, queue=9).with_call("c", 0, 1)
    maker.builder.add_row(QUEUES, gpu=0, queue=9, name="compute")
    maker.builder.add_row(THREADS, process=0, thread=1, name="dispatcher")

    labels = {row.id: row.label for row in rows_of(maker)}

    assert labels["queue/0/9"] == "compute"
    assert labels["calls/0/1"] == "dispatcher (1)"
    assert labels["process/0"] == "process 5"


def test_calls_of_a_process_that_is_not_listed_are_told_by_its_pid() -> None:
    maker = (
        a_trace().with_call("c", 0, 1, process=-1, pid=77).with_call("d", 0, 1, process=-1, pid=-1)
    )

    labels = {row.id: row.label for row in rows_of(maker)}

    assert labels["process/-79"] == "process 77"
    assert labels["process/-1"] == "unknown process"


def test_markers_of_an_unknown_thread_have_a_row() -> None:
    rows = rows_of(a_trace().with_process(9).with_marker("m", 0, 1, thread=-1))

    assert tree(rows) == [("process/0", "", "process 9"), ("markers/0/-1", "process/0", "markers")]


def test_barriers_are_on_no_row_and_ops_without_a_name_are_called_by_their_type() -> None:
    view = loaded_view(
        a_trace()
        .with_op("", 0, 5, type="Barrier")
        .with_op("", 5, 6, type="FillMemory")
        .with_op("", 6, 7)
        .with_kernel("gemm", 7, 9)
        .build()
    )

    assert shown_ranges(view, "ops") == [
        ("copies/0", 1, 5, 6, "FillMemory"),
        ("queue/0/0", 2, 6, 7, ""),
        ("queue/0/0", 3, 7, 9, "gemm"),
    ]
    assert view.loaded.first_ns == 0


def test_a_run_of_a_graph_is_shown_unless_its_kernels_are() -> None:
    run = {"type": "GraphExecution", "graph": 3}
    maker = (
        a_trace()
        .with_op("graph 3", 0, 10, **run)
        .with_kernel("a", 2, 4, graph=3, queue=1)
        .with_op("graph 3", 20, 30, **run)
        .with_kernel("a", 22, 24, graph=3, process=1, queue=1)
        .with_op("graph 4", 22, 30, type="GraphExecution", graph=4)
        .with_kernel("a", 30, 34, graph=4, queue=1)
        .with_op("graph", 40, 50, type="GraphExecution")
        .with_kernel("b", 41, 42, queue=1)
    )

    view = loaded_view(maker.build())

    doubled = doubled_runs(maker.build())
    assert doubled is not None
    expected = [each for each in expected_ops(maker.build()) if not doubled[each[1]]]
    assert shown_ranges(view, "ops") == expected
    assert [number for _, number, *_ in expected] == [1, 2, 3, 4, 5, 6, 7]


def test_rows_of_a_sampled_trace_say_what_was_recorded() -> None:
    maker = (
        a_trace()
        .with_kernel("a", 5, 8, process=0)
        .with_kernel("a", 105, 108, process=1)
        .with_kernel("b", 5, 8, gpu=1, process=2)
        .with_slice(0, 50, process=0)
        .with_slice(100, 150, process=0)
        .with_slice(40, 120, process=1)
    )

    rows = {row.id: row for row in rows_of(maker)}

    found = recorded(maker.build())
    assert found is not None
    window = found.window_of_gpu(0)
    assert window is not None
    for name in ("gpu/0", "queue/0/0"):
        slices = rows[name].recorded
        assert slices is not None
        assert slices.starts.tolist() == window.starts.tolist() == [40, 100]
        assert slices.ends.tolist() == window.ends.tolist() == [50, 120]
    assert rows["gpu/1"].recorded is None


def test_queue_depth_counts_from_launch_to_end_and_is_made_when_asked_for() -> None:
    maker = (
        a_trace()
        .with_call("launch", 0, 1)
        .with_call("launch", 2, 3)
        .with_kernel("a", 10, 20)
        .with_kernel("a", 20, 40)
        .with_kernel("unlinked", 30, 35, queue=1)
        .with_link(1, 1)
        .with_link(2, 2)
    )
    view = loaded_view(maker.build())

    assert tree(view.loaded.rows[:4]) == [
        ("gpu/0", "", "GPU 0"),
        ("queue/0/0", "gpu/0", "queue 0"),
        ("series/depth/0/0", "queue/0/0", "queue 0 depth"),
        ("queue/0/1", "gpu/0", "queue 1"),
    ]
    assert [row.is_folded for row in view.loaded.rows[:4]] == [False, True, False, True]
    depth = view.loaded.row_by_id["series/depth/0/0"].series
    other = view.loaded.row_by_id["series/depth/0/1"].series

    assert depth is not None
    assert other is not None
    assert depth.unit == "ops"
    assert depth.times.tolist() == [0, 2, 20, 40]
    assert depth.values.tolist() == [1.0, 2.0, 1.0, 0.0]
    assert other.times.tolist() == [30, 35]
    assert not any(view.trace.ops.has(name) for name in ("id", "start_ns"))


def test_of_several_links_of_an_op_the_first_counts_and_dangling_ones_do_not() -> None:
    maker = (
        a_trace()
        .with_call("first", 5, 6, id=10)
        .with_call("second", 7, 8, id=20)
        .with_kernel("a", 10, 20, id=30)
        .with_kernel("b", 10, 30, id=50)
        .with_link(20, 30)
        .with_link(10, 30)
        .with_link(11, 50)
        .with_link(10, 51)
    )

    depth = loaded_view(maker.build()).loaded.row_by_id["series/depth/0/0"].series

    assert depth is not None
    assert depth.times.tolist() == [7, 10, 20, 30]
    assert depth.values.tolist() == [1.0, 2.0, 1.0, 0.0]


def test_without_links_there_are_no_depths() -> None:
    rows = rows_of(a_trace().with_kernel("a", 0, 1).with_call("c", 0, 1))
    rows += rows_of(a_trace().with_kernel("a", 0, 1).with_link(1, 1))

    assert not any(row.id.startswith("series/depth") for row in rows)


def test_monitors_are_values_that_hold_until_their_end() -> None:
    maker = a_trace().with_kernel("a", 0, 100)
    for device, quantity, start, end, value in (
        (0, "sclk", 50, 60, "1,8"),
        (0, "sclk", 0, 10, "1300Mhz"),
        (0, "sclk", 10, 20, "1500Mhz"),
        (3, "a/b,c", 5, -1, "7.5"),
        (3, "a/b,c", 9, -1, "unknown"),
    ):
        maker.builder.add_row(
            MONITORS,
            device_type="gpu",
            device=device,
            quantity=quantity,
            start_ns=start,
            end_ns=end,
            value=value,
        )

    rows = {row.id: row for row in rows_of(maker)}

    clock = rows["series/sclk/gpu/0"]
    assert (clock.parent, clock.label, clock.unit) == ("gpu/0", "sclk", "Mhz")
    assert clock.series is not None
    assert clock.series.times.tolist() == [0, 10, 20, 50, 60]
    np.testing.assert_array_equal(clock.series.values, [1300, 1500, np.nan, 1, np.nan])
    odd = rows["series/a_b_c/gpu/3"]
    assert (odd.parent, odd.label) == ("", "a/b,c of gpu 3")
    assert odd.series is not None
    assert odd.series.times.tolist() == [5]
    assert odd.series.values.tolist() == [7.5]


def test_gpus_are_folded_where_there_are_many_queues() -> None:
    few, many = (random_ops(200, gpus=1, queues=count) for count in (24, 25))

    assert [row.is_folded for row in rows_of(few) if row.kind is RowKind.GPU] == [False]
    assert [row.is_folded for row in rows_of(many) if row.kind is RowKind.GPU] == [True]


def test_ids_tell_the_place() -> None:
    assert op_row_id(1, 2, OpKind.KERNEL) == "queue/1/2"
    assert op_row_id(1, 2, OpKind.FILL) == op_row_id(1, 7, OpKind.COPY) == "copies/1"
    assert op_row_id(1, 2, OpKind.BARRIER) == ""
    assert HostPlace(-2, 5, "calls").row_id == "calls/-2/5"
    assert place_of("queue/1/-2") == OpPlace(1, -2)
    assert place_of("copies/1") == OpPlace(1, None)
    assert place_of("markers/0/9") == HostPlace(0, 9, "markers")
    for other in ("gpu/1", "queue/1", "queue/1/x", "", "series/busy/0", "copies/1/2"):
        assert place_of(other) is None


@pytest.mark.parametrize(
    ("name", "gpus", "queues", "processes"),
    [("rtl/hip_4gpu.db", 4, 12, 0), ("llamacpp/llama_bench_q4_gfx90a.db", 1, 3, 1)],
)
def test_rows_of_real_traces(
    shared_data: Path, name: str, gpus: int, queues: int, processes: int
) -> None:
    path = shared_data / name
    if not path.is_file():
        pytest.skip(f"the real trace is not here: expected {name} in ../shared/data")
    with open_trace(path) as trace:
        view = loaded_view(trace)

        kinds = [row.kind for row in view.loaded.rows]
        counted = (RowKind.GPU, RowKind.QUEUE, RowKind.GROUP)
        assert [kinds.count(kind) for kind in counted] == [gpus, queues, processes]
        assert (view.loaded.first_ns, view.loaded.end_ns) == trace_span(trace)
        assert shown_ranges(view, "ops") == expected_ops(trace)
