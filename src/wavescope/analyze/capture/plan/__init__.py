"""The optimization plan: what to change in a traced kernel, in which order, and for how much."""

from wavescope.analyze.capture.plan.kernel_counters import KernelCounters
from wavescope.analyze.capture.plan.plan import plan_result

__all__ = [
    "KernelCounters",
    "plan_result",
]
