"""Colours by phase and by step, as the report and all commands tell them."""

from __future__ import annotations

import numpy as np

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
    of_op = view.trace.derived(trace_steps).of_op
    # -1, the ops of no step, is the third class.
    return OpClasses(STEP_LABELS, np.where(of_op < 0, 2, of_op % 2).astype(np.uint8))


PHASE = ByOp("phase", "Phase", _phases)
STEP = ByOp("step", "Step", _steps)
