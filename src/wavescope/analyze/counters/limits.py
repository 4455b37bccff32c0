"""What values can be at all: shares lie between 0 and 100 percent, rates below their peaks.

Counters of one metric may come from several runs of a program, clocks may be stated wrongly; then a
value can leave these limits and must not be taken for the truth.
"""

from __future__ import annotations

from collections.abc import Mapping

from wavescope.analyze.counters.catalogue import Metric

ABOVE_PERCENT = 101.0
"""A share above this is impossible; up to it the passes may disagree by noise."""
DOUBTFUL = "doubtful: beyond what is physically possible"
SHARES = frozenset(
    (
        "salu_utilization",
        "valu_utilization",
        "mfma_utilization",
        "vmem_utilization",
        "cu_utilization",
        "shader_engine_utilization",
        "lds_utilization",
        "lds_bandwidth_utilization",
        "vl1d_hit_rate",
        "vl1d_bandwidth_utilization",
        "vl1d_coalescing",
        "l2_utilization",
        "l2_bandwidth_utilization",
        "l2_hit_rate",
        "hbm_read_traffic",
        "hbm_write_traffic",
        "utcl1_hit_ratio",
    )
)
"""Metrics that can only be between 0 and 100 percent."""
_OF_DISPATCHES = ("avg", "min", "max", "value")


def is_possible(metric: Metric, statistics: Mapping[str, float | None]) -> bool:
    """Whether all statistics of a metric lie within its limits."""
    share = statistics.get("percent_of_peak")
    if share is not None and share > ABOVE_PERCENT:
        return False
    if metric.key not in SHARES:
        return True
    values = [statistics.get(name) for name in _OF_DISPATCHES]
    return all(value is None or 100 - ABOVE_PERCENT <= value <= ABOVE_PERCENT for value in values)
