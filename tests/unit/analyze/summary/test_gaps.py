from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import a_trace, random_ops
from wavescope.analyze.ops.gaps import Gap, GapBin, gpu_gaps, largest_gaps
from wavescope.analyze.ops.gpu_timelines import gpu_timelines
from wavescope.analyze.ops.utilization import gpu_utilizations
from wavescope.analyze.summary import GapOptions
from wavescope.analyze.summary.busy_time import gaps
from wavescope.model.columns import OPS

US, MS = 1_000, 1_000_000
SMALL_NS = GapOptions().small_ns


def test_gaps_are_counted_and_added_up_by_decade() -> None:
    trace = (
        a_trace()
        .with_kernel("a", 0, 100)
        .with_kernel("b", 1_099, 2_000)
        .with_kernel("c", 3_000, 4_000)
        .with_kernel("d", 13_999, 20_000)
        .with_kernel("e", 30_000, 40_000)
        .with_kernel("f", 5 * MS, 6 * MS)
        .build()
    )

    (gpu,) = gpu_gaps(gpu_timelines(trace), SMALL_NS)

    assert (gpu.gap_count, gpu.longest_ns) == (5, 4_960_000)
    assert gpu.total_ns == 999 + 1_000 + 9_999 + 10_000 + 4_960_000
    assert (gpu.small_count, gpu.small_total_ns) == (3, 999 + 1_000 + 9_999)
    assert [row for row in gpu.bins if row.gap_count] == [
        GapBin(0, US, 1, 999),
        GapBin(US, 10 * US, 2, 10_999),
        GapBin(10 * US, 100 * US, 1, 10_000),
        GapBin(MS, 10 * MS, 1, 4_960_000),
    ]
    assert gpu.bins[-1] == GapBin(1_000 * MS, None, 0, 0)


def test_only_time_without_any_queue_running_is_a_gap() -> None:
    trace = (
        a_trace()
        .with_kernel("a", 0, 10)
        .with_kernel("b", 20, 30)
        .with_kernel("long", 5, 22, queue=1)
        .with_kernel("late", 30, 35, queue=1)
        .with_kernel("last", 40, 50)
        .with_kernel("elsewhere", 35, 40, gpu=1)
        .build()
    )

    first, second = gpu_gaps(gpu_timelines(trace), SMALL_NS)

    assert (first.gap_count, first.total_ns) == (1, 5)
    assert (second.gap_count, second.total_ns, second.longest_ns) == (0, 0, 0)


def test_the_largest_gaps_name_the_ops_around_them() -> None:
    trace = (
        a_trace()
        .with_kernel("void vllm::late<float, 8>(float*, int)", 500, 600)
        .with_kernel("first", 0, 100)
        .with_copy(110, 200, queue=5)
        .with_kernel("same end", 150, 200)
        .with_kernel("other", 1_000, 1_300, gpu=1)
        .with_kernel("another", 1_600, 1_700, gpu=1)
        .build()
    )

    largest = largest_gaps(trace, gpu_timelines(trace), 2)

    assert largest == [Gap(0, 200, 500, before=2, after=0), Gap(1, 1_300, 1_600, before=4, after=5)]
    table = gaps(trace, GapOptions(largest=2)).table("largest_gaps")
    assert table.rows == [
        (0, 200, 500, 300, "CopyHostToDevice", "vllm::late"),
        (1, 1_300, 1_600, 300, "other", "another"),
    ]
    assert table.total_rows == 3


@pytest.mark.parametrize("count", [0, -1])
def test_no_largest_gaps_when_none_are_wanted(count: int) -> None:
    trace = a_trace().with_kernel("a", 0, 1).with_kernel("b", 5, 6).build()

    assert gaps(trace, GapOptions(largest=count)).table("largest_gaps").rows == []


def test_equal_gaps_are_listed_in_order_of_time() -> None:
    maker = a_trace()
    for start in range(0, 1_000, 10):
        maker.with_kernel("a", start, start + 4)
    trace = maker.build()

    assert [gap.start_ns for gap in largest_gaps(trace, gpu_timelines(trace), 3)] == [4, 14, 24]


def test_the_largest_of_very_many_gaps() -> None:
    lengths = np.random.default_rng(2).integers(1, 500, 5_000)
    lengths[[40, 41, 4_000]] = 700
    starts = np.concatenate(([0], np.cumsum(lengths + 10)))
    maker = a_trace()
    maker.builder.add(
        OPS, {"gpu": starts * 0, "queue": starts * 0, "start_ns": starts, "end_ns": starts + 10}
    )
    trace = maker.build()
    timelines = gpu_timelines(trace)

    for count in (1, 2, 3, 4, 5, 6, 100, 9_000):
        positions = np.lexsort((np.arange(5_000), -lengths))[:count]
        expected = [(int(starts[i]) + 10, int(lengths[i])) for i in positions]
        found = largest_gaps(trace, timelines, count)
        assert [(gap.start_ns, gap.duration_ns) for gap in found] == expected


def test_an_op_without_duration_ends_a_gap() -> None:
    trace = a_trace().with_kernel("a", 0, 10).with_kernel("b", 15, 15).with_kernel("c", 20, 30)

    (gpu,) = gpu_gaps(gpu_timelines(trace.build()), SMALL_NS)

    assert (gpu.gap_count, gpu.total_ns) == (2, 10)


def test_barriers_do_not_fill_gaps() -> None:
    trace = a_trace().with_kernel("a", 0, 10).with_op("", 10, 20, type="Barrier")

    result = gaps(trace.with_kernel("b", 20, 30).build())

    assert result.table("largest_gaps").column("duration_ns") == [10]
    assert result.table("largest_gaps").column("after") == ["b"]


def test_tables_of_a_trace_without_ops_are_empty() -> None:
    result = gaps(a_trace().build())

    assert [len(table.rows) for table in result.tables] == [0, 0, 0]
    assert result.findings == []


def test_tables_carry_the_numbers() -> None:
    trace = a_trace().with_kernel("a", 0, 10).with_kernel("b", 20, 30).with_kernel("c", 60, 100)

    result = gaps(trace.build())

    assert result.table("gaps").rows == [(0, 2, 40, 20.0, 30, 2, 40, 40.0)]
    assert result.table("gap_histogram").rows == [(0, 0, 1_000, 2, 40, 100.0)]


def test_much_time_in_small_gaps_becomes_a_finding() -> None:
    maker = a_trace()
    for index in range(10):
        maker.with_kernel("a", index * 10 * US, index * 10 * US + 5 * US)

    (finding,) = gaps(maker.build()).findings

    assert finding.id == "small-gaps"
    assert finding.title == "GPU 0 lost 47.4 % of its span in gaps under 10.00 us"
    assert finding.evidence == "9 gaps, together 45.00 us"


def test_gaps_add_up_to_the_idle_time() -> None:
    timelines = gpu_timelines(random_ops(5_000, queues=1).build())

    for gap, gpu in zip(gpu_gaps(timelines, SMALL_NS), gpu_utilizations(timelines), strict=True):
        assert gap.total_ns == gpu.time.idle_ns
        assert sum(row.total_ns for row in gap.bins) == gap.total_ns
        assert sum(row.gap_count for row in gap.bins) == gap.gap_count > 0


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(1, 6)), min_size=1, max_size=10),
    st.integers(1, 4),
)
def test_gaps_agree_with_a_bitmap(rows: list[tuple[int, int]], count: int) -> None:
    maker, covered = a_trace(), np.zeros(50, bool)
    for start, length in rows:
        maker.with_kernel("a", start, start + length)
        covered[start : start + length] = True
    trace = maker.build()
    busy = np.flatnonzero(covered)
    steps = np.diff(busy)
    expected = sorted((1 - int(steps[i]), int(busy[i]) + 1) for i in np.flatnonzero(steps > 1))

    largest = largest_gaps(trace, gpu_timelines(trace), count)

    assert [(-gap.duration_ns, gap.start_ns) for gap in largest] == expected[:count]
    for gap in largest:
        assert trace.ops["end_ns"][gap.before] == gap.start_ns
        assert trace.ops["start_ns"][gap.after] == gap.end_ns
