"""Busy and idle time of a selection: what a filter hides is not idle time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.builders import TraceMaker, a_trace
from wavescope.analyze.findings import findings
from wavescope.analyze.idle.gap_parts import gap_parts
from wavescope.analyze.summary import utilization
from wavescope.analyze.summary.busy_time import gaps
from wavescope.model.selection import Selection, select


def gemms_and_copies() -> TraceMaker:
    """A gemm of 10 of every 100 ns, a copy kernel during the rest but 5."""
    maker = a_trace()
    for index in range(50):
        start = 100 * index
        maker.with_kernel("gemm", start, start + 10).with_kernel("copy", start + 10, start + 95)
    return maker


def test_a_filter_of_kernels_keeps_the_whole_gpu_busy() -> None:
    chosen = select(gemms_and_copies().build(), Selection(kernel="gemm"))
    result = utilization(chosen)
    (row,) = result.table("gpus").records()

    assert (row["span_ns"], row["idle_ns"]) == (4_910, 49 * 5)
    assert row["busy_ns"] == 4_910 - 49 * 5
    assert result.facts["busy_and_idle_of"] == "the whole GPU, over the selected time"
    assert not result.findings
    assert not [each for each in findings(chosen) if each.id in ("gpu-idle", "launch-bound")]


def test_an_idle_part_is_told_of_the_selected_time() -> None:
    maker = a_trace().with_marker("decode", 0, 50_000)
    for index in range(100):
        maker.with_kernel("a", 1_000 * index, 1_000 * index + 100)
    chosen = select(maker.build(), Selection(marker="decode"))
    (told,) = (each for each in findings(chosen) if each.id == "gpu-idle")

    assert told.title.startswith("GPU 0 was idle for 89.8 % of the selected time")
    assert utilization(chosen).findings[0].title == "GPU 0 was idle for 89.8 % of the selected time"


def test_what_follows_what_is_not_told_where_a_filter_hides_ops() -> None:
    maker = a_trace()
    for index in range(100):
        for place, name in enumerate(("norm", "act", "mul")):
            start = 15_000 * index + 5_000 * place
            maker.with_kernel(name, start, start + 2_000)
    whole = maker.build()
    (of_whole,) = (each for each in findings(whole) if each.id == "tiny-kernels")
    chosen = select(whole, Selection(kernel="norm|mul"))
    (of_part,) = (each for each in findings(chosen) if each.id == "tiny-kernels")

    assert of_whole.numbers["pair"] is not None
    assert of_part.numbers["pair"] is None
    assert "launch-bound" in [each.id for each in findings(whole)]
    assert "launch-bound" not in [each.id for each in findings(chosen)]


def test_a_whole_trace_says_nothing_of_a_selection() -> None:
    assert "busy_and_idle_of" not in utilization(gemms_and_copies().build()).facts


def test_time_outside_the_marked_ranges_is_not_idle() -> None:
    maker = a_trace()
    for start in (0, 1_000, 2_000):
        maker.with_marker("decode", start, start + 100)
        maker.with_kernel("a", start + 10, start + 40).with_kernel("b", start + 60, start + 90)
    chosen = select(maker.build(), Selection(marker="decode"))
    (row,) = utilization(chosen).table("gpus").records()

    # From the first op's start to the last one's end, in the ranges: 90 + 100 + 90 ns.
    assert (row["span_ns"], row["busy_ns"], row["idle_ns"]) == (280, 180, 100)
    (table, *_) = gaps(chosen).tables
    assert table.records()[0]["longest_ns"] == 20
    (split,) = (parts.split for parts in gap_parts(chosen))
    assert (split.idle_ns, split.unlinked_ns, split.longest_gap_ns) == (100, 100, 20)


def test_a_gap_is_divided_by_its_launch_also_where_the_selection_cuts_it() -> None:
    maker = a_trace().with_marker("decode", 0, 100)
    maker.with_kernel("a", 0, 50).with_kernel("b", 90, 100).with_kernel("c", 300, 310)
    maker.with_kernel("d", 310, 400)
    maker.with_call("hipLaunchKernel", 60, 70).with_link(1, 2)
    (split,) = (
        parts.split for parts in gap_parts(select(maker.build(), Selection(marker="decode")))
    )

    assert (split.before_ns, split.in_launch_ns, split.after_launch_ns) == (10, 10, 20)
    assert split.unlinked_ns == 0


def test_largest_gaps_name_ops_that_the_filter_hides() -> None:
    chosen = select(gemms_and_copies().build(), Selection(kernel="gemm"))
    first = gaps(chosen).table("largest_gaps").records()[0]

    assert (first["before"], first["after"], first["duration_ns"]) == ("copy", "gemm", 5)


an_op = st.tuples(st.integers(0, 1), st.integers(0, 40), st.integers(1, 8), st.sampled_from("ab"))


@given(ops=st.lists(an_op, min_size=1, max_size=15), window=st.tuples(*[st.integers(0, 45)] * 2))
def test_parts_of_a_selection_add_up_and_are_idle(
    ops: list[tuple[int, int, int, str]], window: tuple[int, int]
) -> None:
    maker = a_trace().with_marker("range", min(window), max(window) + 1)
    for queue, start, length, name in ops:
        maker.with_kernel(name, start, start + length, queue=queue)
    whole = maker.build()
    for selection in (Selection(kernel="a"), Selection(marker="range")):
        chosen = select(whole, selection)
        if not len(chosen.ops):
            continue
        (row,) = utilization(chosen).table("gpus").records()
        starts, ends = chosen.ops["start_ns"].tolist(), chosen.ops["end_ns"].tolist()
        meant = [
            now
            for now in range(min(starts), max(ends))
            if selection.kernel
            or min(window) <= now <= max(window)
            or any(a <= now < b for a, b in zip(starts, ends, strict=True))
        ]
        idle = [now for now in meant if not any(start <= now < start + n for _, start, n, _ in ops)]
        assert (row["span_ns"], row["idle_ns"]) == (len(meant), len(idle))
        (split,) = (parts.split for parts in gap_parts(chosen))
        assert split.idle_ns == split.unlinked_ns == len(idle)


def test_ops_that_took_no_time_are_a_part_of_their_own() -> None:
    maker = a_trace().with_kernel("a", 10, 10).with_kernel("b", 30, 30).with_kernel("c", 90, 95)
    part = select(maker.build(), Selection(start="5", end="50"))

    (gpu,) = utilization(part).table("gpus").records()

    assert (gpu["op_count"], gpu["span_ns"], gpu["busy_ns"]) == (2, 20, 0)
