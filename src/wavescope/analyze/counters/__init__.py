"""What hardware counters mean: the metrics of a workload as panels, compared, and findings.

Beside it are doors of its rooms: `metrics` (what a chip's metrics are), `roofline`, and `planning`
(which runs collect what).

More than six names go out: choices of how counters are added up are set by users.
"""

from __future__ import annotations

from wavescope.analyze.counters.measured import Aggregation, NormalUnit
from wavescope.analyze.counters.report import (
    Analysis,
    CounterOptions,
    analysis_result,
    analyzed,
    comparison_result,
    stats_result,
)
from wavescope.analyze.counters.torch_operators import operators_result
from wavescope.analyze.counters.workload_tables import SampleOrder

__all__ = [
    "Aggregation",
    "Analysis",
    "CounterOptions",
    "NormalUnit",
    "SampleOrder",
    "analysis_result",
    "analyzed",
    "comparison_result",
    "operators_result",
    "stats_result",
]
