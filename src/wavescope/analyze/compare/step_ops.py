"""The steps of a trace (iterations, decode steps) and which ops belong to each."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wavescope.analyze.compare.figures import TraceFigures
from wavescope.analyze.phases.marker_phases import MarkerPhases
from wavescope.analyze.phases.marker_ranges import MarkerRanges
from wavescope.analyze.steps.trace_steps import trace_steps
from wavescope.model.selection import compiled
from wavescope.model.trace import Trace

Numbers = npt.NDArray[np.int64]

STEP_NAMES = r"(?i)^(profilerstep#\d+|(\w+[ ._:/-])?(step|iteration|iter)([ ._:#-]*\d+)?)$"
"""Markers that are steps when nobody says which are."""
OUTSIDE = -1


@dataclass(frozen=True)
class StepOps:
    """Steps in order of time; `of_op` has for each op of the trace its step, -1 outside any."""

    of_op: Numbers
    wall_ns: Numbers
    """How long each step took: its marker, or from its first op's start to its last op's end."""
    source: str
    """How the steps were told, for people."""

    def __len__(self) -> int:
        return len(self.wall_ns)


def steps_of(figures: TraceFigures, pattern: str = "") -> StepOps | None:
    """The steps that markers make, else those that repeating kernels show; None without any."""
    found = None if figures.phases is None else marker_steps(figures.phases, pattern)
    return found or (None if pattern else repeating_steps(figures.trace))


def marker_steps(phases: MarkerPhases, pattern: str = "") -> StepOps | None:
    """The steps that markers matching `pattern` (else `STEP_NAMES`) make; None without any.

    An op belongs to the innermost such range around what caused it, as in docs/phases.md.
    """
    expression = compiled(pattern or STEP_NAMES)
    trace, found, of_range = phases.trace, phases.found, phases.ranges
    host, host_count = _step_of_range(trace, found.host, expression)
    drawn, _ = _step_of_range(trace, found.drawn, expression)
    if not host_count:
        return None
    # A range drawn over GPU work stands for the host's range of the same name.
    names = trace.strings
    number_of_name = {
        names[code]: int(step)
        for code, step in zip(found.host.names.tolist(), host.tolist(), strict=True)
        if step != OUTSIDE and expression.search(names[code])
    }
    drawn = np.array(
        [
            number_of_name.get(names[code], OUTSIDE) if step != OUTSIDE else OUTSIDE
            for code, step in zip(found.drawn.names.tolist(), drawn.tolist(), strict=True)
        ],
        np.int64,
    )
    of_op = np.append(host, OUTSIDE)[of_range.host]
    unknown = of_op == OUTSIDE
    of_op[unknown] = np.append(drawn, OUTSIDE)[of_range.drawn[unknown]]
    return _numbered(of_op, host, found.host, f"markers matching {pattern or 'steps'}")


def _step_of_range(
    trace: Trace, ranges: MarkerRanges, expression: re.Pattern[str]
) -> tuple[Numbers, int]:
    """For each range the innermost step range that is it or holds it, and how many are steps."""
    step = np.full(len(ranges), OUTSIDE, np.int64)
    if not len(ranges):
        return step, 0
    matches = {
        code: bool(expression.search(trace.strings[code])) for code in set(ranges.names.tolist())
    }
    parents = ranges.nesting.parent.tolist()
    names = ranges.names.tolist()
    order = np.argsort(ranges.nesting.depth, kind="stable").tolist()
    count = 0
    for row in order:
        if matches[names[row]]:
            step[row] = row
            count += 1
        elif parents[row] >= 0:
            step[row] = step[parents[row]]
    return step, count


def _numbered(of_op: Numbers, step: Numbers, ranges: MarkerRanges, source: str) -> StepOps:
    """Steps numbered in order of time; those without any op are left out."""
    used = np.unique(of_op[of_op != OUTSIDE])
    used = used[np.argsort(ranges.starts[used], kind="stable")]
    number = np.full(len(step) + 1, OUTSIDE, np.int64)
    number[used] = np.arange(len(used))
    return StepOps(number[of_op], ranges.ends[used] - ranges.starts[used], source)


def repeating_steps(trace: Trace) -> StepOps | None:
    """The steps found by repetition in the queues that carry the work; None where nothing repeats.

    Steps that no neighbour resembles (warm-up, the end) are left out. Ops of other queues belong to
    the step of their GPU that began last before them.
    """
    if not len(trace.ops):
        return None
    of_op = np.full(len(trace.ops), OUTSIDE, np.int64)
    walls: list[Numbers] = []
    on_main = np.zeros(len(trace.ops), bool)
    count = 0
    found = [steps for steps in trace_steps(trace).of_lane if steps.is_repetitive]
    for steps in found:
        on_main[steps.lane.rows] = True
    for steps in found:
        number = np.where(steps.repeats, count + np.cumsum(steps.repeats) - 1, OUTSIDE)
        of_op[steps.lane.rows] = np.repeat(number, steps.op_counts)
        starts = steps.lane.starts[steps.firsts[:-1]]
        ends = steps.lane.busy_until[steps.firsts[1:] - 1]
        walls.append((ends - starts)[steps.repeats])
        count += int(np.count_nonzero(steps.repeats))
        others = np.flatnonzero((trace.ops["gpu"] == steps.lane.gpu) & ~on_main)
        place = np.searchsorted(starts, trace.ops["start_ns"][others], "right") - 1
        of_op[others] = np.append(number, OUTSIDE)[place]
    if not count:
        return None
    return StepOps(of_op, np.concatenate(walls), "repeating kernels")
