"""Hardware counters of a program, collected by rocprofv3 in passes into a workload's folder."""

from __future__ import annotations

from wavescope.collect.counters.collection import (
    Collected,
    CollectOptions,
    CounterPlan,
    collect,
)
from wavescope.collect.counters.system_info import gpu_here
from wavescope.collect.counters.workload_folder import require_no_launcher

__all__ = [
    "CollectOptions",
    "Collected",
    "CounterPlan",
    "collect",
    "gpu_here",
    "require_no_launcher",
]
