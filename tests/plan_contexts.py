"""Thread-trace captures small enough to know by heart, as the plan's patterns see them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.capture_folders import CaptureBuilder
from wavescope.analyze.capture import CaptureAnalysis
from wavescope.analyze.capture.plan import KernelCounters
from wavescope.analyze.capture.plan.context import Opportunity, PlanContext
from wavescope.formats.captures import find_captures, load_capture
from wavescope.model.capture import Flags

Find = Callable[[PlanContext, Flags], list[Opportunity]]


def analysis(builder: CaptureBuilder, folder: Path) -> CaptureAnalysis:
    """The capture, written and read back."""
    return CaptureAnalysis(load_capture(find_captures([builder.write(folder)])[0]))


def a_context(
    builder: CaptureBuilder, folder: Path, counters: KernelCounters | None = None
) -> PlanContext:
    """What patterns look at."""
    return PlanContext(analysis(builder, folder), counters)


def found_by(find: Find, context: PlanContext) -> list[Opportunity]:
    """What a pattern finds when no stall is taken yet."""
    return find(context, np.ones(len(context.pieces), np.bool_))


def exposed_of(context: PlanContext, opportunity: Opportunity) -> int:
    """The exposed cycles that an opportunity claims."""
    return int(context.pieces.exposed[opportunity.pieces].sum())
