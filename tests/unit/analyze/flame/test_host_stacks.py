"""Host time by stack, compared with a walk over every nanosecond."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import TraceMaker, a_trace
from tests.unit.analyze.flame.flame_paths import Path, by_path
from wavescope.analyze.flame import FlameTree, StackTime, flame_tree
from wavescope.model.columns import THREADS
from wavescope.model.selection import Selection, select
from wavescope.model.trace import Trace


def host(trace: Trace, **where: str | tuple[int, ...]) -> FlameTree:
    return flame_tree(trace, StackTime.HOST, Selection(**where))  # type: ignore[arg-type]


def two_threads() -> TraceMaker:
    maker = (
        a_trace()
        .with_process(70, name="python3", rank=2)
        .with_call("run", 0, 100)
        .with_call("aten::mm", 10, 40)
        .with_call("hipLaunchKernel", 20, 25)
        .with_call("aten::mm", 50, 60)
        .with_call("wait", 5, 35, thread=9)
    )
    maker.builder.add_row(THREADS, process=0, thread=9, name="loader")
    return maker


def test_calls_nest_by_process_and_thread() -> None:
    main = ("python3 70, rank 2", "thread 1")
    loader = ("python3 70, rank 2", "thread 9 (loader)")

    assert by_path(host(two_threads().build())) == {
        (): (130, 0, 2),
        main[:1]: (130, 0, 2),
        main: (100, 0, 1),
        (*main, "run"): (100, 60, 1),
        (*main, "run", "aten::mm"): (40, 35, 2),
        (*main, "run", "aten::mm", "hipLaunchKernel"): (5, 5, 1),
        loader: (30, 0, 1),
        (*loader, "wait"): (30, 30, 1),
    }


def test_threads_that_are_named_by_their_numbers() -> None:
    maker = a_trace().with_call("run", 0, 9, thread=4)
    maker.builder.add_row(THREADS, process=0, thread=4, name="thread 4 (python3)")

    assert ("process #0", "thread 4 (python3)") in by_path(host(maker.build()))


def test_of_a_window_only_what_is_inside_counts() -> None:
    """Also of a call that began before it and ends after it."""
    main = ("python3 70, rank 2", "thread 1")

    found = by_path(host(two_threads().build(), start="22", end="52"))

    assert found[(*main, "run")] == (30, 10, 1)
    assert found[(*main, "run", "aten::mm")] == (20, 17, 2)
    assert found[(*main, "run", "aten::mm", "hipLaunchKernel")] == (3, 3, 1)
    assert found[()] == (43, 0, 2)
    assert by_path(host(two_threads().build(), start="200", end="300")) == {(): (0, 0, 0)}


def test_of_marker_ranges_all_are_windows() -> None:
    trace = two_threads().with_marker("m", 0, 12).with_marker("m", 38, 55).build()

    found = by_path(host(trace, marker="m"))

    assert found["python3 70, rank 2", "thread 1", "run"] == (29, 20, 1)
    assert found["python3 70, rank 2", "thread 1", "run", "aten::mm"] == (9, 9, 2)


def test_a_part_of_a_part_keeps_its_processes_and_window() -> None:
    maker = two_threads().with_process(71).with_call("other", 0, 90, process=1)
    trace = maker.build()

    assert host(trace).total_ns[0] == 220
    assert host(trace, processes=(70,), end="50").total_ns[0] == 80
    part = select(trace, Selection(processes=(70,), end="50"))
    assert host(part).total_ns[0] == 80
    assert host(part, start="45").total_ns[0] == 5


def test_calls_that_cross_share_no_time() -> None:
    """[0, 10) and [5, 15): from 5 on the one that began last."""
    trace = a_trace().with_call("a", 0, 10).with_call("b", 5, 15).with_call("c", 7, 9).build()
    thread = ("process #0", "thread 1")

    assert by_path(host(trace)) == {
        (): (15, 0, 2),
        thread[:1]: (15, 0, 2),
        thread: (15, 0, 2),
        (*thread, "a"): (5, 5, 1),
        (*thread, "b"): (10, 8, 1),
        (*thread, "b", "c"): (2, 2, 1),
    }


def test_a_trace_without_calls_has_an_empty_tree() -> None:
    assert by_path(host(a_trace().with_kernel("k", 0, 9).build())) == {(): (0, 0, 0)}


def test_times_far_apart_do_not_overflow() -> None:
    end = 2**63 - 1
    trace = a_trace().with_call("a", -(2**62), 2**62).with_call("b", 0, end, thread=2).build()

    assert host(trace).total_ns[0] == 2**63 + 2**63 - 1
    assert host(trace, start=str(-(2**62) + 1)).total_ns[0] == 2**63 + 2**63 - 2


calls = st.tuples(st.sampled_from("abc"), st.integers(0, 20), st.integers(0, 14), st.integers(1, 2))
Made = list[tuple[str, int, int, int]]


def walked(made: Made, window: range) -> Counter[Path]:
    """For every nanosecond of every thread the calls that contain the innermost one."""
    found: Counter[Path] = Counter()
    # The order in which calls open: by start, then the longer one, then as they came.
    opened = sorted(made, key=lambda call: (call[1], -call[2]))
    for thread in (1, 2):
        mine = [call for call in opened if call[3] == thread]
        for moment in window:
            open_ = [at for at, (_, s, n, _) in enumerate(mine) if s <= moment < s + n]
            if open_:
                found[(f"thread {thread}", *chain(mine, open_[-1]))] += 1
    return found


def chain(mine: Made, at: int) -> Path:
    """The names of a call and of all that it lies in: each time the last that contains it."""
    name, start, length, _ = mine[at]
    for outer in range(at - 1, -1, -1):
        _, begin, long, _ = mine[outer]
        if begin <= start and start + length <= begin + long and long:
            return (*chain(mine, outer), name)
    return (name,)


@settings(max_examples=60)
@given(st.lists(calls, max_size=9), st.integers(0, 20), st.integers(1, 30))
def test_the_tree_is_what_a_walk_over_every_moment_finds(
    made: Made, begin: int, length: int
) -> None:
    maker = a_trace()
    for name, start, long, thread in made:
        maker.with_call(name, start, start + long, thread=thread)
    trace = maker.build()

    for tree, window in (
        (host(trace), range(40)),
        (host(trace, start=str(begin), end=str(begin + length)), range(begin, begin + length)),
    ):
        own = {path[1:]: own for path, (_, own, _) in by_path(tree).items() if own}
        expected = walked(made, window)
        assert own == expected
        assert tree.total_ns[0] == expected.total()
