"""Reads wavescope's own trace file as a trace source: batches of columns, nothing kept.

A table in memory may lie in two tables of the file, the second one sparse: both are read side by
side in id order and joined by id, so memory stays bounded.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from wavescope.arrays import Array
from wavescope.closing import Closing
from wavescope.errors import UnreadableInputError
from wavescope.formats.sqlite.metadata_notes import take_kept_notes
from wavescope.formats.sqlite.side_table import SideTable
from wavescope.formats.sqlite.sqlite_columns import (
    ColumnBlock,
    ColumnCursor,
    ColumnKind,
    ColumnRequest,
    open_cursor,
)
from wavescope.formats.sqlite.sqlite_open import ReadOnlyDatabase, as_text, quoted, sqlite_errors
from wavescope.formats.sqlite.sqlite_table import table_layout
from wavescope.formats.wavescope.schema import UNKNOWN_GPU, require_readable_version
from wavescope.formats.wavescope.string_ids import StringIds
from wavescope.model.columns import (
    CALLS,
    MARKERS,
    OPS,
    PROCESSES,
    SLICES,
    UNKNOWN,
    Column,
    ColumnType,
    Table,
)
from wavescope.model.progress import Notes
from wavescope.model.source import BATCH_ROWS, Batch, missing_value
from wavescope.model.strings import StringTable

_KINDS = {
    ColumnType.INT64: ColumnKind.INTEGER,
    ColumnType.INT32: ColumnKind.INTEGER,
    ColumnType.REAL: ColumnKind.REAL,
    ColumnType.STRING: ColumnKind.INTEGER,
    ColumnType.TEXT: ColumnKind.INTEGER,
}
_LARGEST_PROCESS = 1 << 24
_OWN_NAMES = ("rocpd_", "wavescope_")
_GPU = "gpuId"
_MARKER_GPU = -1
_TIMED = (OPS, MARKERS, CALLS, SLICES)
_TIMED_FILES = frozenset(table.keys[0][0] for table in _TIMED)
_NO_TIME = -(2**63)
_TIMES = frozenset({"start_ns", "end_ns"})
_LARGEST_TIME = 2**62  # differences of two times still fit in 64 bits


class SqliteSource(Closing):
    """A wavescope trace file."""

    format = "wavescope"

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self.notes = Notes()
        self.database = ReadOnlyDatabase(path)
        with sqlite_errors(path):
            require_readable_version(self.database.connection, path)
            for beginning in _OWN_NAMES:
                self.database.require_tables(beginning)
            take_kept_notes(self.database, self.notes)
        if self.database.recovered_log:
            self.notes.add("write-ahead log left by a killed run was read too")

    @property
    def connection(self) -> sqlite3.Connection:
        return self.database.connection

    @property
    def most_rows(self) -> int:
        """More rows than this have no room in the file."""
        return self.database.most_rows

    @cached_property
    def _string_ids(self) -> StringIds:
        with sqlite_errors(self.path):
            if not self.database.has_table("rocpd_string"):
                raise sqlite3.DatabaseError("no such table: rocpd_string")
            return StringIds.read(self.connection, "rocpd_string")

    @property
    def strings(self) -> StringTable:
        return self._string_ids.strings

    def row_count(self, table: Table) -> int:
        """An upper bound by the largest id, which SQLite knows without reading the table."""
        name, _ = table.keys[0]
        if not self.database.has_table(name):
            return 0
        with sqlite_errors(self.path):
            row = self.connection.execute(f"SELECT max(rowid) FROM {quoted(name)}").fetchone()  # noqa: S608
        return 0 if row[0] is None else max(0, int(row[0]) + 1 - _first_id(table))

    def batches(
        self, table: Table, columns: Sequence[str] | None = None, rows: int = BATCH_ROWS
    ) -> Iterator[Batch]:
        """The rows of `table` in id order."""
        tally: Counter[str] = Counter()
        for _, batch in self._keyed_batches(table, columns, None, rows, tally):
            yield batch
            for sentence, count in tally.items():
                self.notes.set(f"{table.name} {sentence}", count)

    def keyed_batches(
        self, table: Table, columns: Sequence[str], first_key: int, rows: int = BATCH_ROWS
    ) -> Iterator[tuple[npt.NDArray[np.int64], Batch]]:
        """The rows of `table` from the id `first_key` on, with the id of each in the file."""
        # What is wrong with some rows was or will be noted when all are read.
        yield from self._keyed_batches(table, columns, first_key, rows, Counter())

    def _keyed_batches(
        self,
        table: Table,
        columns: Sequence[str] | None,
        first_key: int | None,
        rows: int,
        tally: Counter[str],
    ) -> Iterator[tuple[npt.NDArray[np.int64], Batch]]:
        names = list(columns or table.column_names)
        # Whether an end is usable shows beside its start.
        beside = ["start_ns"] if table in _TIMED and "end_ns" in names else []
        wanted = [table.column(name) for name in dict.fromkeys((*names, *beside))]
        key = ".".join(table.keys[0])
        with sqlite_errors(self.path):
            for raw in self._raw_batches(table, wanted, rows, tally, first_key):
                batch = {column.name: self._decoded(column, raw, tally) for column in wanted}
                if table in _TIMED:
                    self._require_times(table, batch)
                    _repair_ends(batch, tally)
                yield np.asarray(raw[key], np.int64), {name: batch[name] for name in names}

    def texts(self, handles: npt.NDArray[np.int64]) -> list[str]:
        """The texts whose ids are `handles`."""
        found: dict[int, str] = {}
        ids = np.unique(handles[handles >= 0])
        with sqlite_errors(self.path):
            if len(ids) and not self.database.has_table("rocpd_ustring"):
                raise sqlite3.DatabaseError("no such table: rocpd_ustring")
            for start in range(0, len(ids), 500):
                block = ids[start : start + 500].tolist()
                marks = ",".join("?" * len(block))
                texts = self.connection.execute(
                    f"SELECT id, string FROM rocpd_ustring WHERE id IN ({marks})",  # noqa: S608
                    block,
                )
                found.update((key, as_text(text)) for key, text in texts)
        return [found.get(handle, "") for handle in handles.tolist()]

    def close(self) -> None:
        self.database.close()

    def _raw_batches(
        self,
        table: Table,
        wanted: Sequence[Column],
        rows: int,
        tally: Counter[str],
        first_key: int | None,
    ) -> Iterator[dict[str, Array | list[str]]]:
        """Columns by '<table>.<column>' as stored, for the rows that belong to `table`."""
        (primary, key), *others = table.keys
        if not self.database.has_table(primary):
            return
        if not table_layout(self.connection, primary).is_rowid(key):
            raise self._damaged(f"a table {primary} whose {key} is not its key")
        by_file = {name: [c for c in wanted if c.stored_in == name] for name, _ in table.keys}
        with ExitStack() as opened:
            cursor: ColumnCursor | _MarkerRows
            if table is MARKERS:
                cursor = _MarkerRows(self.connection, by_file[primary], first_key)
            else:
                cursor = opened.enter_context(
                    self._cursor(primary, key, by_file[primary], first_key, with_gpu=table is OPS)
                )
            beside = [
                (
                    by_file[name],
                    SideTable(
                        opened.enter_context(
                            self._cursor(name, other_key, by_file[name], first_key)
                        ),
                        other_key,
                    ),
                )
                for name, other_key in others
                if by_file[name] and self.database.has_table(name)
            ]
            yield from self._joined_batches(table, cursor, beside, rows, tally)

    def _joined_batches(
        self,
        table: Table,
        cursor: ColumnCursor | _MarkerRows,
        beside: Sequence[tuple[Sequence[Column], SideTable]],
        rows: int,
        tally: Counter[str],
    ) -> Iterator[dict[str, Array | list[str]]]:
        """The rows that `cursor` gives, with those of other tables beside them."""
        primary, key = table.keys[0]
        while True:
            block = cursor.read(rows)
            ids = np.asarray(block[key], np.int64)
            for name, count in cursor.replaced_values.items():
                tally[f"hold something else than a number in {name}: taken as unknown"] = count
            if not len(ids):
                return
            if "id" in table.column_names and ids[0] < _first_id(table):
                raise self._damaged(f"{table.name} with the id {ids[0]}")
            if table is PROCESSES and ids[-1] > _LARGEST_PROCESS:  # analyses count them from 0
                raise self._damaged(f"{table.name} with the id {ids[-1]}")
            kept = _on_gpus(block) if table is OPS else None
            raw: dict[str, Array | list[str]] = {
                f"{primary}.{name}": _values(values) for name, values in block.items()
            }
            if kept is not None:
                # Before other tables are put beside: those without markers then need no search.
                raw, ids = (
                    {name: np.asarray(values)[kept] for name, values in raw.items()},
                    ids[kept],
                )
                if not len(ids):
                    continue
            for columns, side in beside:
                name = columns[0].stored_in
                for column, values in side.aligned(ids, columns).items():
                    raw[f"{name}.{column}"] = values
            yield raw

    def _cursor(
        self,
        name: str,
        key: str,
        columns: Sequence[Column],
        first_key: int | None,
        *,
        with_gpu: bool = False,
    ) -> ColumnCursor:
        requests = {key: ColumnRequest(key, ColumnKind.INTEGER)}
        if with_gpu:
            requests[_GPU] = ColumnRequest(_GPU, ColumnKind.INTEGER, UNKNOWN_GPU)
        for column in columns:
            kind = ColumnKind.TEXT if column.sql_type == "TEXT" else _KINDS[column.type]
            is_time = column.name in _TIMES and name in _TIMED_FILES
            missing = _NO_TIME if is_time else missing_value(column)
            requests.setdefault(column.stored_as, ColumnRequest(column.stored_as, kind, missing))
        cursor = open_cursor(self.connection, self.database.file, name, list(requests.values()))
        if first_key is not None:
            cursor.seek(first_key)
        return cursor

    def _decoded(
        self, column: Column, raw: dict[str, Array | list[str]], tally: Counter[str]
    ) -> Array:
        values = raw.get(f"{column.stored_in}.{column.stored_as}")
        if values is None:
            rows = len(next(iter(raw.values())))
            return np.full(rows, missing_value(column), column.type.dtype)
        if column.sql_type == "TEXT":
            return self.strings.codes([str(value) for value in values])
        array = np.asarray(values)
        if column.type is ColumnType.STRING:
            codes, dangling = self._string_ids.codes(array)
            tally["refer to a string that is not in the file: shown as empty"] += dangling
            return codes
        if column.name == "gpu" and column.stored_in == "rocpd_op":
            array = np.maximum(array, UNKNOWN)
        return array.astype(column.type.dtype, copy=False)

    def _require_times(self, table: Table, batch: Batch) -> None:
        """Refuse times that are missing or absurd: wavescope writes none such."""
        for name in _TIMES & batch.keys():
            times = batch[name]
            if len(times) and (times.min() < -_LARGEST_TIME or times.max() > _LARGEST_TIME):
                raise self._damaged(f"{table.name} without a usable {name.removesuffix('_ns')}")

    def _damaged(self, what: str) -> UnreadableInputError:
        return UnreadableInputError(
            self.path,
            f"it holds {what}",
            hint="the file was changed after it was written: convert the recording again",
        )


class _MarkerRows:
    """The markers among the rows of rocpd_op, found through their index."""

    def __init__(
        self, connection: sqlite3.Connection, columns: Sequence[Column], first_id: int | None
    ) -> None:
        self._names = list(dict.fromkeys(["id", *(column.stored_as for column in columns)]))
        listed = ", ".join(quoted(name) for name in self._names)
        self._missing = {column.stored_as: _NO_TIME for column in columns if column.name in _TIMES}
        self.replaced_values: Counter[str] = Counter()
        self._rows = connection.execute(
            f"SELECT {listed} FROM rocpd_op WHERE gpuId = {_MARKER_GPU} AND id >= ?"  # noqa: S608
            " ORDER BY id",
            (-(2**63) if first_id is None else first_id,),
        )

    def read(self, max_rows: int) -> ColumnBlock:
        """The next rows; none at the end."""
        rows = self._rows.fetchmany(max_rows)
        block = ColumnBlock()
        for index, name in enumerate(self._names):
            values = [row[index] for row in rows]
            if not set(map(type, values)) <= {int}:
                values = [self._number(name, value) for value in values]
            block[name] = np.array(values, np.int64)
        return block

    def _number(self, name: str, value: object) -> int:
        if isinstance(value, int):
            return value
        if value is not None:
            self.replaced_values[name] += 1
        return self._missing.get(name, UNKNOWN)


def open_wavescope(path: Path) -> SqliteSource:
    """The trace file at `path` as a source."""
    if not path.is_file():
        raise UnreadableInputError(path, "there is no such file")
    return SqliteSource(path)


def _first_id(table: Table) -> int:
    return 0 if table is PROCESSES else 1


def _repair_ends(batch: Batch, tally: Counter[str]) -> None:
    if "end_ns" not in batch:
        return
    wrong = batch["end_ns"] < batch["start_ns"]
    if wrong.any():
        tally["ended before they started: taken as ending there"] += int(wrong.sum())
        batch["end_ns"] = np.where(wrong, batch["start_ns"], batch["end_ns"])


def _on_gpus(block: ColumnBlock) -> npt.NDArray[np.bool_] | None:
    """Which rows of rocpd_op are GPU work and not markers; None when all are."""
    mask: npt.NDArray[np.bool_] = block.integers(_GPU) != _MARKER_GPU
    return None if mask.all() else mask


def _values(values: object) -> Array | list[str]:
    return values if isinstance(values, np.ndarray) else list(values)  # type: ignore[call-overload]
