"""The question `colouring`: the classes of a trace in one colouring, and their colours."""

from __future__ import annotations

from wavescope.render.html.charts import series_of
from wavescope.render.results.json_text import json_bytes
from wavescope.view.answers.question import Answer, Asked
from wavescope.view.colouring import colouring_of


def colouring(asked: Asked) -> Answer:
    """Labels, and for each the number of its colour; of some they are found out only now."""
    by = colouring_of(asked.text("by"))
    labels = by.labels(asked.view)
    return Answer(json_bytes({"labels": labels, "series": series_of(labels)}))
