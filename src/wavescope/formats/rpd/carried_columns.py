"""Reads what our own exports to rocmProfileData carry beyond its tables.

The tables are those of our own trace file. What they hold is a claim of the file: ids that cannot
be, and a table whose key is none, are left out with a note.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, partial

import numpy as np

from wavescope.arrays import Array
from wavescope.formats.rpd.carried_rows import SMALL_TABLES
from wavescope.formats.sqlite.lookup import StringCodes
from wavescope.formats.sqlite.rows import ForeignSqliteSource, Given, Reading, TableReader
from wavescope.formats.sqlite.side_table import SideTable
from wavescope.formats.sqlite.sqlite_columns import ColumnKind, ColumnRequest, open_cursor
from wavescope.model.columns import OPS, PROCESSES, SLICES, UNKNOWN, Column, ColumnType, Table
from wavescope.model.source import missing_value

PROCESS = OPS.column("process")
_LARGEST_PROCESS = 1 << 24


class CarriedColumns:
    """The tables `wavescope_...` of a file that has them."""

    def __init__(self, source: ForeignSqliteSource, codes: StringCodes) -> None:
        self._source = source
        self._codes = codes

    @cached_property
    def processes(self) -> Given | None:
        """The processes, which all other tables count by their ids; None where they cannot be."""
        columns = PROCESSES.column_names
        rows = list(self._rows(PROCESSES, Reading(frozenset(columns))))
        if not rows:
            return None
        found = {name: np.concatenate([each[name] for each in rows]) for name in columns}
        ids = found["id"]
        if ids[0] != 0 or int(ids[-1]) >= len(ids) or int(ids[-1]) > _LARGEST_PROCESS:
            self._source.notes.set("carried processes are damaged: left out", 1)
            return None
        return found

    def readers(self) -> dict[str, TableReader]:
        """The readers of the tables that rocmProfileData does not have."""
        return {
            table.name: partial(self._rows, table)
            for table in SMALL_TABLES
            if table is not PROCESSES and self._source.has_table(table.keys[0][0])
        }

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

    def _rows(self, table: Table, reading: Reading) -> Iterator[Given]:
        name, _ = table.keys[0]
        fields = self._source.declared_fields(table, name, reading)
        is_timed = table is SLICES
        read = self._source.timed_rows if is_timed else self._source.read_rows
        for given in read(name, fields, reading, self._codes):
            if table is not PROCESSES and "process" in given:
                given["process"] = self._decoded(PROCESS, given["process"], reading)
            yield given

    def _decoded(self, column: Column, values: Array, reading: Reading) -> Array:
        if column.name == "process":
            known = 0 if self.processes is None else len(self.processes["id"])
            return np.where(values < known, values, UNKNOWN)
        if column.type is not ColumnType.STRING:
            return values
        found, dangling = self._codes.codes(values)
        reading.tally["refer to a string that is not in the file: shown as empty"] += dangling
        return found


def _request(column: Column) -> ColumnRequest:
    kind = ColumnKind.REAL if column.type is ColumnType.REAL else ColumnKind.INTEGER
    return ColumnRequest(column.stored_as, kind, missing_value(column))
