"""What patterns look at, and what they give back: stall in pieces, loops, operands, counters."""

from wavescope.analyze.capture.plan.evidence.context import Group, PlanContext
from wavescope.analyze.capture.plan.evidence.kernel_counters import KernelCounters
from wavescope.analyze.capture.plan.evidence.operands import operands_of
from wavescope.analyze.capture.plan.evidence.opportunity import Opportunity, Sketch

__all__ = [
    "Group",
    "KernelCounters",
    "Opportunity",
    "PlanContext",
    "Sketch",
    "operands_of",
]
