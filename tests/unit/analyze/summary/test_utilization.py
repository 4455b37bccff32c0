from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import a_trace, random_ops
from wavescope.analyze.ops.gpu_timelines import gpu_timelines
from wavescope.analyze.ops.utilization import GpuUtilization, gpu_utilizations
from wavescope.analyze.summary import utilization
from wavescope.analyze.summary.busy_time import UtilizationOptions
from wavescope.model.trace import Trace

ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"
WIDTH = 30


def measured(trace: Trace) -> list[GpuUtilization]:
    return gpu_utilizations(gpu_timelines(trace), concurrency=True)


def test_every_number_of_a_worked_example() -> None:
    trace = (
        a_trace()
        .with_kernel("gemm", 1000, 1040)
        .with_kernel("add", 1060, 1080)
        .with_kernel(ALL_REDUCE, 1030, 1070, queue=1)
        .with_copy(1035, 1045, queue=2)
        .with_copy(1065, 1100, queue=2)
        .build()
    )

    (gpu,) = measured(trace)

    assert gpu.gpu == 0
    assert gpu.time.op_count == 5
    assert (gpu.time.start_ns, gpu.time.end_ns, gpu.time.span_ns) == (1000, 1100, 100)
    assert (gpu.time.busy_ns, gpu.time.idle_ns, gpu.time.busy_percent) == (100, 0, 100.0)
    assert gpu.time.duration_sum_ns == 40 + 20 + 40 + 10 + 35
    assert gpu.time.mean_concurrency == 1.45
    assert (gpu.compute_ns, gpu.communication_ns, gpu.copy_ns) == (60, 40, 45)
    assert gpu.exposed_communication_ns == 20
    assert gpu.exposed_copy_ns == 20
    assert gpu.overlapped_communication_ns == 20
    assert gpu.overlap_percent == 50.0
    assert gpu.depth_ns == (0, 65, 25, 10)
    assert [(q.queue, q.time.op_count, q.time.busy_ns, q.time.idle_ns) for q in gpu.queues] == [
        (0, 2, 60, 20),
        (1, 1, 40, 0),
        (2, 2, 45, 20),
    ]


def test_overlapping_ops_of_one_queue_are_counted_once() -> None:
    (gpu,) = measured(a_trace().with_kernel("a", 0, 10).with_kernel("b", 5, 20).build())

    assert gpu.time.busy_ns == gpu.queues[0].time.busy_ns == 20
    assert gpu.time.duration_sum_ns == 25


def test_gpus_are_measured_apart_each_within_its_own_span() -> None:
    trace = (
        a_trace()
        .with_kernel("a", 0, 10, gpu=3, queue=70)
        .with_kernel("a", 100, 130, gpu=1, queue=70)
        .with_kernel("b", 150, 160, gpu=1, queue=2**40)
        .with_kernel("c", 90, 100, gpu=3, queue=2**40)
        .build()
    )

    first, second = measured(trace)

    assert (first.gpu, first.time.busy_ns, first.time.span_ns) == (1, 40, 60)
    assert (second.gpu, second.time.busy_ns, second.time.span_ns) == (3, 20, 100)
    assert [queue.queue for queue in first.queues] == [70, 2**40]
    facts = utilization(trace).facts
    assert facts["gpu_count"] == 2
    assert facts["queue_count"] == 4
    assert facts["gpu_span_ns"] == 160
    assert facts["gpu_busy_ns"] == 60
    assert facts["gpu_busy_percent"] == 100 * 60 / 320
    assert facts["busy_percent"] == 100 * 60 / 160
    assert facts["gpus_in_use_percent"] == 100 * 160 / 320


def test_without_communication_there_is_no_overlap_percent() -> None:
    (gpu,) = gpu_utilizations(gpu_timelines(a_trace().with_kernel("a", 0, 10).build()))

    assert gpu.depth_ns == ()
    assert gpu.overlap_percent is None
    assert gpu.communication_ns == gpu.exposed_communication_ns == gpu.copy_ns == 0


def test_fills_are_compute_and_barriers_are_no_work() -> None:
    trace = (
        a_trace()
        .with_op("", 0, 10, type="FillMemory")
        .with_op("", 10, 500, type="Barrier", queue=9)
        .with_kernel("a", 20, 30)
        .build()
    )

    (gpu,) = measured(trace)

    assert (gpu.compute_ns, gpu.time.busy_ns, gpu.time.span_ns) == (20, 20, 30)
    assert [queue.queue for queue in gpu.queues] == [0]
    assert gpu_timelines(trace)[0].op_count == 2
    assert utilization(trace).facts["barrier_count"] == 1


def test_a_trace_without_ops() -> None:
    result = utilization(a_trace().with_marker("m", 0, 5).build())

    assert result.table("gpus").rows == []
    assert result.facts == {"gpu_count": 0, "barrier_count": 0}
    assert result.findings == []


def test_a_trace_of_one_instant_has_no_percentages() -> None:
    result = utilization(a_trace().with_kernel("a", 5, 5).build())

    (row,) = result.table("gpus").records()
    assert (row["op_count"], row["span_ns"], row["busy_ns"], row["idle_ns"]) == (1, 0, 0, 0)
    assert row["busy_percent"] is None
    assert row["mean_concurrency"] is None


def test_times_at_the_ends_of_int64_stay_exact() -> None:
    lowest, highest = -(2**63), 2**63 - 1
    trace = a_trace().with_kernel("a", lowest, highest).with_kernel("b", lowest, highest).build()

    (gpu,) = measured(trace)

    assert gpu.time.span_ns == gpu.time.busy_ns == 2**64 - 1
    assert gpu.time.duration_sum_ns == 2**65 - 2
    assert gpu.depth_ns == (0, 0, 2**64 - 1)


def test_tables_carry_the_numbers() -> None:
    trace = a_trace().with_kernel("a", 0, 10).with_kernel("b", 30, 40, queue=4).build()

    result = utilization(trace, UtilizationOptions(concurrency=True))

    (row,) = result.table("gpus").records()
    assert row["queue_count"] == 2
    assert row["busy_percent"] == 50.0
    assert row["idle_ns"] == 20
    assert result.table("queues").column("gpu_span_percent") == [25.0, 25.0]
    assert result.table("concurrency").rows == [(0, 0, 20, 50.0), (0, 1, 20, 50.0)]
    assert [table.name for table in utilization(trace).tables] == ["gpus", "queues"]


def test_idle_time_of_unknown_cause_promises_no_gain() -> None:
    maker = a_trace()
    for index in range(40):
        maker.with_kernel("a", 100 * index, 100 * index + 10)

    (idle,) = utilization(maker.build()).findings

    assert idle.numbers["idle_percent"] == pytest.approx(100 * 3_510 / 3_910)
    assert (idle.gain_percent, idle.gain_basis) == (None, "")


def test_idle_and_exposed_communication_become_findings() -> None:
    trace = (
        a_trace().with_kernel("a", 0, 50).with_kernel(ALL_REDUCE, 50, 70).with_kernel("b", 95, 100)
    ).build()

    idle, exposed = utilization(trace).findings

    assert (idle.id, idle.where) == ("gpu-idle", "gpu 0")
    assert idle.title == "GPU 0 was idle for 25.0 % of its span"
    assert exposed.id == "exposed-communication"
    assert exposed.evidence == "20 ns of 20 ns communication was not hidden (0.0 % overlapped)"
    assert utilization(a_trace().with_kernel("a", 0, 50).build()).findings == []


def test_hundreds_of_gpus_and_queues_keep_their_ops() -> None:
    maker = a_trace()
    for index in range(300):
        maker.with_kernel("a", index, index + 2, gpu=index, queue=index * 31)

    gpus = measured(maker.build())

    assert [gpu.gpu for gpu in gpus] == list(range(300))
    assert [gpu.queues[0].queue for gpu in gpus] == [index * 31 for index in range(300)]
    assert all(gpu.time.busy_ns == 2 for gpu in gpus)


def test_the_split_adds_up_on_many_ops() -> None:
    for gpu in measured(random_ops(20_000).build()):
        parts = gpu.compute_ns + gpu.exposed_communication_ns + gpu.exposed_copy_ns
        assert parts + gpu.time.idle_ns == gpu.time.span_ns
        assert sum(gpu.depth_ns) == gpu.time.span_ns
        assert sum(d * t for d, t in enumerate(gpu.depth_ns)) == gpu.time.duration_sum_ns
        assert sum(queue.time.op_count for queue in gpu.queues) == gpu.time.op_count


ops = st.lists(
    st.tuples(
        st.integers(0, WIDTH),
        st.integers(0, 8),
        st.sampled_from(["a", ALL_REDUCE, ""]),
        st.integers(0, 1),
    ),
    min_size=1,
    max_size=12,
)


@given(ops)
def test_the_split_agrees_with_bitmaps(rows: list[tuple[int, int, str, int]]) -> None:
    maker = a_trace()
    bitmaps = np.zeros((2, 3, WIDTH + 9), bool)
    for start, length, name, gpu in rows:
        if name:
            maker.with_kernel(name, start, start + length, gpu=gpu)
        else:
            maker.with_copy(start, start + length, gpu=gpu)
        bitmaps[gpu, ["a", ALL_REDUCE, ""].index(name), start : start + length] = True

    for gpu in measured(maker.build()):
        compute, communication, copies = bitmaps[gpu.gpu]
        assert gpu.time.busy_ns == (compute | communication | copies).sum()
        assert gpu.compute_ns == compute.sum()
        assert gpu.communication_ns == communication.sum()
        assert gpu.copy_ns == copies.sum()
        assert gpu.exposed_communication_ns == (communication & ~compute).sum()
        assert gpu.exposed_copy_ns == (copies & ~compute & ~communication).sum()
        assert gpu.overlapped_communication_ns == (communication & compute).sum()
