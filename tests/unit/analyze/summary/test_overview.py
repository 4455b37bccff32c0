"""What a trace holds, counted."""

from __future__ import annotations

from tests.builders import a_trace
from wavescope.analyze.contents import kernel_list, marker_list, overview
from wavescope.model.columns import KERNELS, MARKER_INSTANT, MARKER_UNCLOSED, QUEUES


def test_counts_span_and_lists() -> None:
    maker = (
        a_trace()
        .with_kernel("gemm", 100, 200, gpu=1, queue=7)
        .with_kernel("gemm", 300, 350, gpu=1, queue=7)
        .with_copy(50, 90, gpu=0)
        .with_op("", 90, 95, type="FillMemory", gpu=0)
        .with_marker("step", 40, 400)
        .with_call("hipLaunchKernel", 10, 20)
        .with_process(42, rank=3, name="server")
        .with_agent(1, chip="gfx942", cu_count=304)
        .with_metadata("command", "run")
    )
    maker.builder.add_row(QUEUES, gpu=1, queue=7, name="compute")
    maker.builder.notes.add("ops that ended before they started", 2)

    result = overview(maker.build())

    assert result.facts == {
        "span_ns": 390,
        "first_timestamp_ns": 10,
        "last_timestamp_ns": 400,
        "op_count": 4,
        "kernel_count": 2,
        "kernel_name_count": 1,
        "copy_count": 1,
        "fill_count": 1,
        "marker_count": 1,
        "call_count": 1,
    }
    assert [row[:3] for row in result.table("gpus").rows] == [(0, 2, None), (1, 2, "gfx942")]
    assert result.table("queues").rows == [(0, 0, None, 2), (1, 7, "compute", 2)]
    assert result.table("processes").rows == [(0, 42, 3, None, "server", None, None)]
    assert result.table("metadata").rows == [("command", "run")]
    assert result.table("notes").rows == [("ops that ended before they started", 2)]
    assert [row[:2] for row in result.table("tables").rows] == [
        ("ops", 4),
        ("markers", 1),
        ("calls", 1),
        ("processes", 1),
        ("agents", 1),
        ("queues", 1),
        ("metadata", 1),
    ]


def test_an_empty_trace_is_no_error() -> None:
    trace = a_trace().build()

    result = overview(trace)

    assert (result.facts["span_ns"], result.facts["op_count"], result.tables) == (0, 0, [])
    assert marker_list(trace).rows == []
    assert kernel_list(trace).rows == []


def test_markers_by_text_the_longest_first() -> None:
    trace = (
        a_trace()
        .with_marker("step", 0, 10)
        .with_marker("step", 20, 50)
        .with_marker("request", 0, 100, flags=MARKER_UNCLOSED)
        .with_marker("mark", 5, 5, flags=MARKER_INSTANT)
        .build()
    )

    assert marker_list(trace).rows == [
        ("request", 1, 100, 100.0, 100, 0, 1),
        ("step", 2, 40, 20.0, 30, 0, 0),
        ("mark", 1, 0, 0.0, 0, 1, 0),
    ]


def test_kernels_by_name_with_their_registers() -> None:
    maker = (
        a_trace().with_kernel("a", 0, 10).with_kernel("b", 10, 15).with_kernel("", 20, 21)
    ).with_copy(0, 100)
    maker.builder.add_row(KERNELS, name="b", vgprs=64, lds_bytes=1024)

    assert kernel_list(maker.build()).rows == [
        ("a", 1, 10, None, None, None, None, None),
        ("b", 1, 5, 64, None, None, 1024, None),
        ("(no name)", 1, 1, None, None, None, None, None),
    ]
