"""Which step an op belongs to that no step is told by: copies, fills, the work of other queues.

The hardware queue that a stream was given says nothing about it, so that all steps of a GPU are
looked at together, in the order in which they began. docs/serving-phases.md publishes the rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from wavescope.analyze.steps.lane_steps import LaneSteps
from wavescope.analyze.steps.lanes import Lane, joined_lanes
from wavescope.analyze.steps.moves import Directions, Move
from wavescope.analyze.steps.repetition import Positions, Signatures
from wavescope.arrays.intervals import Times
from wavescope.arrays.nesting import containing_range

Flags = npt.NDArray[np.bool_]
NO_STEP = -1
_Place = tuple[int, int | None]
"""A GPU with a process, or without one for all of them."""


@dataclass(frozen=True)
class BesideSteps:
    """The ops of a lane, and the step of some other lane that each belongs to."""

    lane: Lane
    leading: Positions
    """For each op the number of that other lane, -1 for none."""
    steps: Positions
    """For each op the number of its step there, -1 for none."""


def beside_steps(
    leading: Sequence[LaneSteps], lanes: Sequence[Lane], moves: Directions
) -> list[BesideSteps]:
    """For each of `lanes` on a GPU of `leading` the step of each op; `moves` are those of all ops.

    It is a step of the same process where that has any.
    """
    led: dict[_Place, list[int]] = {}
    for number, steps in enumerate(leading):
        for place in _places(steps.lane):
            led.setdefault(place, []).append(number)
    beside: dict[_Place, list[Lane]] = {}
    for lane in lanes:
        nearest = next((place for place in _places(lane) if place in led), None)
        if nearest is not None:
            beside.setdefault(nearest, []).append(lane)
    placed = [
        each
        for place, of_place in beside.items()
        for each in _placed(_Timeline.of(leading, led[place]), of_place, moves)
    ]
    own = {steps.lane.place: number for number, steps in enumerate(leading)}
    return [_while_own_steps_run(each, leading, own.get(each.lane.place)) for each in placed]


def with_moves(steps: LaneSteps, number: int, beside: Sequence[BesideSteps]) -> LaneSteps:
    """The steps of lane `number` with what was moved on its own queue for them."""
    mine = [each for each in beside if each.lane.place == steps.lane.place]
    if not mine:
        return steps
    chosen = [each.leading == number for each in mine]
    moved = [each.lane.part(here) for each, here in zip(mine, chosen, strict=True)]
    lane = joined_lanes([steps.lane, *moved])
    step_of_kernel = np.repeat(np.arange(len(steps)), steps.op_counts)
    step_of_moved = [each.steps[here] for each, here in zip(mine, chosen, strict=True)]
    order = np.argsort(lane.starts, kind="stable")
    step = np.maximum.accumulate(np.concatenate([step_of_kernel, *step_of_moved])[order])
    firsts = np.searchsorted(step, np.arange(len(steps) + 1))
    return replace(steps, lane=lane.part(order), firsts=firsts)


def _places(lane: Lane) -> tuple[_Place, _Place]:
    return (lane.gpu, lane.process), (lane.gpu, None)


def _placed(timeline: _Timeline, lanes: Sequence[Lane], moves: Directions) -> list[BesideSteps]:
    times = np.concatenate([lane.starts for lane in lanes])
    rows = np.concatenate([lane.rows for lane in lanes])
    order = np.argsort(times, kind="stable")
    place = np.empty(order.size, np.int64)
    place[order] = timeline.place_of(times[order], moves[rows[order]])
    bounds = np.cumsum([len(lane) for lane in lanes])[:-1]
    parts = zip(lanes, np.split(place, bounds), strict=True)
    return [BesideSteps(lane, timeline.lanes[part], timeline.steps[part]) for lane, part in parts]


def _while_own_steps_run(
    beside: BesideSteps, leading: Sequence[LaneSteps], number: int | None
) -> BesideSteps:
    """The same, but what begins in a step of its own queue, lane `number`, belongs to that."""
    if number is None:
        return beside
    own, times = leading[number], beside.lane.starts
    step = np.searchsorted(own.start_ns, times, side="right") - 1
    runs = (step >= 0) & (times < own.end_ns[step])
    return BesideSteps(
        beside.lane, np.where(runs, number, beside.leading), np.where(runs, step, beside.steps)
    )


@dataclass(frozen=True)
class _Timeline:
    """The steps of some lanes in the order in which they began."""

    lanes: Positions
    """The number of each step's lane; the last entry stands for no step."""
    steps: Positions
    """The number of each step in its lane; the last entry stands for no step."""
    starts: Times
    ends: Times
    signatures: Signatures

    @classmethod
    def of(cls, leading: Sequence[LaneSteps], numbers: Sequence[int]) -> _Timeline:
        """The steps of the lanes with these numbers."""
        chosen = [leading[number] for number in numbers]
        counts = [len(steps) for steps in chosen]
        starts = np.concatenate([steps.start_ns for steps in chosen])
        ends = np.concatenate([steps.end_ns for steps in chosen])
        signatures = np.concatenate([steps.signatures for steps in chosen])
        within = np.concatenate([np.arange(count) for count in counts])
        order = np.argsort(starts, kind="stable")
        return cls(
            np.append(np.repeat(numbers, counts)[order], NO_STEP),
            np.append(within[order], NO_STEP),
            starts[order],
            np.maximum(starts, ends)[order],
            signatures[order],
        )

    def place_of(self, times: Times, moves: Directions) -> Positions:
        """Where the step of each op stands here, -1 for none; ops are given in order of time."""
        running = containing_range(times, self.starts, self.ends)
        following = np.searchsorted(self.starts, times, side="right")
        is_between = running == NO_STEP
        is_input = _prepares_next(following, is_between, moves, self.starts.size)
        is_input &= following < self.starts.size
        place = np.where(is_input, following, np.where(is_between, self._ended(times), running))
        is_early = is_between & (following == 0)
        place[is_early & (moves == Move.NONE)] = 0
        loads = np.flatnonzero(is_early & np.isin(moves, (Move.TO_GPU, Move.OTHER)))
        place[loads] = NO_STEP
        # The last of them are no part of the model, but the first step's own inputs.
        inputs_of_other = np.count_nonzero(is_input & (following == self._compared_with_first))
        place[loads[max(loads.size - inputs_of_other, 0) :]] = 0
        return place

    def _ended(self, times: Times) -> Positions:
        """The step that ended last at each time, -1 before any."""
        by_end = np.argsort(self.ends, kind="stable")
        ended = np.searchsorted(self.ends[by_end], times, side="right")
        return np.append(by_end, NO_STEP)[ended - 1]

    @property
    def _compared_with_first(self) -> int:
        """The next step that holds the same, the second one without such, -1 without any."""
        if self.starts.size == 1:
            return NO_STEP
        alike = np.flatnonzero(self.signatures[1:] == self.signatures[0])
        return 1 + int(alike[0]) if alike.size else 1


def _prepares_next(
    following: Positions, is_between: Flags, moves: Directions, step_count: int
) -> Flags:
    """Which ops between two steps are for the following one: copies to the GPU and fills, copies
    after the first of these, since a host does one thing at a time, and of other copies of unknown
    direction all but the first few: as many as follow the last step are results."""
    to_gpu = is_between & (moves == Move.TO_GPU)
    unknown = is_between & (moves == Move.OTHER)
    results = np.count_nonzero(unknown & (following == step_count))
    gap = np.searchsorted(following, following, side="left")
    is_input = unknown & (_count_since(unknown, gap) >= results)
    prepares: Flags = to_gpu | is_input | (unknown & (_count_since(to_gpu, gap) > 0))
    return prepares


def _count_since(chosen: Flags, first: Positions) -> Positions:
    """How many ops are chosen from the given first one on and before each op."""
    before: Positions = np.cumsum(chosen, dtype=np.int64) - chosen
    return before - before[first]
