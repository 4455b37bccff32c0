"""Thread-trace captures small enough to know by heart, as the plan's patterns see them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.thread_trace_folders import CaptureBuilder
from wavescope.analyze.capture.decoded import DecodedTrace
from wavescope.analyze.capture.plan.context import Counters, PlanContext
from wavescope.analyze.capture.plan.opportunity import Opportunity
from wavescope.formats.captures import find_captures, load_thread_trace
from wavescope.model.capture import Flags

Find = Callable[[PlanContext, Flags], list[Opportunity]]


def decoded(builder: CaptureBuilder, folder: Path) -> DecodedTrace:
    """The capture, written and read back."""
    return DecodedTrace(load_thread_trace(find_captures([builder.write(folder)])[0]))


def a_context(
    builder: CaptureBuilder, folder: Path, counters: Counters | None = None
) -> PlanContext:
    """What patterns look at."""
    return PlanContext(decoded(builder, folder), counters)


def found_by(find: Find, context: PlanContext) -> list[Opportunity]:
    """What a pattern finds when no stall is taken yet."""
    return find(context, np.ones(len(context.pieces), np.bool_))


def exposed_of(context: PlanContext, opportunity: Opportunity) -> int:
    """The exposed cycles that an opportunity claims."""
    return int(context.pieces.exposed[opportunity.pieces].sum())
