"""What readers of foreign SQLite traces share: a file's columns as rows of a trace's table.

A reader states where each column lies (`Field`); here the rows are read in id order with bounded
memory, string ids become codes, and what is damaged is repaired or skipped and noted.
"""

from __future__ import annotations

import enum
import sqlite3
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.arrays import Array
from wavescope.closing import Closing
from wavescope.errors import UnreadableInputError
from wavescope.formats.sqlite.lookup import StringCodes, Texts
from wavescope.formats.sqlite.sqlite_columns import (
    ColumnBlock,
    ColumnKind,
    ColumnRequest,
    TextColumn,
    open_cursor,
    parse_dispatch_info,
)
from wavescope.formats.sqlite.sqlite_open import ReadOnlyDatabase, quoted, sqlite_errors
from wavescope.formats.sqlite.sqlite_table import Affinity, TableLayout, table_layout
from wavescope.formats.sqlite.text_column import numbers_of_texts
from wavescope.model.columns import UNKNOWN, ColumnType, Table
from wavescope.model.progress import Notes
from wavescope.model.source import BATCH_ROWS, Batch, full_batch, missing_value
from wavescope.model.strings import StringTable

Given = dict[str, Array]
"""Some columns of a table by name, all of one length; the others are unknown."""
Tally = Counter[str]
"""Rows that were repaired or skipped in one pass, by what is true of them."""


@dataclass(frozen=True)
class Reading:
    """One pass over a table: what is wanted of it, and what turned out to be wrong with it."""

    wanted: frozenset[str] = frozenset()
    rows: int = BATCH_ROWS
    tally: Tally = field(default_factory=Counter)
    first_rowid: int | None = None
    """None: from the first row on."""

    def of(self, *wanted: str) -> Reading:
        """The same pass for other columns."""
        return replace(self, wanted=frozenset(wanted))

    def wants(self, *names: str) -> bool:
        """Whether one of the columns is wanted."""
        return not self.wanted.isdisjoint(names)


TableReader = Callable[[Reading], Iterable[Given]]

NO_TIME = -(2**63)
_TIME_LIMIT = 2**62
_INT32 = np.iinfo(np.int32)


class FieldKind(enum.Enum):
    """What lies in a file's column, and so how it becomes numbers."""

    INTEGER = ColumnKind.INTEGER
    REAL = ColumnKind.REAL
    STRING_ID = "id of a string"
    NAME = "text that is a name"
    NUMBER_TEXT = "text that is a number"
    DISPATCH_TEXT = "text with hardware queue, workgroup and grid"


class Field(NamedTuple):
    """The file's column that holds a column's values."""

    stored_as: str
    kind: FieldKind = FieldKind.INTEGER
    missing: int | float = UNKNOWN

    @property
    def request(self) -> ColumnRequest:
        if self.kind is FieldKind.REAL:
            return ColumnRequest(self.stored_as, ColumnKind.REAL, self.missing)
        if self.kind in (FieldKind.INTEGER, FieldKind.STRING_ID):
            return ColumnRequest(self.stored_as, ColumnKind.INTEGER, self.missing)
        return ColumnRequest(self.stored_as, ColumnKind.TEXT)


ROW_ID = Field("id")
START = Field("start", missing=NO_TIME)
END = Field("end", missing=NO_TIME)


class ForeignSqliteSource(Closing):
    """A trace in another tool's SQLite file; a subclass names the reader of each table."""

    format: ClassVar[str]

    seekable: tuple[Table, ...] = ()
    """Tables whose rows all lie in one table of the file, each told by that row alone."""

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise UnreadableInputError(path, "it is not a file")
        self.path = str(path)
        self.strings = StringTable()
        self.notes = Notes()
        self._texts: list[Texts] = []
        self.database = ReadOnlyDatabase(path)
        try:
            self.file_tables = self.database.tables()
        except UnreadableInputError:
            self.database.close()
            raise
        if self.database.recovered_log:
            self.notes.add("write-ahead log left by a killed run was read too")

    @property
    def connection(self) -> sqlite3.Connection:
        return self.database.connection

    @property
    def most_rows(self) -> int:
        """More rows than this have no room in the file."""
        return self.database.most_rows

    def layout(self, table: str) -> TableLayout:
        """What the schema says of a file's table."""
        return table_layout(self.connection, table)

    @abstractmethod
    def readers(self) -> Mapping[str, TableReader]:
        """The reader of each table that this format fills, by the table's name."""

    def batches(
        self, table: Table, columns: Sequence[str] | None = None, rows: int = BATCH_ROWS
    ) -> Iterator[Batch]:
        """The rows of `table` in id order."""
        wanted = table.column_names if columns is None else tuple(columns)
        for name in wanted:
            table.column(name)
        reader = self.readers().get(table.name)
        if reader is None:
            return
        reading = Reading(frozenset(wanted), rows)
        with sqlite_errors(self.path):
            for given in reader(reading):
                if given:
                    narrowed = _narrowed(table, given, wanted, reading.tally)
                    yield from _pieces(full_batch(table, narrowed, wanted), rows)
        for sentence, count in reading.tally.items():
            self.notes.set(f"{table.name} {sentence}", count)

    def seeks(self, table: Table) -> bool:
        """Whether `keyed_batches` gives the rows of a table; a format says for which it does."""
        return table in self.seekable

    def keyed_batches(
        self, table: Table, columns: Sequence[str], first_key: int, rows: int = BATCH_ROWS
    ) -> Iterator[tuple[npt.NDArray[np.int64], Batch]]:
        """The rows of `table` from the rowid `first_key` on, with the rowid of each."""
        reading = Reading(frozenset(columns), rows, first_rowid=first_key)
        with sqlite_errors(self.path):
            for given in self.readers()[table.name](reading):
                if len(given["rowid"]):
                    narrowed = _narrowed(table, given, columns, reading.tally)
                    yield given["rowid"], full_batch(table, narrowed, columns)

    def texts(self, handles: npt.NDArray[np.int64]) -> list[str]:
        """No text: a format with texts says where they are."""
        return [""] * len(handles)

    def close(self) -> None:
        self.database.close()

    def has_table(self, name: str) -> bool:
        """Whether the file has a table `name`; refuses a view or the like in its place."""
        return self.database.has_table(name)

    def has_column(self, table: str, column: str) -> bool:
        """Whether the file's `table` is there and has `column`."""
        return self.has_table(table) and self.layout(table).column(column) is not None

    def largest_id(self, table: str, key: str = "id") -> int:
        """The largest id of a file's table (rowid when it has no column `key`), 0 when empty."""
        if not self.has_table(table):
            return 0
        with sqlite_errors(self.path):
            layout = self.layout(table)
            expression = quoted(key) if layout.column(key) else layout.rowid_expression()
            statement = f"SELECT max({expression}) FROM main.{quoted(table)}"  # noqa: S608  quoted
            largest = self.connection.execute(statement).fetchone()[0]
        return largest if isinstance(largest, int) and largest > 0 else 0

    def count_rows(self, table: str) -> int:
        """The number of rows of a file's table, which SQLite counts one by one."""
        if not self.has_table(table):
            return 0
        # The rows themselves: an index of a damaged file may have others.
        statement = f"SELECT count(*) FROM main.{quoted(table)} NOT INDEXED"  # noqa: S608  quoted
        return int(self.connection.execute(statement).fetchone()[0])

    def texts_in(self, table: str) -> Texts | None:
        """The texts of a file's table, None when it has no such table."""
        if not (self.has_column(table, "id") and self.has_column(table, "string")):
            return None
        texts = Texts(self.connection, table)
        self._texts.append(texts)
        return texts

    def note_damaged_texts(self) -> None:
        """States how many of the strings and texts seen so far are not valid text."""
        damaged = sum(len(texts.damaged) for texts in self._texts)
        self.notes.set("strings are not valid UTF-8: shown with marks", damaged)

    def declared_fields(self, table: Table, file_table: str, reading: Reading) -> dict[str, Field]:
        """The wanted columns under the names that wavescope's own file gives them."""
        fields: dict[str, Field] = {}
        stored_in, _ = table.keys[0]
        layout = self.layout(file_table)
        for column in table.columns_in(stored_in):
            if not reading.wants(column.name):
                continue
            stored = layout.column(column.stored_as)
            if column.type is ColumnType.STRING:
                kind = FieldKind.STRING_ID if column.is_reference else FieldKind.NAME
            elif column.type is ColumnType.REAL:
                kind = FieldKind.REAL
            elif stored is not None and stored.affinity is Affinity.TEXT:
                kind = FieldKind.NUMBER_TEXT
            else:
                kind = FieldKind.INTEGER
            fields[column.name] = Field(column.stored_as, kind, missing_value(column))
        return fields

    def read_rows(
        self,
        file_table: str,
        fields: Mapping[str, Field],
        reading: Reading,
        codes: StringCodes | None = None,
    ) -> Iterator[Given]:
        """The rows of a file's table in rowid order, with a column 'rowid' besides `fields`."""
        if not self.has_table(file_table):
            return
        requests = {field.stored_as: field.request for field in fields.values()}
        # A key that is the rowid under another name need not be read twice.
        layout = self.layout(file_table)
        rowid = next((name for name in requests if layout.is_rowid(name)), "rowid")
        requests[rowid] = ColumnRequest(rowid, ColumnKind.INTEGER)
        with open_cursor(
            self.connection, self.database.file, file_table, list(requests.values())
        ) as cursor:
            if reading.first_rowid is not None:
                cursor.seek(reading.first_rowid)
            while (block := cursor.read(reading.rows)).row_count:
                given: Given = {"rowid": block.integers(rowid)}
                for name, field in fields.items():
                    given[name] = self._values(field, block, reading.tally, codes)
                yield given
            for name, count in cursor.replaced_values.items():
                sentence = f"hold something else than a number in {name}: taken as unknown"
                reading.tally[sentence] += count
        self.note_damaged_texts()

    def timed_rows(
        self,
        file_table: str,
        fields: Mapping[str, Field],
        reading: Reading,
        codes: StringCodes | None = None,
    ) -> Iterator[Given]:
        """Rows with columns id, start_ns and end_ns: ids increase, ends never precede starts."""
        layout = self.layout(file_table) if self.has_table(file_table) else None
        if layout is None:
            return
        absent = [f.stored_as for f in (START, END) if layout.column(f.stored_as) is None]
        if absent:
            self.notes.add(f"{file_table} has no column {absent[0]}: its rows were skipped")
            return
        timed = {"id": _id_field(layout), "start_ns": START, "end_ns": END}
        last_id = 0
        for found in self.read_rows(file_table, {**fields, **timed}, reading, codes):
            given = repaired(found, last_id, reading.tally)
            if len(given["id"]):
                last_id = int(given["id"][-1])
                yield given

    def small_table(self, table: str, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """The rows of a file's small table in rowid order; a column it does not have is NULL."""
        if not self.has_table(table):
            return
        layout = self.layout(table)
        values = ", ".join(quoted(name) if layout.column(name) else "NULL" for name in columns)
        yield from self.connection.execute(
            f"SELECT {values} FROM main.{quoted(table)}"  # noqa: S608  quoted
            f" ORDER BY {layout.rowid_expression()}"
        )

    def rows_of(self, table: Table, rows: Sequence[Mapping[str, int | str]]) -> Given:
        """Few rows given one by one, each with the same columns and with strings as text."""
        given: Given = {}
        for name in rows[0] if rows else ():
            values = [row[name] for row in rows]
            if table.column(name).type is ColumnType.STRING:
                given[name] = self.strings.codes([str(value) for value in values])
            else:
                given[name] = np.array(values, np.int64)
        return given

    def _values(
        self, field: Field, block: ColumnBlock, tally: Tally, codes: StringCodes | None
    ) -> Array:
        values = block[field.stored_as]
        if isinstance(values, TextColumn):
            if field.kind is FieldKind.NAME:
                return self._name_codes(values)
            if field.kind is FieldKind.NUMBER_TEXT:
                return numbers_of_texts(values)
            return parse_dispatch_info(values)
        if field.kind is FieldKind.STRING_ID and codes is not None:
            found, dangling = codes.codes(values)
            tally["refer to a string that is not in the file: shown as empty"] += dangling
            return found
        return values

    def _name_codes(self, texts: TextColumn) -> npt.NDArray[np.int32]:
        codes = self.strings.codes(texts.to_list())
        codes[texts.nulls] = UNKNOWN
        return codes


def kept(given: Given, mask: npt.NDArray[np.bool_]) -> Given:
    """The rows of `given` where `mask` is true."""
    return given if mask.all() else {name: values[mask] for name, values in given.items()}


def _pieces(batch: Batch, rows: int) -> Iterator[Batch]:
    """`batch` in pieces of at most `rows` rows; nothing for an empty one."""
    total = len(next(iter(batch.values()), ()))
    if 0 < total <= rows:
        yield batch
        return
    for start in range(0, total, rows):
        yield {name: values[start : start + rows] for name, values in batch.items()}


def _id_field(layout: TableLayout) -> Field:
    return ROW_ID if layout.column(ROW_ID.stored_as) else Field("rowid")


def repaired(given: Given, last_id: int, tally: Tally) -> Given:
    """`given` without rows that have no times or no new id, and with ends not before starts."""
    if not (_are_times(given["start_ns"]) and _are_times(given["end_ns"])):
        start, end = given["start_ns"], given["end_ns"]
        timed = (np.minimum(start, end) > -_TIME_LIMIT) & (np.maximum(start, end) < _TIME_LIMIT)
        tally["have no start or end: skipped"] += int((~timed).sum())
        given = kept(given, timed)
    if not _increase_from(last_id, given["id"]):
        increasing = given["id"] > np.maximum.accumulate(np.append(last_id, given["id"]))[:-1]
        tally["repeat an earlier id or have none: skipped"] += int((~increasing).sum())
        given = kept(given, increasing)
    wrong = given["end_ns"] < given["start_ns"]
    if wrong.any():
        tally["ended before they started: taken as ending there"] += int(wrong.sum())
        given = {**given, "end_ns": np.maximum(given["start_ns"], given["end_ns"])}
    return given


def _are_times(values: npt.NDArray[np.int64]) -> bool:
    """Whether all values can be times; extremes need no room, masks of all rows would."""
    return not len(values) or (values.min() > -_TIME_LIMIT and values.max() < _TIME_LIMIT)


def _increase_from(last: int, values: npt.NDArray[np.int64]) -> bool:
    """Whether each value is greater than the one before, the first greater than `last`."""
    return not len(values) or (values[0] > last and bool((values[1:] > values[:-1]).all()))


def _narrowed(table: Table, given: Given, wanted: Sequence[str], tally: Tally) -> Given:
    """`given` with numbers that do not fit a 32-bit column unknown instead of cut off."""
    result = dict(given)
    for name in wanted:
        values = given.get(name)
        if values is None or table.column(name).type is not ColumnType.INT32 or not len(values):
            continue
        if values.min() < _INT32.min or values.max() > _INT32.max:
            fits = (values >= _INT32.min) & (values <= _INT32.max)
            tally[f"hold a number in {name} that is too large: taken as unknown"] += int(
                (~fits).sum()
            )
            result[name] = np.where(fits, values, UNKNOWN)
    return result
