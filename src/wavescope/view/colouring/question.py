"""The question `colouring`: the classes of a trace in one colouring, and their colours."""

from __future__ import annotations

import json

from wavescope.render.html.charts import series_of
from wavescope.view.answers import Answer, Asked
from wavescope.view.colouring.all_colourings import colouring_of


def colouring(asked: Asked) -> Answer:
    """Labels, and for each the number of its colour; of some they are found out only now."""
    by = colouring_of(asked.text("by"))
    labels = by.labels(asked.view)
    return Answer(json.dumps({"labels": labels, "series": series_of(labels)}).encode())
