"""The steps of a trace: of each queue that carries the work of its GPU."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wavescope.analyze.steps.lane_steps import LaneSteps, lane_steps
from wavescope.analyze.steps.lanes import Lane, Lanes, lanes_of
from wavescope.analyze.steps.repetition import Positions
from wavescope.analyze.steps.step_roles import step_roles
from wavescope.model.trace import Trace


@dataclass(frozen=True)
class TraceSteps:
    """The lanes of a trace, and the steps of the main ones."""

    lanes: Lanes
    of_lane: tuple[LaneSteps, ...]
    launches: tuple[Positions, ...]
    """For each op of each main lane a number that ops launched together as a graph share."""


def trace_steps(trace: Trace) -> TraceSteps:
    """The steps of every main lane of `trace`."""
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
    correlation = trace.ops["correlation"][lane.rows]
    alone = -2 - np.arange(len(lane), dtype=np.int64)
    return np.where(correlation < 0, alone, correlation)
