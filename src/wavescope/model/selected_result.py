"""What a result says of the trace it is of: which part, and when that began."""

from __future__ import annotations

from collections.abc import Callable

from wavescope.model.result import Result, ResultTable, Unit
from wavescope.model.selection import Selection


def with_selection(result: Result, selection: Selection) -> Result:
    """The result, which says what part of the trace it is of."""
    return result if selection.is_everything else result.with_facts({"selection": str(selection)})


def with_origin(result: Result, first_ns: Callable[[], int]) -> Result:
    """The result with the time of the trace's first event, where it has points in time."""
    if not any(_has_times(table) for table in result.tables):
        return result
    return result.with_facts({"first_timestamp_ns": first_ns()})


def _has_times(table: ResultTable) -> bool:
    return bool(table.rows) and any(column.unit is Unit.TIME for column in table.columns)
