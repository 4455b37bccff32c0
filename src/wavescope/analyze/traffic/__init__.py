"""How a kernel uses L2 and memory, from hardware counters, and what that means.

More than six names go out: the figures of a kernel and what they mean are also evidence of plans
and findings.
"""

from __future__ import annotations

from wavescope.analyze.traffic.decisions import (
    CEILING_PERCENT,
    MemoryUse,
    Verdict,
    conclude,
    memory_use,
)
from wavescope.analyze.traffic.kernels import (
    KernelTraffic,
    TrafficOptions,
    chosen_dispatches,
    counters_of_trace,
    kernel_traffic,
    kernels_of,
    mean_counters,
)
from wavescope.analyze.traffic.report import traffic_result
from wavescope.analyze.traffic.requests import TRAFFIC_COUNTERS

__all__ = [
    "CEILING_PERCENT",
    "TRAFFIC_COUNTERS",
    "KernelTraffic",
    "MemoryUse",
    "TrafficOptions",
    "Verdict",
    "chosen_dispatches",
    "conclude",
    "counters_of_trace",
    "kernel_traffic",
    "kernels_of",
    "mean_counters",
    "memory_use",
    "traffic_result",
]
