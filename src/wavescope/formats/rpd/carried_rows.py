"""Writes what rocmProfileData has no tables for into those of our own trace file."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wavescope.arrays import Array
from wavescope.formats.id_index import IdIndex
from wavescope.formats.rpd.schema import carried_tables, string_ids
from wavescope.formats.sqlite.sqlite_bulk import BulkDatabase
from wavescope.model.columns import (
    AGENTS,
    CALLS,
    COVERAGE,
    KERNELS,
    MARKERS,
    OPS,
    PROCESSES,
    QUEUES,
    SLICES,
    THREADS,
    UNKNOWN,
    Column,
    ColumnType,
    Table,
)
from wavescope.model.source import Batch, TraceSource

SMALL_TABLES = (PROCESSES, THREADS, AGENTS, QUEUES, KERNELS, COVERAGE, SLICES)


class CarriedRows:
    """Further columns of ops, calls and markers, and tables of their own."""

    def __init__(self, source: TraceSource, database: BulkDatabase) -> None:
        self._source = source
        self._files = {
            name: database.table(name, missing=dict.fromkeys(columns, UNKNOWN))
            for name, columns in carried_tables().items()
        }
        self._markers: IdIndex | None = None
        self._first_marker = source.row_count(CALLS) + 1

    def marker_rows(self, marker_ids: Array) -> Array:
        """The rows of rocpd_api that markers get, behind all calls; UNKNOWN for what is none."""
        if self._markers is None:
            self._markers = IdIndex(self._source, MARKERS)
            for batch in self._source.batches(MARKERS, ("id",), 1):
                # Places begin where the index likes.
                self._first_marker -= int(self._markers.positions(batch["id"][:1]).max(initial=0))
                break
        places = self._markers.positions(marker_ids)
        return np.where(places >= 0, places + self._first_marker, UNKNOWN)

    def add_ops(self, batch: Batch) -> None:
        """Columns of ops; those of rocpd_op are elsewhere."""
        if (batch["marker"] != UNKNOWN).any():
            batch = {**batch, "marker": self.marker_rows(batch["marker"])}
        self._add_beside(OPS, batch["id"], batch)

    def add_calls(self, batch: Batch) -> None:
        """Columns of calls; those of rocpd_api are elsewhere."""
        self._add_beside(CALLS, batch["id"], batch)

    def add_markers(self, ids: Array, batch: Batch) -> None:
        """Markers under the ids of their rows of rocpd_api, also if nothing is known of them."""
        self._append(MARKERS.keys[1], ids, batch, MARKERS.columns)

    def write_small_tables(self) -> None:
        """The tables that have no rows in rocmProfileData at all."""
        for table in SMALL_TABLES:
            first = 1
            for batch in self._source.batches(table):
                rows = len(batch[table.column_names[0]])
                ids = batch["id"] if "id" in batch else np.arange(first, first + rows)
                self._append(table.keys[0], ids, batch, table.columns)
                first += rows

    def _add_beside(self, table: Table, ids: Array, batch: Batch) -> None:
        name, _ = table.keys[1]
        known = [each for each in table.columns_in(name) if (batch[each.name] != UNKNOWN).any()]
        if known:
            self._append(table.keys[1], ids, batch, known)

    def _append(
        self,
        key: tuple[str, str],
        ids: Array,
        batch: Batch,
        columns: Sequence[Column],
    ) -> None:
        name, key_column = key
        stored = {
            column.stored_as: _stored(column, batch[column.name])
            for column in columns
            if column.stored_in == name
        }
        self._files[name].append({**stored, key_column: ids.astype(np.int64)})


def _stored(column: Column, values: Array) -> Array:
    """A column as the file keeps it; names by their ids in rocpd_string, unknown ones by none."""
    if column.type is ColumnType.STRING:
        return np.where(values < 0, UNKNOWN, string_ids(values))
    return values if column.type is ColumnType.REAL else values.astype(np.int64)
