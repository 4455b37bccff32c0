"""Copies: exact values, unknown sizes stated."""

from __future__ import annotations

from tests.builders import TraceMaker, a_trace
from wavescope.analyze.summary import Scope
from wavescope.analyze.summary.copies import CopyOptions, copies
from wavescope.model.columns import COPIES

D2H = "CopyDeviceToHost"


def test_directions_with_bytes_and_rates() -> None:
    trace = (
        a_trace()
        .with_copy(0, 100, size_bytes=1_000)
        .with_copy(100, 400, size_bytes=5_000)
        .with_copy(400, 500)
        .with_copy(0, 50, type=D2H, size_bytes=100, gpu=1)
        .with_kernel("gemm", 0, 1_000)
        .build()
    )

    result = copies(trace)

    assert result.table("copies").records() == [
        {
            "direction": "CopyHostToDevice",
            "count": 3,
            "time_ns": 500,
            "bytes": 6_000,
            "rate_gb_per_s": 15.0,
            "unknown_size_count": 1,
            "median_bytes": 1_000,
            "median_ns": 100,
            "max_ns": 300,
        },
        {
            "direction": D2H,
            "count": 1,
            "time_ns": 50,
            "bytes": 100,
            "rate_gb_per_s": 2.0,
            "unknown_size_count": 0,
            "median_bytes": 100,
            "median_ns": 50,
            "max_ns": 50,
        },
    ]
    assert result.facts == {"copy_count": 4, "unknown_size_count": 1, "copy_kernel_count": 0}


def test_unknown_sizes_give_no_rate() -> None:
    (row,) = copies(a_trace().with_copy(0, 100).build()).table("copies").records()

    assert (row["bytes"], row["rate_gb_per_s"], row["unknown_size_count"]) == (None, None, 1)


def test_no_time_gives_no_rate() -> None:
    (row,) = copies(a_trace().with_copy(5, 5, size_bytes=8).build()).table("copies").records()

    assert (row["bytes"], row["rate_gb_per_s"]) == (8, None)


def test_each_gpu_on_request() -> None:
    trace = (
        a_trace()
        .with_copy(0, 100, gpu=1)
        .with_copy(0, 10, gpu=0)
        .with_copy(0, 20, gpu=0, type=D2H)
        .build()
    )

    table = copies(trace, CopyOptions(scope=Scope.GPU)).table("copies")

    assert [row[:4] for row in table.rows] == [
        (0, D2H, 1, 20),
        (0, "CopyHostToDevice", 1, 10),
        (1, "CopyHostToDevice", 1, 100),
    ]


def test_the_largest_copies_come_first_and_unknown_ones_last() -> None:
    trace = (
        a_trace()
        .with_copy(0, 10, size_bytes=100)
        .with_copy(20, 40)
        .with_copy(50, 90, size_bytes=800, queue=3, gpu=2)
        .with_copy(100, 200)
        .build()
    )

    table = copies(trace, CopyOptions(largest=3)).table("largest_copies")

    assert table.rows == [
        (3, "CopyHostToDevice", 2, 3, 50, 40, 800, 20.0),
        (1, "CopyHostToDevice", 0, 0, 0, 10, 100, 10.0),
        (4, "CopyHostToDevice", 0, 0, 100, 100, None, None),
    ]
    assert table.total_rows == 4


def launch(maker: TraceMaker, call: int, size_bytes: int) -> TraceMaker:
    maker.builder.add_row(COPIES, call=call, size_bytes=size_bytes)
    return maker


def test_a_size_unknown_to_the_op_is_taken_from_its_call() -> None:
    maker = (
        a_trace()
        .with_call("hipMemcpy", 0, 5)
        .with_call("hipMemcpy", 5, 9)
        .with_call("hipMemcpy", 9, 12)
        .with_copy(10, 20)
        .with_copy(30, 40, size_bytes=7)
        .with_copy(50, 60)
        .with_link(1, 1)
        .with_link(2, 2)
    )
    trace = launch(launch(maker, call=2, size_bytes=999), call=1, size_bytes=640).build()

    result = copies(trace)

    assert [row[6] for row in result.table("largest_copies").rows] == [640, 7, None]
    assert result.facts["unknown_size_count"] == 1


def test_copies_made_by_kernels_are_counted_apart() -> None:
    trace = (
        a_trace()
        .with_kernel("__amd_rocclr_copyBuffer", 0, 10)
        .with_kernel("__amd_rocclr_copyBufferAligned.kd", 10, 20)
        .with_kernel("gemm", 20, 30)
        .build()
    )

    result = copies(trace)

    assert result.facts == {"copy_count": 0, "unknown_size_count": 0, "copy_kernel_count": 2}
    assert result.table("copies").rows == []


def test_an_empty_trace() -> None:
    assert [table.rows for table in copies(a_trace().build()).tables] == [[], []]
