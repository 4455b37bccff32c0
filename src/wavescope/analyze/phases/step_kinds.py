"""The kinds of steps in a lane: steps of one kind hold the same kernels, launched about as large.

What a kind looks like is read off one of its steps, so that ten thousand equal decode steps cost
no more than one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wavescope.analyze.steps.lane_steps import LaneSteps
from wavescope.analyze.steps.repetition import told_apart

Numbers = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]


@dataclass(frozen=True)
class StepKinds:
    """The kinds, and the ops of one step of each."""

    of_step: Numbers
    counts: Numbers
    longest_run: Numbers
    """How many steps of the kind follow one another."""
    ops: Numbers
    """Positions in the lane of the ops looked at."""
    kind_of_op: Numbers

    def __len__(self) -> int:
        return int(self.counts.size)


def step_kinds(steps: LaneSteps, sizes: Reals) -> StepKinds:
    """The kinds of steps; `sizes` are the log2 launch sizes of all ops, NaN where unknown."""
    keys = told_apart(steps.signatures, _size_class(steps, sizes))
    _, of_step, counts = np.unique(keys, return_inverse=True, return_counts=True)
    chosen = _middle_steps(of_step, counts)
    lengths = steps.op_counts[chosen]
    kind_of_op = np.repeat(np.arange(counts.size), lengths)
    offsets = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    ops = np.repeat(steps.firsts[chosen], lengths) + offsets
    return StepKinds(of_step, counts, _longest_runs(of_step, counts.size), ops, kind_of_op)


def _size_class(steps: LaneSteps, sizes: Reals) -> Numbers:
    """Steps whose launches are twice as large are of another class.

    Where launch sizes are unknown, steps that take twice as long are.
    """
    known = ~np.isnan(sizes)
    firsts = steps.firsts[:-1]
    counts = np.add.reduceat(known, firsts, dtype=np.int64)
    totals = np.add.reduceat(np.where(known, sizes, 0.0), firsts)
    by_size = np.rint(totals / np.maximum(counts, 1))
    busy_ns = np.add.reduceat(steps.lane.busy_ns, firsts)
    by_time = np.rint(np.log2(np.maximum(busy_ns, 1))) + 1_000
    result: Numbers = np.where(2 * counts >= steps.op_counts, by_size, by_time).astype(np.int64)
    return result


def _middle_steps(of_step: Numbers, counts: Numbers) -> Numbers:
    """Of each kind the step in the middle: neither warm-up nor the end."""
    order = np.argsort(of_step, kind="stable")
    middle: Numbers = order[np.cumsum(counts) - counts + counts // 2]
    return middle


def _longest_runs(of_step: Numbers, kind_count: int) -> Numbers:
    changes = np.flatnonzero(np.diff(of_step)) + 1
    firsts = np.concatenate(([0], changes))
    lengths = np.diff(np.append(firsts, of_step.size))
    longest = np.zeros(kind_count, np.int64)
    np.maximum.at(longest, of_step[firsts], lengths)
    return longest
