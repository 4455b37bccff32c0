"""Attribution of ops to ranges against the rules of docs/phases.md, written out plainly."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from tests.builders import a_trace
from wavescope.analyze.markers import Basis, op_ranges, trace_ranges


class Range(NamedTuple):
    start: int
    end: int
    process: int
    thread: int


class Op(NamedTuple):
    start: int
    process: int
    thread: int
    call: int | None
    """When it was launched, if that is in the trace."""


def innermost(ranges: list[Range], time: int, process: int, thread: int | None) -> int:
    """The last in opening order of the ranges open at that time; any thread for None."""
    best = -1
    for number, each in enumerate(ranges):
        is_open = each.start <= time < each.end and each.process == process
        if not is_open or thread not in (None, each.thread):
            continue
        if best < 0 or (each.start, -each.end) >= (ranges[best].start, -ranges[best].end):
            best = number
    return best


def expected(ranges: list[Range], op: Op) -> tuple[int, Basis]:
    if op.call is not None:
        own = innermost(ranges, op.call, op.process, op.thread)
        if own >= 0:
            return own, Basis.CAUSE
        other = innermost(ranges, op.call, op.process, None)
        return other, Basis.LAUNCH_TIME if other >= 0 else Basis.OUTSIDE
    processes = {each.process for each in ranges}
    opens = any((each.process, each.thread) == (op.process, op.thread) for each in ranges)
    several = len({(each.process, each.thread) for each in ranges}) > len(processes)
    found = innermost(ranges, op.start, op.process, op.thread if opens and several else None)
    return found, Basis.TIME if found >= 0 else Basis.OUTSIDE


TIMES = st.integers(0, 30)
RANGES = st.lists(
    st.builds(
        lambda start, length, process, thread: Range(start, start + length, process, thread),
        TIMES,
        st.integers(0, 15),
        st.integers(0, 1),
        st.integers(1, 2),
    ),
    min_size=1,
    max_size=8,
)
OPS = st.lists(
    st.builds(Op, TIMES, st.integers(0, 1), st.integers(1, 3), st.none() | TIMES), max_size=8
)


@given(RANGES, OPS)
def test_every_op_is_found_by_the_first_rule_that_applies(
    ranges: list[Range], ops: list[Op]
) -> None:
    maker = a_trace()
    for number, each in enumerate(ranges):
        place = {"process": each.process, "thread": each.thread}
        maker.with_marker(f"r{number}", each.start, each.end, **place)
    calls = 0
    for number, op in enumerate(ops, start=1):
        maker.with_kernel("k", op.start, op.start + 1, process=op.process, thread=op.thread)
        if op.call is not None:
            calls += 1
            place = {"process": op.process, "thread": op.thread}
            maker.with_call("launch", op.call, op.call + 1, **place)
            maker.with_link(calls, number)
    trace = maker.build()

    result = op_ranges(trace, trace_ranges(trace))

    found = list(zip(result.host.tolist(), result.basis.tolist(), strict=True))
    assert found == [expected(ranges, op) for op in ops]
