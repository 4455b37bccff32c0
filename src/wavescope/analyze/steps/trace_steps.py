"""The steps of a trace: of each queue that carries the work of its GPU."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wavescope.analyze.steps.lane_steps import LaneSteps, lane_steps
from wavescope.analyze.steps.lanes import Lane, Lanes, lanes_of
from wavescope.analyze.steps.repetition import Positions
from wavescope.analyze.steps.step_roles import step_roles
from wavescope.model.trace import Trace

STEP_COLUMNS = (
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


@dataclass(frozen=True)
class TraceSteps:
    """The lanes of a trace, and the steps of the main ones."""

    lanes: Lanes
    of_lane: tuple[LaneSteps, ...]
    launches: tuple[Positions, ...]
    """For each op of each main lane a number that ops launched together as a graph share."""


def trace_steps(trace: Trace) -> TraceSteps:
    """The steps of every main lane of `trace`."""
    trace.ops.load(*STEP_COLUMNS)
    lanes = lanes_of(trace)
    roles = step_roles(lanes.texts, lanes.is_frequent)
    launches = tuple(_launches(trace, lane) for lane in lanes.main_lanes)
    steps = tuple(
        lane_steps(lane, roles, launched)
        for lane, launched in zip(lanes.main_lanes, launches, strict=True)
    )
    return TraceSteps(lanes, steps, launches)


def _launches(trace: Trace, lane: Lane) -> Positions:
    """A graph's ops share the correlation of the call that launched it."""
    launches: Positions = trace.ops["correlation"][lane.rows]
    alone = np.flatnonzero(launches < 0)
    launches[alone] = -2 - alone
    return launches
