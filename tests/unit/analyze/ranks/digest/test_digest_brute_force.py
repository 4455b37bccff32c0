"""Digests against a count of single nanoseconds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import a_trace
from wavescope.analyze.ranks.digest import UNKNOWN, DigestOptions, RankDigest, digests_of
from wavescope.model.trace import Trace

COMPUTE, COLLECTIVE, COPY, BARRIER = "gemm", "ncclDevKernel_AllReduce_Sum", "copy", "barrier"
TYPES = {COPY: "CopyDeviceToHost", BARRIER: "Barrier"}
STEPS = 3
OPTIONS = DigestOptions(step_marker="^step", bin_count=7)


class Op(NamedTuple):
    kind: str
    start: int
    end: int
    queue: int
    step: int
    grid: int

    @property
    def instants(self) -> set[int]:
        return set(range(self.start, self.end))


def an_op() -> st.SearchStrategy[Op]:
    return st.builds(
        lambda kind, start, length, queue, step, grid: Op(
            kind, start, start + length, queue, step, grid
        ),
        st.sampled_from((COMPUTE, COMPUTE, COLLECTIVE, COPY, BARRIER)),
        st.integers(-20, 40),
        st.integers(0, 12),
        st.integers(0, 2),
        st.integers(-1, STEPS - 1),
        st.sampled_from((-1, 64, 128)),
    )


def trace_of(ops: list[Op]) -> Trace:
    maker = a_trace().with_process(7, rank=2, world_size=4, host="node")
    for step in range(STEPS):
        maker.with_marker(f"step {10 + step}", 100 * step, 100 * step + 50)
    for op in ops:
        values = {"marker": op.step + 1} if op.step >= 0 else {}
        maker.with_op(
            op.kind,
            op.start,
            op.end,
            queue=op.queue,
            type=TYPES.get(op.kind, "KernelExecution"),
            grid_x=op.grid,
            grid_y=2,
            **values,
        )
    return maker.build()


def covered(ops: list[Op], *kinds: str) -> set[int]:
    return set().union(*(op.instants for op in ops if op.kind in kinds))


def within(instants: set[int], start: int, end: int) -> int:
    return sum(start <= instant < end for instant in instants)


def digest_of(ops: list[Op]) -> RankDigest:
    (digest,) = digests_of(trace_of(ops), OPTIONS)
    return digest


@given(st.lists(an_op(), max_size=14))
@settings(max_examples=150)
def test_collectives_are_counted_out(ops: list[Op]) -> None:
    working = [op for op in ops if op.kind != BARRIER]
    compute = covered(working, COMPUTE)
    busy = covered(working, COMPUTE, COLLECTIVE, COPY)
    rows = digest_of(ops).collectives
    expected = sorted((op for op in working if op.kind == COLLECTIVE), key=lambda op: op.start)

    assert list(zip(rows.start_ns.tolist(), rows.end_ns.tolist(), strict=True)) == [
        (op.start, op.end) for op in expected
    ]
    latest = min((op.start for op in working), default=0)
    for row, op in enumerate(expected):
        if row:
            latest = max(latest, expected[row - 1].end) if row > 1 else expected[0].end
        before = within(compute, latest, op.start)
        assert rows.compute_before_ns[row] == before
        assert rows.idle_before_ns[row] == max(0, op.start - latest) - within(
            busy, latest, op.start
        )
        assert rows.exposed_ns[row] == len(op.instants - compute)
        tail = next(
            (count for count in range(op.end - op.start) if op.end - 1 - count in compute),
            op.end - op.start,
        )
        assert rows.exposed_tail_ns[row] == tail
        assert rows.host_late_ns[row] == UNKNOWN
    queues = sorted({op.queue for op in expected})
    assert rows.queue.tolist() == [queues.index(op.queue) for op in expected]


@given(st.lists(an_op(), max_size=14))
@settings(max_examples=150)
def test_steps_are_counted_out(ops: list[Op]) -> None:
    working = [op for op in ops if op.kind != BARRIER]
    digest = digest_of(ops)
    compute = covered(working, COMPUTE)
    by_step = {
        step: [op for op in working if op.step == step]
        for step in range(STEPS)
        if any(op.step == step for op in working)
    }
    spans = {
        step: (min(op.start for op in own), max(op.end for op in own))
        for step, own in by_step.items()
    }
    order = sorted(by_step, key=lambda step: (*spans[step], step))
    rows = digest.steps

    assert rows.label.tolist() == [10 + step for step in order]
    for row, step in enumerate(order):
        own = by_step[step]
        collective = covered(own, COLLECTIVE)
        kernels = [op for op in own if op.kind == COMPUTE]
        sizes = [2 * op.grid for op in kernels if op.grid > 0]
        assert (rows.start_ns[row], rows.end_ns[row]) == spans[step]
        assert rows.busy_ns[row] == len(covered(own, COMPUTE, COLLECTIVE, COPY))
        assert rows.compute_ns[row] == len(covered(own, COMPUTE))
        assert rows.collective_ns[row] == len(collective)
        assert rows.exposed_ns[row] == len(collective - compute)
        assert rows.kernel_count[row] == len(kernels)
        assert rows.work_items[row] == (UNKNOWN if kernels and not sizes else sum(sizes))
    steps = [op.step for op in sorted(working, key=lambda op: op.start) if op.kind == COLLECTIVE]
    expected = [order.index(step) if step >= 0 else UNKNOWN for step in steps]
    assert digest.collectives.step.tolist() == expected


@given(st.lists(an_op(), max_size=14), st.integers(1, 80))
@settings(max_examples=100)
def test_bins_are_counted_out(ops: list[Op], bin_count: int) -> None:
    working = [op for op in ops if op.kind != BARRIER]
    (digest,) = digests_of(trace_of(ops), DigestOptions("^step", bin_count))
    bins = digest.bins
    compute, collective = covered(working, COMPUTE), covered(working, COLLECTIVE)
    first = min((op.start for op in working), default=0)
    last = max((op.end for op in working), default=0)

    assert (digest.first_ns, digest.last_ns, digest.op_count) == (first, last, len(ops))
    assert len(bins) <= bin_count
    assert len(bins) * bins.width_ns >= last - first
    for number in range(len(bins)):
        start = bins.first_ns + number * bins.width_ns
        cut = (start, start + bins.width_ns)
        assert bins.busy_ns[number] == within(compute | collective | covered(working, COPY), *cut)
        assert bins.compute_ns[number] == within(compute, *cut)
        assert bins.collective_ns[number] == within(collective, *cut)
        assert bins.exposed_ns[number] == within(collective - compute, *cut)


@given(st.lists(an_op(), max_size=14))
@settings(max_examples=60)
def test_kernels_are_counted_out(ops: list[Op]) -> None:
    lengths = sorted(op.end - op.start for op in ops if op.kind == COMPUTE)
    kernels = digest_of(ops).kernels

    if not lengths:
        assert kernels == ()
        return
    (kernel,) = kernels
    assert (kernel.name, kernel.run_count, kernel.total_ns) == (COMPUTE, len(lengths), sum(lengths))
    assert kernel.median_ns == lengths[(len(lengths) + 1) // 2 - 1]
    assert kernel.shortest_ns == lengths[0]


@given(st.lists(an_op(), min_size=1, max_size=10), st.integers(4_001, 4_500))
@settings(max_examples=3)
def test_many_alternating_steps_are_added_up_as_well(ops: list[Op], count: int) -> None:
    """So many runs of ops that they are sorted by step instead."""
    many = [ops[number % len(ops)]._replace(step=number % 2) for number in range(count)]
    rows = digest_of(many).steps

    for row, step in enumerate(rows.label.tolist()):
        own = [op for op in many if op.step == step - 10 and op.kind != BARRIER]
        assert rows.busy_ns[row] == len(covered(own, COMPUTE, COLLECTIVE, COPY))
        assert rows.compute_ns[row] == len(covered(own, COMPUTE))


def test_columns_have_the_types_of_the_contract() -> None:
    digest = digest_of([Op(COLLECTIVE, 0, 5, 0, 0, 1), Op(COMPUTE, 0, 3, 1, 0, 1)])

    assert digest.collectives.use.dtype == digest.collectives.step.dtype == np.int32
    assert digest.collectives.queue.dtype == digest.collectives.peer.dtype == np.int32
    assert digest.steps.phase.dtype == np.int32
    assert digest.collectives.sequence.dtype == digest.steps.label.dtype == np.int64
