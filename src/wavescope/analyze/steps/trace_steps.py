"""The steps of a trace, told by markers or by what repeats: the one answer to "which step is it".

Ranges that are named like steps and hold ops are the steps, if there are several; otherwise steps
are what repeats on the queues that carry the work. docs/serving-phases.md publishes the rule.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from wavescope.analyze.markers import MarkedOps, MarkerRanges, has_markers, marked_ops
from wavescope.analyze.ops.coverage import recorded
from wavescope.analyze.steps.beside import BesideSteps, beside_steps, with_moves
from wavescope.analyze.steps.lane_steps import LaneSteps, divided, lane_steps
from wavescope.analyze.steps.lanes import Lane, Lanes, lanes_of
from wavescope.analyze.steps.layers import layer_parts
from wavescope.analyze.steps.repetition import Positions
from wavescope.analyze.steps.step_level import step_roles
from wavescope.arrays.coded_columns import code_counts, different_values, looked_up
from wavescope.model.trace import Trace
from wavescope.patterns import compiled

ENGINE_STEP_NAMES = (
    r"execute(_\d+)?_(context|new)_\d+.*|(step\[)?(DECODE|EXTEND|MIXED|IDLE|PREFILL)\b.*bs=\d+.*"
)
"""What serving engines write around each step."""
STEP_NAMES = (
    r"(?i)^(profilerstep#\d+|(\w+[ ._:/-])?(step|iteration|iter)([ ._:#-]*\d+)?|"
    rf"{ENGINE_STEP_NAMES})$"
)
"""Markers that are steps when nobody says which are."""
_ENGINE_STEP = re.compile(f"(?i)^({ENGINE_STEP_NAMES})$")
OUTSIDE = -1


@dataclass(frozen=True)
class StepOptions:
    """What steps are told by."""

    marker: str = ""
    """A regular expression: markers that are steps, and nothing else is; empty for usual names."""
    use_markers: bool = True
    """Whether markers count at all."""


class StepSource(str, enum.Enum):
    """Where steps come from."""

    MARKERS = "markers"
    STRUCTURE = "structure"
    NONE = "none"


@dataclass(frozen=True)
class Steps:
    """The steps of a trace: of every op its step, of every step its time."""

    trace: Trace
    source: StepSource
    of_op: Positions
    """The number of each op's step, -1 outside any."""
    wall_ns: Positions
    """How long each step took: its marker, or from its first op's start to its last op's end."""
    is_regular: npt.NDArray[np.bool_]
    """Whether a step was marked, or a neighbour on its queue resembles it."""
    told_by: str = ""
    """How the steps were told, for people."""
    repeated: RepeatedSteps | None = None
    names: Positions | None = None
    """The code of each step's marker's name; None for steps that no marker tells."""

    def __len__(self) -> int:
        return len(self.wall_ns)

    def only_regular(self) -> Steps:
        """The same without steps that no neighbour resembles: warm-up, the end, what comes once."""
        if self.is_regular.all():
            return self
        number = np.append(np.where(self.is_regular, np.cumsum(self.is_regular) - 1, OUTSIDE), -1)
        return replace(
            self,
            of_op=number[self.of_op],
            wall_ns=self.wall_ns[self.is_regular],
            is_regular=self.is_regular[self.is_regular],
            names=None if self.names is None else self.names[self.is_regular],
        )

    @property
    def is_named(self) -> bool:
        """Whether markers, or kernels by their names, tell where steps begin or end."""
        lanes = () if self.repeated is None else self.repeated.with_steps
        return self.source is StepSource.MARKERS or any(steps.is_named for steps in lanes)

    @cached_property
    def of_lane(self) -> tuple[LaneSteps, ...]:
        """The steps as each queue that carries the work of its GPU saw them."""
        if self.repeated is not None:
            return self.repeated.with_steps
        if self.source is StepSource.NONE:
            return ()
        lanes = lanes_of(self.trace).main_lanes
        found = (_marked_lane(lane, self.of_op[lane.rows]) for lane in lanes)
        return tuple(steps for steps in found if steps is not None)


def steps_of(
    trace: Trace,
    options: StepOptions | None = None,
    *,
    marked: MarkedOps | None = None,
    repeated: RepeatedSteps | None = None,
) -> Steps:
    """The steps of `trace`; callers who have `marked` or `repeated` already pass them on."""
    options = options or StepOptions()
    if not len(trace.ops):
        return _no_steps(trace)
    if options.use_markers and has_markers(trace):
        by_markers = _marked_steps(trace, marked or marked_ops(trace), options.marker)
    else:
        by_markers = _no_steps(trace)
    if options.marker or len(by_markers) > 1 or recorded(trace) is not None:
        return by_markers
    repeating = _repeating_steps(trace, repeated)
    if not len(repeating) or (_holds_most(by_markers) and not repeating.is_named):
        return by_markers
    return repeating


def _holds_most(steps: Steps) -> bool:
    """Whether steps hold at least half of the GPU time."""
    lengths_ns = steps.trace.op_length_ns
    held_ns = int(lengths_ns[steps.of_op != OUTSIDE].sum())
    return len(steps) > 0 and 2 * held_ns >= int(lengths_ns.sum())


def _no_steps(trace: Trace) -> Steps:
    nothing = np.empty(0, np.int64)
    of_op = np.full(len(trace.ops), OUTSIDE, np.int64)
    return Steps(trace, StepSource.NONE, of_op, nothing, nothing.astype(bool))


def _marked_steps(trace: Trace, marked: MarkedOps, pattern: str) -> Steps:
    """The steps that markers matching `pattern` (else `STEP_NAMES`) make.

    An op belongs to the innermost such range around what caused it, as in docs/phases.md.
    """
    expression = compiled(pattern or STEP_NAMES)
    found, ranges = marked.found, marked.ranges
    host = step_of_range(trace, found.host, expression)
    drawn = step_of_range(trace, found.drawn, expression)
    # A range drawn over GPU work stands for the host's range of the same name.
    number_of_name = {
        code: row
        for row, (code, step) in enumerate(zip(found.host.names.tolist(), host, strict=True))
        if step == row
    }
    drawn_names = found.drawn.names.tolist()
    drawn = [
        number_of_name.get(drawn_names[step], OUTSIDE) if step >= 0 else step for step in drawn
    ]
    range_of_op: Positions | npt.NDArray[np.int32] = ranges.host
    step_of = np.array([*host, OUTSIDE], np.int64)
    if drawn:
        range_of_op = looked_up(step_of, ranges.host)
        unknown = range_of_op == OUTSIDE
        range_of_op[unknown] = np.array([*drawn, OUTSIDE], np.int64)[ranges.drawn[unknown]]
        step_of = np.append(np.arange(len(host)), OUTSIDE)
    met = step_of[np.flatnonzero(code_counts(range_of_op, len(host)))]
    used = different_values(met[met != OUTSIDE])
    if not used.size:
        return _no_steps(trace)
    starts, ends = found.host.starts, found.host.ends
    used = used[np.argsort(starts[used], kind="stable")]
    number = np.full(len(host) + 1, OUTSIDE, np.int64)
    number[used] = np.arange(used.size)
    return Steps(
        trace,
        StepSource.MARKERS,
        # From ranges to the numbers of steps once for each range, not for each op.
        looked_up(number[step_of], range_of_op),
        ends[used] - starts[used],
        np.ones(used.size, bool),
        f"markers matching {pattern or 'steps'}",
        names=found.host.names[used].astype(np.int64),
    )


def step_of_range(trace: Trace, ranges: MarkerRanges, expression: re.Pattern[str]) -> list[int]:
    """For each range the innermost step range that is it or holds it, -1 without any."""
    step = [OUTSIDE] * len(ranges)
    if not step:
        return step
    names = ranges.names.tolist()
    texts = {code: trace.strings[code] for code in set(names)}
    matches = {code: bool(expression.search(text)) for code, text in texts.items()}
    is_engine = {code: bool(_ENGINE_STEP.search(text)) for code, text in texts.items()}
    parents = ranges.nesting.parent.tolist()
    for row in np.argsort(ranges.nesting.depth, kind="stable").tolist():
        outer = step[parents[row]] if parents[row] >= 0 else OUTSIDE
        # An engine may write two ranges around one step.
        is_same = outer >= 0 and is_engine[names[row]] and is_engine[names[outer]]
        step[row] = row if matches[names[row]] and not is_same else outer
    return step


def _marked_lane(lane: Lane, step_of_op: Positions) -> LaneSteps | None:
    """The marked steps of a lane; what runs between them counts as work beside it."""
    inside = step_of_op != OUTSIDE
    if not inside.any():
        return None
    kept = lane.part(inside)
    if not inside.all():
        kept = replace(kept, beside=(*lane.beside, lane.part(~inside)))
    # A late op of an earlier step does not begin that step anew.
    order = np.maximum.accumulate(step_of_op[inside])
    firsts = np.concatenate(([0], np.flatnonzero(np.diff(order)) + 1, [order.size]))
    return divided(kept, firsts, is_marked=True)


@dataclass(frozen=True)
class RepeatedSteps:
    """The lanes of a trace, and the steps of the main ones by what repeats."""

    COLUMNS: ClassVar = (
        "gpu",
        "queue",
        "process",
        "start_ns",
        "end_ns",
        "type",
        "name",
        "correlation",
    )
    """The columns of ops that steps are found with: one pass over the file loads all of them."""

    trace: Trace
    lanes: Lanes
    of_lane: tuple[LaneSteps, ...]
    """The steps of what the program launched on each main lane (`lanes.main_programs`)."""
    launches: tuple[Positions, ...]
    """For each op of `of_lane` a number that ops launched together as a graph share."""

    def beside(self, leading: Sequence[LaneSteps]) -> list[BesideSteps]:
        """To which step of `leading`, some of `of_lane`, each other op belongs."""
        led = {id(steps.lane) for steps in leading}
        others = (steps.lane for steps in self.of_lane if id(steps.lane) not in led)
        return beside_steps(leading, [*self.lanes.rest, *others], self.lanes.moves.of_op)

    @cached_property
    def repeating(self) -> tuple[LaneSteps, ...]:
        """Those of `of_lane` in which something repeats."""
        return tuple(steps for steps in self.of_lane if steps.has_steps)

    @cached_property
    def beside_repeating(self) -> list[BesideSteps]:
        """To which step of these each other op belongs."""
        return self.beside(self.repeating)

    @cached_property
    def with_steps(self) -> tuple[LaneSteps, ...]:
        """The main lanes in which something repeats, with what was moved there for their steps."""
        return tuple(
            with_moves(steps, number, self.beside_repeating)
            for number, steps in enumerate(self.repeating)
        )


def repeated_steps(trace: Trace) -> RepeatedSteps:
    """The steps that repetition shows in every main lane of `trace`."""
    trace.ops.load(*RepeatedSteps.COLUMNS)
    lanes = lanes_of(trace)
    roles = step_roles(lanes.texts, lanes.is_frequent)
    parts = layer_parts(lanes.texts, lanes.is_frequent)
    launches = tuple(_launches(trace, lane) for lane in lanes.main_programs)
    steps = tuple(
        lane_steps(lane, roles, launched, parts)
        for lane, launched in zip(lanes.main_programs, launches, strict=True)
    )
    return RepeatedSteps(trace, lanes, steps, launches)


def _launches(trace: Trace, lane: Lane) -> Positions:
    """A graph's ops share the correlation of the call that launched it."""
    launches: Positions = trace.ops["correlation"][lane.rows]
    alone = np.flatnonzero(launches < 0)
    launches[alone] = -2 - alone
    return launches


def _repeating_steps(trace: Trace, repeated: RepeatedSteps | None) -> Steps:
    """All steps of the lanes that have any; ops of other queues belong to the step meanwhile."""
    repeated = repeated or repeated_steps(trace)
    found = repeated.with_steps
    if not found:
        return _no_steps(trace)
    of_op = np.full(len(trace.ops), OUTSIDE, np.int64)
    firsts = np.cumsum([0, *(len(steps) for steps in found)])
    for first, steps in zip(firsts.tolist(), found, strict=False):
        of_op[steps.lane.rows] = np.repeat(first + np.arange(len(steps)), steps.op_counts)
    for beside in repeated.beside_repeating:
        step = firsts[beside.leading] + beside.steps
        of_op[beside.lane.rows] = np.where(beside.steps >= 0, step, OUTSIDE)
    return Steps(
        trace,
        StepSource.STRUCTURE,
        of_op,
        np.concatenate([steps.span_ns for steps in found]),
        np.concatenate([steps.repeats for steps in found]),
        "repeating kernels",
        repeated,
    )
