"""The gaps of each GPU and the ops that end them."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import a_trace
from wavescope.analyze.findings.context import FindingContext
from wavescope.analyze.ops import gaps as idle_gaps_module
from wavescope.analyze.ops.gaps import IdleGaps, idle_gaps, longest_of
from wavescope.analyze.ops.gpu_timelines import gpu_timelines

TYPES = ("KernelExecution", "CopyHostToDevice", "Barrier")

an_op = st.tuples(
    st.integers(0, 1),
    st.integers(0, 1),
    st.integers(0, 40),
    st.integers(0, 5),
    st.sampled_from(TYPES),
)


@given(ops=st.lists(an_op, min_size=1, max_size=20), least_ns=st.integers(1, 4))
def test_few_and_many_gaps_are_ended_by_the_same_ops(
    ops: list[tuple[int, int, int, int, str]], least_ns: int
) -> None:
    maker = a_trace()
    for gpu, queue, start_ns, length_ns, kind in ops:
        maker.with_op("", start_ns, start_ns + length_ns, type=kind, gpu=gpu, queue=queue)
    trace = maker.build()
    timelines = gpu_timelines(trace)

    few = idle_gaps(trace, timelines, least_ns)
    with mock.patch.object(idle_gaps_module, "_FEW_GAPS", -1):
        many = idle_gaps(trace, timelines, least_ns)

    assert [_told(gaps) for gaps in many] == [_told(gaps) for gaps in few]
    for gaps in few:
        for length_ns, row in zip(gaps.lengths_ns.tolist(), gaps.after.tolist(), strict=True):
            gpu, _, start_ns, _, kind = ops[row]
            assert gpu == gaps.gpu
            assert kind != "Barrier"
            ended = [
                start + length
                for other_gpu, _, start, length, other_kind in ops
                if other_gpu == gpu and other_kind != "Barrier" and start < start_ns
            ]
            assert max(ended) == start_ns - length_ns


def _told(gaps: IdleGaps) -> tuple[int, list[int], list[int]]:
    return gaps.gpu, gaps.lengths_ns.tolist(), gaps.after.tolist()


@pytest.mark.parametrize(
    ("count", "rows"), [(1, [1]), (2, [1, 0]), (3, [1, 0, 3]), (4, [1, 0, 3, 2]), (9, [1, 0, 3, 2])]
)
def test_the_longest_gaps_come_first_and_of_equal_ones_the_earlier(
    count: int, rows: list[int]
) -> None:
    assert longest_of(np.array([5, 9, 1, 5], np.uint64), count) == rows


@pytest.mark.parametrize("few_gaps", [2_000, 0])
def test_gaps_of_each_gpu_find_their_own_ops_and_no_barriers(
    few_gaps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idle_gaps_module, "_FEW_GAPS", few_gaps)
    maker = a_trace()
    for gpu in (3, 7):
        maker.with_kernel("a", 0, 10_000, gpu=gpu)
    maker.with_op("", 50_000, 60_000, type="Barrier", gpu=3)
    maker.with_kernel("b", 50_000, 60_000, gpu=7).with_kernel("c", 50_000, 70_000, gpu=3)
    maker.with_kernel("d", 50_000, 70_000, gpu=3)
    context = FindingContext(maker.build())

    assert [gaps.gpu for gaps in context.gaps] == [3, 7]
    assert [gaps.after.tolist() for gaps in context.gaps] == [[4], [3]]
