"""Metrics of counters for people: tables in their own units, pages, drawings; and as a database.

More than six names go out: each is one output, in a format of its own.
"""

from __future__ import annotations

from wavescope.render.counters.memory_chart import (
    memory_chart_html,
    memory_chart_lines,
    memory_chart_svg,
)
from wavescope.render.counters.metric_database import write_metric_database
from wavescope.render.counters.metric_tables import (
    NumberStyle,
    write_metric_csv,
    write_metric_markdown,
    write_metric_text,
)
from wavescope.render.counters.page import CounterWords, counter_page

__all__ = [
    "CounterWords",
    "NumberStyle",
    "counter_page",
    "memory_chart_html",
    "memory_chart_lines",
    "memory_chart_svg",
    "write_metric_csv",
    "write_metric_database",
    "write_metric_markdown",
    "write_metric_text",
]
