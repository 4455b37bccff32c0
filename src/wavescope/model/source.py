"""Where a trace's rows come from: the protocol that every importer's result fulfils.

Readers give batches of columns, so that conversion and merging need little memory whatever the size
of the trace; `model.trace.Trace` loads what an analysis needs from the same batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from wavescope.arrays import Array
from wavescope.model.columns import METADATA, Column, ColumnType, Table
from wavescope.model.progress import Notes
from wavescope.model.strings import StringTable

Batch = dict[str, Array]
"""Columns of equal length by name; STRING columns are codes into the source's string table."""

BATCH_ROWS = 1 << 17
_ROWS_AT_ONCE = 1 << 16
"""Small batches stay in the cache, and in the heap: larger ones go back to the system each time.
Smaller ones cost more in Python than they save."""
_ROWS_OF_ROOM = 1 << 26


class TraceSource(Protocol):
    """A readable trace.

    Row ids of ops, markers and calls are at least 1 and strictly increasing within their table.
    Ends never lie before starts: a reader repairs or skips such rows and notes it.
    """

    @property
    def path(self) -> str:
        """The file the rows come from."""

    @property
    def format(self) -> str:
        """Name of the format, such as 'wavescope' or 'Kineto JSON'."""

    @property
    def strings(self) -> StringTable:
        """The table that STRING columns refer to; it may grow while batches are read."""

    @property
    def notes(self) -> Notes:
        """What was skipped or repaired so far."""

    def row_count(self, table: Table) -> int:
        """Rows of `table` or more: at least as many as its largest id says."""

    def batches(
        self, table: Table, columns: Sequence[str] | None = None, rows: int = BATCH_ROWS
    ) -> Iterator[Batch]:
        """The rows of `table` in id order, at most `rows` at a time; all columns by default."""

    def texts(self, handles: npt.NDArray[np.int64]) -> list[str]:
        """The free texts that a TEXT column's `handles` stand for; -1 is the empty text."""

    def close(self) -> None:
        """Release files; the source cannot be read afterwards."""


def missing_value(column: Column) -> int | float:
    """What a row of `column` holds when nothing is known."""
    if column.type is ColumnType.REAL:
        return float("nan")
    return 0 if column.name in {"sequence", "flags"} else -1


def full_batch(table: Table, given: Mapping[str, Array], columns: Sequence[str] | None) -> Batch:
    """`given` as a batch of exactly `columns` with declared types, absent ones unknown."""
    rows = len(next(iter(given.values()))) if given else 0
    batch: Batch = {}
    for name in table.column_names if columns is None else columns:
        column = table.column(name)
        if name in given:
            batch[name] = given[name].astype(column.type.dtype, copy=False)
        else:
            batch[name] = np.full(rows, missing_value(column), column.type.dtype)
    return batch


def rows_of_room(source: TraceSource, table: Table) -> int:
    """How many rows of `table` there can be: as the largest id says, and as the file can hold.

    An id is a claim of the file; what its bytes have room for (`most_rows`, of sources that read a
    file of rows) is a fact.
    """
    most_rows: int | None = getattr(source, "most_rows", None)
    claimed = source.row_count(table)
    return claimed if most_rows is None else min(claimed, most_rows)


Derivation = Callable[[Batch], Batch]
"""Columns made of others: of each row a value, told by that row alone."""


def read_columns(
    source: TraceSource, table: Table, columns: Sequence[str], derive: Derivation | None = None
) -> dict[str, Array]:
    """Whole columns of a source, or what `derive` makes of each batch of them.

    Room is made once, for as many rows as there may be: joining batches afterwards would touch
    twice the memory, which costs more than reading the file.
    """
    kept = derive or _as_read
    room = min(rows_of_room(source, table), _ROWS_OF_ROOM)
    types = kept(full_batch(table, {}, columns))
    whole = {name: np.empty(room, values.dtype) for name, values in types.items()}
    beyond: list[Batch] = []
    filled = 0
    for read in source.batches(table, columns, _ROWS_AT_ONCE):
        rows, batch = len(read[columns[0]]), kept(read)
        if beyond or filled + rows > room:
            beyond.append(batch)
            continue
        for name, values in batch.items():
            whole[name][filled : filled + rows] = values
        filled += rows
    held = {name: array[:filled] for name, array in whole.items()}
    if not beyond:
        return held
    return {
        name: np.concatenate((array, *(batch[name] for batch in beyond)))
        for name, array in held.items()
    }


def _as_read(batch: Batch) -> Batch:
    return batch


def read_metadata(source: TraceSource) -> dict[str, str]:
    """The metadata of a source as tag -> value; of repeated tags the last one counts."""
    rows = read_columns(source, METADATA, ("tag", "value"))
    strings = source.strings
    tags, values = (strings.decode(rows[name].astype(np.int32)) for name in ("tag", "value"))
    return dict(zip(tags, values, strict=True))
