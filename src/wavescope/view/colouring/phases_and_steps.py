"""Colours by phase and by step, as the report and all commands tell them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavescope.analyze.page import phase_colouring
from wavescope.analyze.phases import phases_of
from wavescope.analyze.steps import Steps, steps_of
from wavescope.model.trace import Trace
from wavescope.view.colouring.by_op import ByOp, OpClasses
from wavescope.view.opening import TraceView

NO_PHASES = "no phases are known"
STEP_LABELS = ("odd steps", "even steps", "outside any step")
"""Steps are numbered from 1 on, as in `wavescope steps`."""


def trace_steps(trace: Trace) -> Steps:
    """The steps of a trace; `trace.derived` keeps them."""
    phases = trace.derived(phases_of)
    return steps_of(
        trace,
        marked=None if phases.marked is None else phases.marked.marked_ops,
        repeated=None if phases.found is None else phases.found.steps,
    )


def _phases(view: TraceView) -> OpClasses:
    trace = view.trace
    found = phase_colouring(trace.op_length_ns, trace.derived(phases_of))
    if found is None:
        return OpClasses((NO_PHASES,), np.zeros(len(trace.ops), np.uint8))
    return OpClasses(found.labels, found.of_op)


def _steps(view: TraceView) -> OpClasses:
    numbers = _numbers_on_queues(view.trace.derived(trace_steps))
    # -1, the ops of no step, is the third class.
    return OpClasses(STEP_LABELS, np.where(numbers < 0, 2, numbers % 2).astype(np.uint8))


def _numbers_on_queues(steps: Steps) -> npt.NDArray[np.int64]:
    """Of each op the number of its step on its queue from 0 on, as in the table of steps.

    An op beside the queues that have steps has the number of one that it runs with; -1: no step.
    """
    number_of = np.full(len(steps) + 1, -1, np.int64)  # the last entry answers for -1
    of_lanes = []
    for lane in steps.of_lane:
        begun = steps.of_op[lane.lane.rows[lane.firsts[:-1]]]
        of_lanes.append((lane.lane.rows, begun))
        number_of[begun] = np.arange(len(lane))
    numbers: npt.NDArray[np.int64] = number_of[steps.of_op]
    for rows, begun in of_lanes:
        # Marked steps have several queues, of which each counts those that it takes part in.
        number_of[begun] = np.arange(len(begun))
        numbers[rows] = number_of[steps.of_op[rows]]
    return numbers


PHASE = ByOp("phase", "Phase", _phases)
STEP = ByOp("step", "Step", _steps)
