"""Tables of a PC-sampling capture: what only a thread trace measures is left out of them."""

from __future__ import annotations

from wavescope.model.result import Result, ResultTable, Value

_NOT_SAMPLED = frozenset({"idle", "hits", "stall_per_hit"})
_SAMPLES = {
    "latency": ("Samples", "all samples of it"),
    "stall": ("Stalled", "samples in which it did not issue"),
}


def in_samples(result: Result) -> Result:
    """The result with its columns called by what samples count."""
    result.tables = [_table(table) for table in result.tables]
    result.facts = {
        "samples" if name == "latency" else name: value
        for name, value in result.facts.items()
        if name not in _NOT_SAMPLED
    }
    return result


def _table(table: ResultTable) -> ResultTable:
    if not {"latency", "stall"} <= {column.name for column in table.columns}:
        return table
    kept = [place for place, column in enumerate(table.columns) if column.name not in _NOT_SAMPLED]
    columns = []
    for place in kept:
        column = table.columns[place]
        title, meaning = _SAMPLES.get(column.name, (column.title, column.meaning))
        columns.append(column._replace(title=title, meaning=meaning))
    rows: list[tuple[Value, ...]] = [tuple(row[place] for place in kept) for row in table.rows]
    return ResultTable(table.name, table.title, tuple(columns), rows, table.total_rows)
