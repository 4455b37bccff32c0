"""What formats have no place for, and what a trace loses by it: nothing is lost without a word.

docs/formats.md has the same as a table; a test writes every column in every format and reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from wavescope.model.columns import (
    AGENTS,
    COPIES,
    COUNTERS,
    LAUNCHES,
    OPS,
    PROCESSES,
    SLICES,
    TABLES,
    ColumnType,
    Table,
)
from wavescope.model.source import TraceSource, missing_value

LeftOut = Mapping[Table, tuple[str, ...]]
"""By table the columns that a format does not carry; no columns: it does not carry the table."""

_OF_TIMELINES: LeftOut = {LAUNCHES: (), COPIES: (), COUNTERS: ()}
_OF_ROCPROFV3: LeftOut = {
    OPS: ("sequence", "hardware_queue", "graph", "graph_node", "marker"),
    LAUNCHES: (),
    COPIES: (),
    PROCESSES: ("parent_pid", "world_size", "origin"),
    AGENTS: ("process",),
}
_OF_ONE_TABLE: LeftOut = {table: () for table in TABLES if table is not OPS}

FURTHER_LINKS = (
    "links from a second call to the same op are not carried: the format has room for one"
)


def of_timelines() -> LeftOut:
    """What Perfetto and Chrome JSON have no place for."""
    return _OF_TIMELINES


def of_rocprofv3() -> LeftOut:
    """What rocprofv3 JSON has no place for."""
    return _OF_ROCPROFV3


def of_one_table() -> LeftOut:
    """What a file of one table has no place for."""
    return _OF_ONE_TABLE


_HARDLY_MISSED = frozenset({PROCESSES, AGENTS})
"""Their few columns are not worth a sentence with every conversion."""
_SAMPLED = "slices were recorded, which are not in {} files: what lies between them is not idle"


def losses(source: TraceSource, format_name: str, leaves_out: LeftOut) -> Iterator[tuple[str, int]]:
    """Sentences on what of `source` the format does not carry, each with a number of rows."""
    lost = {
        table: rows
        for table, columns in leaves_out.items()
        if not columns and (rows := _row_count(source, table))
    }
    if lost:
        what = f"rows of {_listed([table.name for table in lost])}"
        yield _sentence(what, format_name, lost), sum(lost.values())
    if SLICES in lost:
        yield _SAMPLED.format(format_name), lost[SLICES]
    for table, columns in leaves_out.items():
        if columns and table not in _HARDLY_MISSED:
            known, rows = _known_columns(source, table, columns)
            if rows:
                what = f"{_listed(known)} of {table.name}"
                yield _sentence(what, format_name, [table]), rows


def _sentence(what: str, format_name: str, lost: Iterable[Table]) -> str:
    """That something is not carried, and by which formats it would be."""
    others = [".db", ".rpd"]
    if all(table not in _OF_ROCPROFV3 for table in lost):
        others.append("rocprofv3")
    return f"{what} are not in {format_name} files, but in {_listed(others)} files"


def _row_count(source: TraceSource, table: Table) -> int:
    if not source.row_count(table):
        return 0
    first = table.column_names[0]
    return sum(len(batch[first]) for batch in source.batches(table, (first,)))


def _known_columns(
    source: TraceSource, table: Table, columns: tuple[str, ...]
) -> tuple[list[str], int]:
    """Which of the columns hold anything, and in how many rows."""
    found: dict[str, None] = {}
    rows = 0
    for batch in source.batches(table, columns):
        masks = {name: batch[name] != _nothing(table, name) for name in columns}
        found |= {name: None for name, mask in masks.items() if mask.any()}
        rows += int(np.logical_or.reduce(list(masks.values())).sum())
    return list(found), rows


def _nothing(table: Table, name: str) -> int | float:
    column = table.column(name)
    assert column.type is not ColumnType.REAL  # which is never equal to itself
    return missing_value(column)


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
