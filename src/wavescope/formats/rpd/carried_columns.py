"""Reads what our own exports to rocmProfileData carry beyond its tables.

The tables are those of our own trace file. What they hold is a claim of the file: ids that cannot
be, and a table whose key is none, are left out with a note.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from wavescope.arrays import Array
from wavescope.formats.rpd.carried_rows import SMALL_TABLES
from wavescope.formats.sqlite.lookup import StringCodes
from wavescope.formats.sqlite.rows import ForeignSqliteSource, Given, Reading, TableReader
from wavescope.formats.sqlite.side_table import SideTable
from wavescope.formats.sqlite.sqlite_columns import ColumnKind, ColumnRequest, open_cursor
from wavescope.model.columns import PROCESSES, SLICES, UNKNOWN, Column, ColumnType, Table
from wavescope.model.source import missing_value

_MOST_PROCESSES = 1 << 24


def carried_columns(source: ForeignSqliteSource, codes: StringCodes) -> CarriedColumns | None:
    """What a file carries; None where its processes, which all else counts on, cannot be."""
    names = PROCESSES.column_names
    parts = list(_rows(source, PROCESSES, Reading(frozenset(names)), codes))
    processes = {name: np.concatenate([part[name] for part in parts]) for name in names if parts}
    ids = processes.get("id", np.empty(0, np.int64))
    if not len(ids):
        return None
    if not np.array_equal(ids, np.arange(len(ids))) or len(ids) > _MOST_PROCESSES:
        source.notes.set("carried processes are damaged: left out", 1)
        return None
    return CarriedColumns(source, codes, processes)


class CarriedColumns:
    """The tables `wavescope_...` of a file that has them."""

    def __init__(self, source: ForeignSqliteSource, codes: StringCodes, processes: Given) -> None:
        self._source = source
        self._codes = codes
        self.processes = processes

    def readers(self) -> dict[str, TableReader]:
        """The readers of the tables that rocmProfileData does not have."""
        readers: dict[str, TableReader] = {
            table.name: partial(self._read, table)
            for table in SMALL_TABLES
            if self._source.has_table(table.keys[0][0])
        }
        return readers | {PROCESSES.name: lambda _: [dict(self.processes)]}

    def beside(self, table: Table, rows: Iterator[Given], reading: Reading) -> Iterator[Given]:
        """`rows` with the wanted columns that the file carries beside them.

        A column `carried` says which of them the file carries anything of.
        """
        name, key = table.keys[1]
        if not self._source.has_table(name):
            yield from rows
            return
        if not self._source.layout(name).is_rowid(key):
            self._source.notes.set(f"{name} has no usable key: left out", 1)
            yield from rows
            return
        columns = [each for each in table.columns_in(name) if reading.wants(each.name)]
        carried = Column("carried", ColumnType.INT64, "", "", name, key)
        requests = [_request(column) for column in (carried, *columns)]
        with open_cursor(
            self._source.connection, self._source.database.file, name, requests
        ) as cursor:
            if reading.first_rowid is not None:
                cursor.seek(reading.first_rowid)
            side = SideTable(cursor, key)
            for given in rows:
                if len(given["id"]):
                    found = side.aligned(given["id"], [carried, *columns])
                    given["carried"] = found[key] == given["id"]
                    for column in columns:
                        given[column.name] = self._decoded(column, found[column.stored_as], reading)
                yield given

    def _read(self, table: Table, reading: Reading) -> Iterator[Given]:
        for given in _rows(self._source, table, reading, self._codes):
            if "process" in given:
                given["process"] = self._known_processes(given["process"])
            yield given

    def _known_processes(self, processes: Array) -> Array:
        return np.where(processes < len(self.processes["id"]), processes, UNKNOWN)

    def _decoded(self, column: Column, values: Array, reading: Reading) -> Array:
        if column.name == "process":
            return self._known_processes(values)
        if column.type is not ColumnType.STRING:
            return values
        found, dangling = self._codes.codes(values)
        reading.tally["refer to a string that is not in the file: shown as empty"] += dangling
        return found


def _rows(
    source: ForeignSqliteSource, table: Table, reading: Reading, codes: StringCodes
) -> Iterator[Given]:
    name, _ = table.keys[0]
    fields = source.declared_fields(table, name, reading)
    read = source.timed_rows if table is SLICES else source.read_rows
    yield from read(name, fields, reading, codes)


def _request(column: Column) -> ColumnRequest:
    kind = ColumnKind.REAL if column.type is ColumnType.REAL else ColumnKind.INTEGER
    return ColumnRequest(column.stored_as, kind, missing_value(column))
