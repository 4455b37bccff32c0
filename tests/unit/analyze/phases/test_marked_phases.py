"""Which op belongs to which phase, and what a phase adds up to."""

from __future__ import annotations

import numpy as np

from tests.builders import TraceMaker, a_trace
from wavescope.analyze.markers import Basis
from wavescope.analyze.phases.marked import MarkedPhases, marked_phases
from wavescope.analyze.phases.paths import DEEPEST, PhaseScope


def texts_of_ops(phases: MarkedPhases) -> list[str]:
    return [phases.path_text(path) for path in phases.path_of_op.tolist()]


def facts_by_text(phases: MarkedPhases) -> dict[str, tuple[int, ...]]:
    """Occurrences, wall, ops, own ops, GPU time of each path."""
    return {
        phases.path_text(number): (
            facts.occurrences,
            facts.wall_ns,
            facts.op_count,
            facts.own_op_count,
            facts.gpu_time_ns,
        )
        for number, facts in enumerate(phases.facts)
    }


def launched(maker: TraceMaker, name: str, call_ns: int, op_ns: int, **call: int) -> TraceMaker:
    """A call at `call_ns` that causes a kernel of 10 ns at `op_ns`."""
    maker.with_call("launch", call_ns, call_ns + 1, **call)
    maker.with_kernel(name, op_ns, op_ns + 10)
    calls = len(maker.build().calls)
    return maker.with_link(calls, len(maker.build().ops))


def test_repetitions_are_merged_and_parents_hold_their_childrens_ops() -> None:
    trace = (
        a_trace()
        .with_marker("request", 0, 100)
        .with_marker("decode", 10, 40)
        .with_marker("decode", 50, 90)
        .with_kernel("a", 5, 8)
        .with_kernel("b", 15, 20)
        .with_kernel("c", 18, 25, queue=1)
        .with_kernel("d", 60, 70, gpu=1)
        .with_kernel("e", 60, 70)
        .with_kernel("f", 100, 101)
        .build()
    )
    phases = marked_phases(trace)

    assert facts_by_text(phases) == {
        "request": (1, 100, 5, 1, 3 + 10 + 20),
        "request > decode": (2, 70, 4, 4, 10 + 20),
    }
    assert texts_of_ops(phases) == ["request", *["request > decode"] * 4, ""]
    assert (phases.outside_op_count, phases.outside_gpu_time_ns) == (1, 1)
    assert phases.all_gpu_time_ns == 34


def test_the_recorded_range_wins_over_the_time() -> None:
    trace = (
        a_trace()
        .with_marker("prefill", 0, 10)
        .with_marker("decode", 10, 20)
        .with_kernel("late", 12, 30, marker=1)
        .with_kernel("in", 15, 18, marker=2)
        .build()
    )
    phases = marked_phases(trace)

    assert texts_of_ops(phases) == ["prefill", "decode"]
    assert phases.basis_counts[Basis.CAUSE] == 2
    assert facts_by_text(phases)["prefill"] == (1, 10, 1, 1, 18)


def test_where_ranges_are_recorded_an_op_without_one_is_outside() -> None:
    trace = (
        a_trace()
        .with_marker("decode", 0, 100, thread=7)
        .with_kernel("in", 10, 20, marker=1, thread=7)
        .with_kernel("launched before", 30, 40, marker=-1, thread=7)
        .with_kernel("unknown thread", 40, 50, marker=-1)
        .with_kernel("a worker's", 50, 60, marker=-1, thread=8)
        .build()
    )
    phases = marked_phases(trace)

    assert texts_of_ops(phases) == ["decode", "", "", "decode"]
    assert phases.ranges.basis.tolist() == [Basis.CAUSE, 0, 0, Basis.TIME]


def test_an_op_belongs_to_the_range_open_at_its_launch() -> None:
    maker = a_trace().with_marker("prefill", 0, 10).with_marker("decode", 10, 20)
    launched(maker, "finishes after its range", 5, 12)
    launched(maker, "starts after all ranges", 15, 40)
    launched(maker, "launched outside", 30, 50)
    phases = marked_phases(maker.build())

    assert texts_of_ops(phases) == ["prefill", "decode", ""]
    assert phases.basis_counts == {
        Basis.OUTSIDE: 1,
        Basis.CAUSE: 2,
        Basis.LAUNCH_TIME: 0,
        Basis.TIME: 0,
    }


def test_a_thread_without_a_range_works_for_the_thread_that_has_one() -> None:
    maker = a_trace().with_marker("step", 0, 10, thread=1).with_marker("own", 0, 10, thread=2)
    maker.with_marker("elsewhere", 0, 10, thread=1, process=5)
    launched(maker, "autograd's", 5, 20, thread=3)
    launched(maker, "own", 5, 30, thread=2)
    launched(maker, "nobody's", 11, 40, thread=3)
    phases = marked_phases(maker.build())

    assert texts_of_ops(phases) == ["own", "own", ""]
    assert phases.ranges.basis.tolist() == [Basis.LAUNCH_TIME, Basis.CAUSE, Basis.OUTSIDE]


def test_without_causes_time_decides_within_the_process() -> None:
    trace = (
        a_trace()
        .with_marker("a", 0, 10, process=0)
        .with_marker("b", 0, 10, process=1)
        .with_kernel("x", 0, 100, process=1)
        .with_kernel("y", 9, 100, process=0)
        .with_kernel("z", 10, 100, process=0)
        .with_kernel("w", 5, 6, process=-1)
        .build()
    )
    phases = marked_phases(trace)

    assert texts_of_ops(phases) == ["b", "a", "", ""]
    assert phases.basis_counts[Basis.TIME] == 2


def test_an_op_of_unknown_process_belongs_to_the_only_one_that_marks() -> None:
    trace = a_trace().with_marker("a", 0, 10, process=3).with_kernel("x", 5, 6, process=-1).build()

    assert texts_of_ops(marked_phases(trace)) == ["a"]


def test_by_time_the_submitting_threads_own_ranges_come_first() -> None:
    trace = (
        a_trace()
        .with_marker("a", 0, 100, thread=1)
        .with_marker("b", 10, 50, thread=2)
        .with_kernel("x", 20, 30, thread=1)
        .with_kernel("y", 20, 30, thread=2)
        .with_kernel("late", 60, 70, thread=2)
        .with_kernel("worker's", 20, 30, thread=3)
        .with_kernel("unknown", 60, 70)
        .build()
    )

    assert texts_of_ops(marked_phases(trace)) == ["a", "b", "", "b", "a"]


def test_overlapping_ranges_and_instants() -> None:
    trace = (
        a_trace()
        .with_marker("a", 0, 10)
        .with_marker("b", 5, 15)
        .with_marker("mark", 6, 6, flags=1)
        .with_kernel("x", 4, 5)
        .with_kernel("y", 6, 7)
        .with_kernel("z", 12, 13)
        .build()
    )
    phases = marked_phases(trace)

    assert texts_of_ops(phases) == ["a", "b", "b"]
    assert phases.found.instant_count == 1
    assert set(facts_by_text(phases)) == {"a", "b"}


def test_ranges_drawn_over_the_gpu_serve_ops_without_a_launch() -> None:
    maker = a_trace().with_marker("step", 0, 10, category="user_annotation")
    maker.with_marker("step", 50, 70, category="gpu_user_annotation", thread=-1)
    launched(maker, "linked", 5, 50)
    maker.with_kernel("of an earlier step", 3, 4).with_kernel("not linked", 60, 65)
    phases = marked_phases(maker.build())

    assert texts_of_ops(phases) == ["step", "", "step"]
    assert facts_by_text(phases) == {"step": (1, 10, 2, 2, 15)}


def test_only_drawn_ranges() -> None:
    trace = (
        a_trace()
        .with_marker("step", 50, 70, category="gpu_user_annotation", thread=-1)
        .with_kernel("x", 60, 61)
        .build()
    )

    assert texts_of_ops(marked_phases(trace)) == ["step"]


def test_phases_of_each_process_and_thread() -> None:
    trace = (
        a_trace()
        .with_marker("decode", 0, 10, process=0, thread=1)
        .with_marker("decode", 0, 10, process=0, thread=2)
        .with_marker("decode", 0, 20, process=1, thread=3)
        .build()
    )

    def keys(scope: PhaseScope) -> list[tuple[int, int]]:
        phases = marked_phases(trace, scope)
        return sorted((path.process, path.thread) for path in phases.paths)

    assert keys(PhaseScope.ALL) == [(-1, -1)]
    assert keys(PhaseScope.PROCESS) == [(0, -1), (1, -1)]
    assert keys(PhaseScope.THREAD) == [(0, 1), (0, 2), (1, 3)]
    merged = marked_phases(trace).facts[0]
    assert (merged.occurrences, merged.wall_ns, merged.range_sum_ns) == (3, 20, 40)


def test_numbers_are_kept_on_request() -> None:
    trace = a_trace().with_marker("step 1", 0, 10).with_marker("step 2", 10, 20).build()

    assert set(facts_by_text(marked_phases(trace))) == {"step *"}
    kept = marked_phases(trace, merge_numbers=False)
    assert set(facts_by_text(kept)) == {"step 1", "step 2"}


def test_barriers_are_no_work() -> None:
    trace = (
        a_trace()
        .with_marker("a", 0, 10)
        .with_op("", 1, 9, type="Barrier")
        .with_kernel("x", 2, 3)
        .build()
    )

    assert facts_by_text(marked_phases(trace)) == {"a": (1, 10, 1, 1, 1)}


def test_very_deep_nesting_is_cut() -> None:
    maker = a_trace()
    for depth in range(DEEPEST + 20):
        maker.with_marker(f"d{depth}x", depth, 1_000 - depth)
    trace = maker.with_kernel("x", 500, 501).build()
    phases = marked_phases(trace)

    assert max(path.depth for path in phases.paths) == DEEPEST
    assert phases.path_of_op.tolist() == [DEEPEST]
    assert phases.facts[DEEPEST].occurrences == 20


def test_a_trace_without_markers_or_ops() -> None:
    assert marked_phases(a_trace().build()).facts == []
    phases = marked_phases(a_trace().with_kernel("x", 0, 1).build())
    assert (phases.facts, phases.path_of_op.tolist(), phases.outside_op_count) == ([], [-1], 1)


def test_phases_add_up_on_a_random_trace() -> None:
    rng = np.random.default_rng(5)
    maker = a_trace()
    for index in range(40):
        maker.with_marker(f"m{index % 3}x", index * 100, index * 100 + 100)
        maker.with_marker("inner", index * 100 + 20, index * 100 + 60)
    for start in rng.integers(0, 4_000, 500).tolist():
        maker.with_kernel("k", start, start + int(rng.integers(0, 50)), queue=int(start % 3))
    phases = marked_phases(maker.build())
    top = [facts for facts, path in zip(phases.facts, phases.paths, strict=True) if not path.depth]

    assert sum(facts.own_op_count for facts in phases.facts) + phases.outside_op_count == 500
    assert sum(facts.op_count for facts in top) + phases.outside_op_count == 500
