"""Every gap divided over what the host did during it, against a slow walk over every nanosecond."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import TraceMaker, a_trace
from wavescope.analyze.idle.gap_parts import IdleSplit, gap_parts, waits_for_gpu

PARTS = ("before", "waiting", "in_launch", "after_launch", "unlinked")


class Op(NamedTuple):
    gpu: int
    queue: int
    start: int
    length: int
    type: str
    call: int | None


class Call(NamedTuple):
    thread: int
    start: int
    length: int
    name: str


def built(ops: list[Op], calls: list[Call]) -> TraceMaker:
    maker = a_trace()
    for call in calls:
        end = call.start + call.length
        maker.with_call(call.name, call.start, end, thread=call.thread)
    for number, op in enumerate(ops, 1):
        end = op.start + op.length
        maker.with_op("k", op.start, end, type=op.type, gpu=op.gpu, queue=op.queue)
        if op.call is not None and op.call < len(calls):
            maker.with_link(op.call + 1, number)
    return maker


def walked(ops: list[Op], calls: list[Call], gpu: int) -> Counter[str]:
    """The same by asking of every nanosecond what the host did then."""
    here = [op for op in ops if op.gpu == gpu and op.type != "Barrier"]
    found: Counter[str] = Counter()
    for now in range(min(op.start for op in here), max(op.start + op.length for op in here)):
        if any(op.start <= now < op.start + op.length for op in here):
            continue
        found["idle"] += 1
        # Of several that begin at once the first in the trace; empty ops end gaps, too.
        next_start = min(op.start for op in here if op.start > now)
        ending = next(op for op in here if op.start == next_start)
        if ending.call is None or ending.call >= len(calls):
            found["unlinked"] += 1
            continue
        launch = calls[ending.call]
        if now >= launch.start + launch.length:
            found["after_launch"] += 1
        elif now >= launch.start:
            found["in_launch"] += 1
        elif any(
            waits_for_gpu(call.name)
            and call.thread == launch.thread
            and call.start <= now < call.start + call.length
            for call in calls
        ):
            found["waiting"] += 1
        else:
            found["before"] += 1
    return found


ops_of_a_trace = st.lists(
    st.builds(
        Op,
        st.integers(0, 1),
        st.integers(0, 1),
        st.integers(0, 60),
        st.integers(0, 6),
        st.sampled_from(("KernelExecution", "CopyHostToDevice", "Barrier")),
        st.one_of(st.none(), st.integers(0, 8)),
    ),
    min_size=1,
    max_size=12,
)
calls_of_a_trace = st.lists(
    st.builds(
        Call,
        st.integers(1, 2),
        st.integers(0, 60),
        st.integers(0, 20),
        st.sampled_from(
            ("hipLaunchKernel", "hipMemcpy", "hipMemcpyAsync", "hipStreamSynchronize", "aten::mm")
        ),
    ),
    max_size=9,
)


@given(ops=ops_of_a_trace, calls=calls_of_a_trace)
def test_the_parts_are_those_of_a_walk_over_every_nanosecond(
    ops: list[Op], calls: list[Call]
) -> None:
    for split in (parts.split for parts in gap_parts(built(ops, calls).build())):
        expected = walked(ops, calls, split.gpu)
        assert {part: getattr(split, f"{part}_ns") for part in PARTS} == {
            part: expected[part] for part in PARTS
        }
        assert split.idle_ns == expected["idle"] == sum(expected[part] for part in PARTS)


def the_split(maker: TraceMaker) -> IdleSplit:
    (split,) = (parts.split for parts in gap_parts(maker.build()))
    return split


def a_gap(call_start: int, call_end: int) -> TraceMaker:
    """A gap from 100 to 200 that ends with an op launched by a call at the given time."""
    maker = a_trace().with_kernel("first", 0, 100).with_kernel("next", 200, 210)
    return maker.with_call("hipLaunchKernel", call_start, call_end).with_link(1, 2)


@pytest.mark.parametrize(
    ("maker", "parts"),
    [
        (a_gap(150, 160), (50, 0, 10, 40, 0)),
        (a_gap(90, 160), (0, 0, 60, 40, 0)),
        (a_gap(50, 60), (0, 0, 0, 100, 0)),
        (a_gap(150, 300), (50, 0, 50, 0, 0)),
        (a_gap(250, 300), (100, 0, 0, 0, 0)),
        (a_gap(150, 160).with_call("hipStreamSynchronize", 90, 110), (40, 10, 10, 40, 0)),
        (a_gap(150, 160).with_call("hipMemcpyWithStream", 110, 120), (40, 10, 10, 40, 0)),
        (a_gap(150, 160).with_call("cuMemcpyDtoH_v2", 140, 170), (40, 10, 10, 40, 0)),
        (a_gap(150, 160).with_call("hipDrvMemcpy3D", 140, 150), (40, 10, 10, 40, 0)),
        (a_gap(150, 160).with_call("hipMemcpyAsync", 90, 110), (50, 0, 10, 40, 0)),
        (a_gap(150, 160).with_call("hipDeviceSynchronize", 90, 110, thread=2), (50, 0, 10, 40, 0)),
        (a_trace().with_kernel("a", 0, 100).with_kernel("b", 200, 210), (0, 0, 0, 0, 100)),
    ],
)
def test_one_gap(maker: TraceMaker, parts: tuple[int, ...]) -> None:
    split = the_split(maker)

    assert tuple(getattr(split, f"{part}_ns") for part in PARTS) == parts
    assert (split.idle_ns, split.longest_gap_ns, split.gap_count) == (100, 100, 1)


def test_overlapping_waits_count_once() -> None:
    maker = a_gap(180, 190).with_call("hipStreamSynchronize", 110, 140)
    maker.with_call("hipEventSynchronize", 120, 150).with_call("hipMemcpy", 130, 135)

    assert the_split(maker).waiting_ns == 40


def test_of_ops_that_begin_at_once_the_first_in_the_trace_ends_the_gap() -> None:
    maker = a_gap(150, 160).with_kernel("beside", 200, 205, queue=1)
    maker.with_call("hipLaunchKernel", 110, 120).with_link(2, 3)

    assert (the_split(maker).before_ns, the_split(maker).after_launch_ns) == (50, 40)


def test_times_of_any_size_add_up() -> None:
    low, high = -(1 << 62), 1 << 62
    maker = a_trace().with_kernel("a", low, low + 10).with_kernel("b", 0, 1)
    maker.with_kernel("c", high - 1, high).with_call("hipLaunchKernel", -5, high - 5)
    maker.with_link(1, 2).with_link(1, 3)
    split = the_split(maker)

    assert split.idle_ns == (high - 1 - 1) + (-low - 10)
    assert split.idle_ns == sum(getattr(split, f"{part}_ns") for part in PARTS)
