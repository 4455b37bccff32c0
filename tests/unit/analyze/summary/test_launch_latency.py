"""Launch latency: exact values, inversions stated, unlinked ops counted."""

from __future__ import annotations

from tests.builders import a_trace
from wavescope.analyze.summary.host_side import LaunchLatencyOptions, launch_latency


def test_latency_is_taken_from_call_start_and_from_call_return() -> None:
    trace = (
        a_trace()
        .with_call("hipLaunchKernel", 100, 110)
        .with_call("hipLaunchKernel", 200, 230)
        .with_kernel("a", 150, 160)
        .with_kernel("a", 220, 260)
        .with_kernel("b", 300, 310)
        .with_link(1, 1)
        .with_link(2, 2)
        .build()
    )

    result = launch_latency(trace)

    assert result.table("launch_gpus").records() == [
        {
            "gpu": 0,
            "unlinked_count": 1,
            "linked_count": 2,
            "shared_call_count": 0,
            "inverted_count": 0,
            "before_return_count": 1,
            "start_p50_ns": 20,
            "start_p95_ns": 50,
            "start_max_ns": 50,
            "return_p50_ns": -10,
            "return_p95_ns": 40,
            "return_max_ns": 40,
        }
    ]
    assert result.table("launch_kernels").rows == [("a", 2, 0, 0, 1, 20, 50, 50, -10, 40, 40)]
    assert result.facts == {
        "linked_op_count": 2,
        "unlinked_op_count": 1,
        "dangling_link_count": 0,
        "repeated_link_count": 0,
        "inverted_op_count": 0,
    }
    assert result.findings == []


def test_an_op_before_its_call_is_counted_and_told() -> None:
    trace = (
        a_trace()
        .with_call("hipLaunchKernel", 5_000, 5_010)
        .with_kernel("a", 2_000, 2_500)
        .with_link(1, 1)
        .build()
    )

    result = launch_latency(trace)

    assert result.table("launch_gpus").column("inverted_count") == [1]
    assert result.table("launch_gpus").column("start_p50_ns") == [-3_000]
    assert result.facts["inverted_op_count"] == 1
    (finding,) = result.findings
    assert finding.id == "clock-inversion"
    assert finding.title == "1 op began before the launching call"
    assert finding.evidence == "by up to 3.000 us; of 1 op with a call"


def test_ops_of_one_graph_launch_are_marked_as_sharing_it() -> None:
    trace = (
        a_trace()
        .with_call("hipGraphLaunch", 0, 10)
        .with_call("hipLaunchKernel", 20, 25)
        .with_kernel("a", 100, 110, gpu=0)
        .with_kernel("b", 200, 210, gpu=1)
        .with_kernel("b", 300, 310, gpu=1)
        .with_link(1, 1)
        .with_link(1, 2)
        .with_link(2, 3)
        .build()
    )

    result = launch_latency(trace)

    table = result.table("launch_gpus")
    assert table.column("gpu") == [0, 1]
    assert table.column("shared_call_count") == [1, 1]
    assert table.column("start_max_ns") == [100, 280]
    assert result.table("launch_kernels").column("name") == ["b", "a"]


def test_links_to_nowhere_and_second_links_are_counted() -> None:
    trace = (
        a_trace()
        .with_call("first", 0, 1)
        .with_call("second", 50, 51)
        .with_kernel("a", 100, 110)
        .with_link(1, 1)
        .with_link(2, 1)
        .with_link(1, 99)
        .with_link(99, 1)
        .build()
    )

    result = launch_latency(trace)

    assert result.table("launch_gpus").column("start_max_ns") == [100]
    assert result.facts["dangling_link_count"] == 2
    assert result.facts["repeated_link_count"] == 1


def test_ids_with_holes_are_found() -> None:
    trace = (
        a_trace()
        .with_call("f", 0, 1, id=10)
        .with_call("f", 5, 6, id=20)
        .with_kernel("a", 100, 110, id=7)
        .with_kernel("a", 200, 210, id=9)
        .with_link(20, 9)
        .with_link(15, 7)
        .with_link(10, 8)
        .build()
    )

    result = launch_latency(trace)

    assert result.table("launch_kernels").column("start_max_ns") == [195]
    assert result.facts["linked_op_count"] == 1
    assert result.facts["dangling_link_count"] == 2


def test_kernels_are_listed_by_short_or_full_name() -> None:
    trace = (
        a_trace()
        .with_call("f", 0, 1)
        .with_kernel("void k<int>(int)", 10, 20)
        .with_kernel("void k<float>(float)", 30, 40)
        .with_copy(50, 60)
        .with_link(1, 1)
        .with_link(1, 2)
        .with_link(1, 3)
        .build()
    )

    short = launch_latency(trace).table("launch_kernels")
    full = launch_latency(trace, LaunchLatencyOptions(full_names=True)).table("launch_kernels")

    assert sorted(map(str, short.column("name"))) == ["CopyHostToDevice", "k"]
    assert sorted(map(str, full.column("name"))) == [
        "CopyHostToDevice",
        "void k<float>(float)",
        "void k<int>(int)",
    ]


def test_a_trace_without_links_says_so() -> None:
    result = launch_latency(a_trace().with_kernel("a", 0, 10).build())

    assert [table.rows for table in result.tables] == [[], []]
    assert result.facts["unlinked_op_count"] == 1


def test_an_empty_trace() -> None:
    result = launch_latency(a_trace().build())

    assert [table.rows for table in result.tables] == [[], []]
    assert result.facts["unlinked_op_count"] == 0
