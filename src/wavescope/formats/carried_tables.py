"""Small tables that travel beside the events of a file, as JSON that only our own reader knows.

Formats of events have room for what ran, not for what GPUs, processes and kernels are, what the
recorder skipped and when it recorded at all. Rows travel as columns, some at a time. What comes
back is a claim of the file: values of another type or size are unknown, and a note counts them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from wavescope.arrays import Array
from wavescope.model.builder import TraceBuilder
from wavescope.model.columns import (
    AGENTS,
    COVERAGE,
    KERNELS,
    METADATA,
    MONITORS,
    PROCESSES,
    QUEUES,
    SLICES,
    THREADS,
    UNKNOWN,
    Column,
    ColumnType,
    Table,
)
from wavescope.model.progress import NOTE_TAG
from wavescope.model.source import Batch, TraceSource

CARRIED_TABLES = (
    PROCESSES,
    THREADS,
    AGENTS,
    QUEUES,
    KERNELS,
    MONITORS,
    COVERAGE,
    SLICES,
    METADATA,
)
"""In the order in which they are written: others name processes."""

Piece = dict[str, dict[str, list[Any]]]
"""Rows by table and column; columns of which nothing is known are absent."""

_PIECE_ROWS = 1 << 15
_LARGEST = {ColumnType.INT64: (1 << 63) - 1, ColumnType.INT32: (1 << 31) - 1}
_LARGEST_TIME = 1 << 62  # differences of two times still fit in 64 bits
_DAMAGED_TABLES = "carried tables are damaged: left out"
_DAMAGED_VALUES = "values of carried tables are damaged: taken as unknown"
_DAMAGED_TIMES = "rows of carried tables have no usable times: left out"


def carried_pieces(
    source: TraceSource, tables: Sequence[Table] = CARRIED_TABLES
) -> Iterator[Piece]:
    """The rows of small tables, in pieces of bounded size; notes are not among them."""
    for table in tables:
        for batch in source.batches(table, rows=_PIECE_ROWS):
            columns = _without_notes(source, batch) if table is METADATA else batch
            piece = {
                column.name: values
                for column in table.columns
                if (values := _json_values(source, column, columns[column.name]))
            }
            if piece:
                yield {table.name: piece}


def joined_pieces(pieces: Iterator[Piece]) -> list[Piece]:
    """The same rows in few pieces: tables of one piece each are put together."""
    joined: list[Piece] = [{}]
    for piece in pieces:
        if not joined[-1].keys().isdisjoint(piece):
            joined.append({})
        joined[-1].update(piece)
    return [piece for piece in joined if piece]


def fact_columns(facts: Sequence[tuple[str, str]]) -> dict[str, list[Any]]:
    """Tags and values as columns of metadata."""
    valid = [[text.encode("utf-8", "replace").decode() for text in fact] for fact in facts]
    return {"tag": [tag for tag, _ in valid], "value": [value for _, value in valid]}


def _without_notes(source: TraceSource, batch: Batch) -> Batch:
    tags = source.strings.decode(batch["tag"])
    kept = np.array([not tag.startswith(NOTE_TAG) for tag in tags], bool)
    return {name: values[kept] for name, values in batch.items()}


def _json_values(source: TraceSource, column: Column, values: Array) -> list[int] | list[str]:
    """A column as JSON can hold it; nothing where nothing is known."""
    if column.type is ColumnType.STRING:
        texts = source.strings.decode(values)
        return [text.encode("utf-8", "replace").decode() for text in texts] if any(texts) else []
    numbers: list[int] = values.tolist() if (values != UNKNOWN).any() else []
    return numbers


class CarriedTables:
    """Takes pieces into a trace that is being built.

    Processes and kernels are numbered anew; `process_ids` and `kernel_ids` say how.
    """

    def __init__(self, builder: TraceBuilder, tables: Sequence[Table] = CARRIED_TABLES) -> None:
        """`tables` are those that are looked for."""
        self._builder = builder
        self._tables = tables
        self.process_ids: dict[int, int] = {}
        self.kernel_ids: dict[int, int] = {}
        self.pids: list[int] = []
        """The pid of each process."""

    def take(self, piece: object) -> None:
        """Take in the rows of a piece; what is no such rows is left out, and noted."""
        if not isinstance(piece, dict):
            self._builder.notes.add(_DAMAGED_TABLES)
            return
        for table in self._tables:
            given = piece.get(table.name)
            if isinstance(given, list):
                given = _columns_of_rows(table, given)
            if given is None:
                continue
            columns = self._columns(table, given) if isinstance(given, dict) else None
            if columns is None:
                self._builder.notes.add(_DAMAGED_TABLES)
            elif columns:
                self._add(table, columns)

    def processes(self, given: Array) -> Array:
        """Process ids as this trace numbers them."""
        return renumbered(given, self.process_ids)

    def kernels(self, given: Array) -> Array:
        """Kernel ids as this trace numbers them."""
        return renumbered(given, self.kernel_ids)

    def _columns(self, table: Table, given: Mapping[str, object]) -> dict[str, Array] | None:
        """Columns with declared types; None where they are no columns of one length."""
        columns: dict[str, Array] = {}
        lengths: set[int] = set()
        for column in table.columns:
            values = given.get(column.name)
            if values is None:
                continue
            if not isinstance(values, list):
                return None
            lengths.add(len(values))
            columns[column.name] = self._values(column, values)
        return columns if len(lengths) <= 1 else None

    def _values(self, column: Column, values: list[Any]) -> Array:
        if column.type is ColumnType.STRING:
            texts = [value if isinstance(value, str) else "" for value in values]
            wrong = sum(not isinstance(value, str) and value is not None for value in values)
            self._builder.notes.add(_DAMAGED_VALUES, wrong)
            return self._builder.strings.codes(texts)
        largest = _LARGEST[column.type]
        numbers = [value if _is_number(value, largest) else UNKNOWN for value in values]
        wrong = sum(
            not _is_number(value, largest) and value is not None and value != UNKNOWN
            for value in values
        )
        self._builder.notes.add(_DAMAGED_VALUES, wrong)
        return np.array(numbers, np.int64)

    def _add(self, table: Table, columns: dict[str, Array]) -> None:
        rows = len(next(iter(columns.values())))
        if table in (SLICES, MONITORS):
            columns = self._timed(columns, rows)
        elif table is METADATA:
            columns = self._without_notes(columns)
        if table is PROCESSES:
            columns.setdefault("pid", np.full(rows, UNKNOWN, np.int64))
            self._number(columns.pop("id", np.arange(rows)), self.process_ids, len(self.pids))
            self.pids += columns["pid"].tolist()
        elif "process" in columns:
            columns["process"] = self.processes(columns["process"])
        if table is KERNELS:
            first = self._builder.row_count(KERNELS) + 1
            self._number(columns.pop("id", np.arange(rows) + first), self.kernel_ids, first)
        if columns:
            self._builder.add(table, columns)

    def _number(self, given: Array, known: dict[int, int], first: int) -> None:
        for place, number in enumerate(given.tolist()):
            known.setdefault(number, first + place)

    def _timed(self, columns: dict[str, Array], rows: int) -> dict[str, Array]:
        """Rows that are times: both there, not absurd, and in order."""
        unknown = np.full(rows, _LARGEST_TIME + 1, np.int64)
        start_ns, end_ns = (columns.get(name, unknown) for name in ("start_ns", "end_ns"))
        usable = (start_ns >= -_LARGEST_TIME) & (end_ns <= _LARGEST_TIME) & (start_ns <= end_ns)
        self._builder.notes.add(_DAMAGED_TIMES, rows - int(usable.sum()))
        return {name: values[usable] for name, values in columns.items()}

    def _without_notes(self, columns: dict[str, Array]) -> dict[str, Array]:
        strings, notes = self._builder.strings, self._builder.notes
        if columns.keys() != {"tag", "value"}:
            return columns
        tags, values = (strings.decode(columns[name]) for name in ("tag", "value"))
        kept = np.array(
            [not notes.take_fact(*fact) for fact in zip(tags, values, strict=True)], bool
        )
        return {name: codes[kept] for name, codes in columns.items()}


def renumbered(given: Array, numbers: Mapping[int, int]) -> Array:
    """Each number as `numbers` has it, UNKNOWN where it has none."""
    distinct, places = np.unique(given, return_inverse=True)
    known = [numbers.get(number, UNKNOWN) for number in distinct.tolist()]
    return np.array(known, np.int64)[places.reshape(-1)]


def _is_number(value: object, largest: int) -> bool:
    return type(value) is int and -largest <= value <= largest


def _columns_of_rows(table: Table, rows: list[Any]) -> dict[str, list[Any]]:
    """Rows of earlier versions, an object for each, as columns."""
    objects = [row for row in rows if isinstance(row, dict)]
    return {
        name: [row.get(name) for row in objects]
        for name in table.column_names
        if any(name in row for row in objects)
    }
