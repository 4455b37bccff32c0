"""Points in time as people read them: how long after the trace's first event.

Files and programs get timestamps as recorded; `first_timestamp_ns` is what leads back to them.
"""

from __future__ import annotations

from dataclasses import replace

from wavescope.model.result import Result, ResultTable, Unit, Value

ORIGIN = "first_timestamp_ns"
"""The fact that times are counted from; without it timestamps stay as they are."""


def counted_from_start(result: Result) -> Result:
    """The result with each timestamp replaced by the time since the trace's first event."""
    origin_ns = result.facts.get(ORIGIN)
    if not isinstance(origin_ns, int):
        return result
    return result.with_only_tables(_relative(table, origin_ns) for table in result.tables)


def _relative(table: ResultTable, origin_ns: int) -> ResultTable:
    is_time = [column.unit is Unit.TIME for column in table.columns]
    if not any(is_time):
        return table

    def since(value: Value) -> Value:
        return value - origin_ns if isinstance(value, int) else value

    columns = tuple(
        column._replace(unit=Unit.NS) if column.unit is Unit.TIME else column
        for column in table.columns
    )
    rows = [
        tuple(since(value) if timed else value for value, timed in zip(row, is_time, strict=True))
        for row in table.rows
    ]
    return replace(table, columns=columns, rows=rows)
