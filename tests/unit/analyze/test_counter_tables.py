"""What counters of a trace counted, by kernel and by instance of a hardware block."""

from __future__ import annotations

from tests.builders import a_trace
from wavescope.analyze.counter_values import counter_tables


def test_counters_are_listed_by_kernel_the_longest_first() -> None:
    trace = (
        a_trace()
        .with_kernel("add", 0, 10)
        .with_kernel("gemm", 20, 90)
        .with_kernel("add", 100, 110)
        .with_kernel("not counted", 200, 900)
        .with_counter(1, "SQ_WAVES", 4)
        .with_counter(2, "SQ_WAVES", 64)
        .with_counter(2, "TCC_HIT_sum", 1000)
        .with_counter(3, "SQ_WAVES", 8)
        .build()
    )

    (table,) = counter_tables(trace)

    assert table.name == "counters"
    assert table.rows == [
        ("gemm", "SQ_WAVES", 1, 64, 64, 64, 64),
        ("gemm", "TCC_HIT_sum", 1, 1000, 1000, 1000, 1000),
        ("add", "SQ_WAVES", 2, 12, 6, 4, 8),
    ]


def test_instances_tell_how_even_they_are() -> None:
    trace = (
        a_trace()
        .with_kernel("gemm", 0, 10)
        .with_kernel("gemm", 20, 30)
        .with_counter(1, "TCC_HIT[0]", 10)
        .with_counter(1, "TCC_HIT[1]", 30)
        .with_counter(2, "TCC_HIT[0]", 10)
        .with_counter(2, "TCC_HIT[1]", 70)
        .with_counter(2, "TCC_MISS[0]", 5)
        .with_counter(2, "TCC_MISS[1]", 5)
        .with_counter(2, "SQ_WAVES", 64)
        .with_counter(2, "SQ_BUSY[0]", 0)
        .build()
    )

    instances, counters = counter_tables(trace)

    assert instances.name == "counter_instances"
    assert instances.rows == [
        ("gemm", "TCC_HIT", 2, 120, 60, 20, 100, 100 / 60, "TCC_HIT[1]"),
        ("gemm", "TCC_MISS", 2, 10, 5, 5, 5, 1, None),
        ("gemm", "SQ_BUSY", 1, 0, 0, 0, 0, None, None),
    ]
    assert counters.rows[0] == ("gemm", "TCC_HIT[0]", 2, 20, 10, 10, 10)


def test_a_trace_without_counters_has_an_empty_table() -> None:
    (table,) = counter_tables(a_trace().with_kernel("gemm", 0, 10).build())

    assert table.rows == []
