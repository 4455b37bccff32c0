"""All that is known of one op, call or marker, and where what belongs to it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wavescope.errors import UsageError
from wavescope.render.results.json_text import json_bytes
from wavescope.view.answers.call_details import call_details
from wavescope.view.answers.marker_details import marker_details
from wavescope.view.answers.op_details import op_details
from wavescope.view.answers.question import Answer, Asked
from wavescope.view.opening import TraceView

_OF_TABLE: dict[str, Callable[[TraceView, int], dict[str, Any]]] = {
    "ops": op_details,
    "calls": call_details,
    "markers": marker_details,
}


def details(asked: Asked) -> Answer:
    """What is known of the row `row` of the table `table`."""
    view, table, row = asked.view, asked.text("table"), asked.integer("row")
    if table not in _OF_TABLE:
        raise UsageError(f"there is no table '{table}': {', '.join(_OF_TABLE)}")
    view.require_unchanged()
    with view.turn:
        return Answer(json_bytes(_OF_TABLE[table](view, row)))
