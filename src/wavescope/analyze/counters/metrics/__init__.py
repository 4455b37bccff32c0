"""The metrics of a chip: what they mean, how they are computed, and a user's own beside them.

More than six names go out: lists, charts and users' own metrics start from the same catalogue.
"""

from __future__ import annotations

from wavescope.analyze.counters.catalogue import BASE_CHIP, CHIPS, Catalogue, catalogue_for
from wavescope.analyze.counters.metrics.lists import available_metrics, metric_list
from wavescope.analyze.counters.metrics.own_metrics import with_own_metrics
from wavescope.analyze.counters.panels import ChartBox, chart_boxes, chart_values

__all__ = [
    "BASE_CHIP",
    "CHIPS",
    "Catalogue",
    "ChartBox",
    "available_metrics",
    "catalogue_for",
    "chart_boxes",
    "chart_values",
    "metric_list",
    "with_own_metrics",
]
