"""Findings that figures of a summary tell without another look at ops, and what all share.

`wavescope summary` tells these; `analyze/findings` adds those that need more work.
"""

from wavescope.analyze.quick_findings import evidence_sql
from wavescope.analyze.quick_findings.figure_findings import (
    clock_inversion,
    exposed_communication,
    gpu_idle,
    idle_finding,
    idle_share_percent,
    input_repaired,
    small_gaps,
)
from wavescope.analyze.quick_findings.thresholds import DEFAULT_THRESHOLDS, Thresholds

__all__ = [
    "DEFAULT_THRESHOLDS",
    "Thresholds",
    "clock_inversion",
    "evidence_sql",
    "exposed_communication",
    "gpu_idle",
    "idle_finding",
    "idle_share_percent",
    "input_repaired",
    "small_gaps",
]
