"""Finds values by key: in memory for few keys, block by block of a file's table for many.

Foreign traces keep kernel names, arguments and marker texts in one table of millions, so no string
is loaded before a row asks for it.
"""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from wavescope.arrays.array_types import Array
from wavescope.formats.sqlite.sqlite_columns import ColumnCursor
from wavescope.formats.sqlite.sqlite_open import quoted
from wavescope.formats.sqlite.sqlite_table import table_layout
from wavescope.model.columns import UNKNOWN
from wavescope.model.strings import StringTable

_BLOCK_ROWS = 1 << 17
_BLOCKS_KEPT = 16

Integers = npt.NDArray[np.int64]
_IDS_PER_QUERY = 500
_SCAN_ROWS = 10_000
_DENSE_LIMIT = 1 << 22
_UNSEEN = -2
_TEXT_BYTES = "CAST(CAST(string AS TEXT) AS BLOB)"


class ValueByKey:
    """Integers by integer key; of equal keys the first one counts."""

    def __init__(self, keys: Integers, values: Integers) -> None:
        order = np.argsort(keys, kind="stable")
        keys, values = keys[order], values[order]
        first = np.ones(len(keys), bool)
        first[1:] = keys[1:] != keys[:-1]
        self.keys = keys[first]
        self.values = values[first]
        self.repeated = keys[1:][~first[1:]]
        """Keys that were given more than once."""

    @classmethod
    def of(cls, pairs: dict[int, int]) -> ValueByKey:
        """The lookup that says what the dictionary says."""
        return cls(np.array(list(pairs), np.int64), np.array(list(pairs.values()), np.int64))

    def __len__(self) -> int:
        return len(self.keys)

    def find(self, keys: Integers) -> Integers:
        """The value of each key, -1 where there is none."""
        if not len(self.keys):
            return np.full(len(keys), UNKNOWN, np.int64)
        places = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[places] == keys, self.values[places], UNKNOWN)


class ValuesByRowid:
    """Columns of a file's table by rowid, kept in blocks of which the latest stay in memory.

    Made for rows that refer to another table in nearly the order of its rowids.
    """

    def __init__(
        self, open_cursor: Callable[[], ColumnCursor], columns: Sequence[str], last_rowid: int
    ) -> None:
        self._open_cursor = open_cursor
        self._columns = tuple(columns)
        self._last_rowid = last_rowid
        self._cursor: ColumnCursor | None = None
        self._next_rowid = 0
        self._blocks: OrderedDict[int, tuple[Integers, ...]] = OrderedDict()

    def find(self, rowids: Integers, column: str) -> Integers:
        """The column's value in each of the rows, -1 where there is no such row."""
        place = self._columns.index(column)
        found = np.full(len(rowids), UNKNOWN, np.int64)
        can_be = (rowids >= 0) & (rowids <= self._last_rowid)
        numbers = np.where(can_be, rowids // _BLOCK_ROWS, UNKNOWN)
        for number in np.unique(numbers).tolist():
            if number >= 0:
                inside = numbers == number
                found[inside] = self._block(number)[place][rowids[inside] - number * _BLOCK_ROWS]
        return found

    def close(self) -> None:
        """Gives the file back; the next search opens it again."""
        if self._cursor is not None:
            self._cursor.close()
            self._cursor = None

    def _block(self, number: int) -> tuple[Integers, ...]:
        if number in self._blocks:
            self._blocks.move_to_end(number)
            return self._blocks[number]
        self._blocks[number] = block = self._read_block(number * _BLOCK_ROWS)
        if len(self._blocks) > _BLOCKS_KEPT:
            self._blocks.popitem(last=False)
        return block

    def _read_block(self, first: int) -> tuple[Integers, ...]:
        """The columns of the rows first, first + 1, ...: cursors only go forward."""
        if self._cursor is None or first < self._next_rowid:
            self.close()
            self._cursor = self._open_cursor()
        while self._cursor.read(_BLOCK_ROWS, last_rowid=first - 1).row_count:
            pass
        self._next_rowid = first + _BLOCK_ROWS
        rows = self._cursor.read(_BLOCK_ROWS, last_rowid=self._next_rowid - 1)
        places = rows.integers("rowid") - first
        block = tuple(np.full(_BLOCK_ROWS, UNKNOWN, np.int64) for _ in self._columns)
        for values, name in zip(block, self._columns, strict=True):
            values[places] = rows.integers(name)
        return block


class RowsById:
    """Rows of one table by the id in its column `id`."""

    def __init__(self, connection: sqlite3.Connection, table: str) -> None:
        self._connection = connection
        self._table = f"main.{quoted(table)}"
        self._is_rowid = table_layout(connection, table).is_rowid("id")

    def fetch(
        self, ids: npt.NDArray[np.int64], columns: Sequence[str]
    ) -> Iterator[tuple[Any, ...]]:
        """(id, values...) of the rows whose id is among `ids`, which increase; `columns` is SQL."""
        select = f"SELECT id, {', '.join(columns)} FROM {self._table}"  # noqa: S608  quoted
        if not self._is_rowid:
            yield from self._scan(ids, select)
            return
        for start in range(0, len(ids), _IDS_PER_QUERY):
            block = ids[start : start + _IDS_PER_QUERY].tolist()
            if block[-1] - block[0] < 2 * len(block):
                where, values = "BETWEEN ? AND ?", [block[0], block[-1]]
            else:
                where, values = f"IN ({','.join('?' * len(block))})", block
            yield from self._connection.execute(f"{select} WHERE id {where}", values)

    def _scan(self, ids: npt.NDArray[np.int64], select: str) -> Iterator[tuple[Any, ...]]:
        """One pass over a table that SQLite could only search row by row for each id."""
        wanted = set(ids.tolist())
        cursor = self._connection.execute(select)
        while rows := cursor.fetchmany(_SCAN_ROWS):
            yield from (row for row in rows if row[0] in wanted)


class Texts:
    """The texts of one table, which has the columns id and string."""

    def __init__(self, connection: sqlite3.Connection, table: str) -> None:
        self._rows = RowsById(connection, table)
        encoding = str(connection.execute("PRAGMA main.encoding").fetchone()[0])
        self._codec = {"UTF-16le": "utf-16-le", "UTF-16be": "utf-16-be"}.get(encoding, "utf-8")
        self.damaged: set[int] = set()
        """Ids of texts so far that are not valid in the file's encoding."""

    def fetch(self, ids: npt.NDArray[np.int64]) -> Iterator[tuple[int, str]]:
        """(id, text) for those of `ids`, which increase, that the table has."""
        for row_id, raw in self._rows.fetch(ids, (_TEXT_BYTES,)):
            if raw is not None:
                yield row_id, self._decoded(row_id, raw)

    def _decoded(self, row_id: int, raw: bytes) -> str:
        try:
            return raw.decode(self._codec)
        except UnicodeDecodeError:
            self.damaged.add(row_id)
            return raw.decode(self._codec, "replace")


class StringCodes:
    """Turns string ids of a file into codes of a trace's string table."""

    def __init__(self, texts: Texts | None, strings: StringTable) -> None:
        self.texts = texts
        self._strings = strings
        self._dense = np.full(1024, _UNSEEN, np.int32)
        self._dense[UNKNOWN] = UNKNOWN
        self._ids = np.array([UNKNOWN], np.int64)
        self._codes = np.array([UNKNOWN], np.int32)

    def codes(self, ids: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int32], int]:
        """The code of each id, and how many ids name no string; NULL (-1) does not count."""
        if not len(ids):
            return np.empty(0, np.int32), 0
        lowest, highest = int(ids.min()), int(ids.max())
        if lowest == highest and len(ids) > 1:  # as most types of ops are
            code, dangling = self.codes(ids[:1])
            return np.repeat(code, len(ids)), dangling * len(ids)
        is_dense = lowest >= UNKNOWN and highest < _DENSE_LIMIT
        codes = self._dense_codes(ids, highest) if is_dense else self._sparse_codes(ids)
        unknown = codes == UNKNOWN
        return codes, int((unknown & (ids != UNKNOWN)).sum()) if unknown.any() else 0

    def _dense_codes(self, ids: npt.NDArray[np.int64], highest: int) -> npt.NDArray[np.int32]:
        """Codes by an array with a place for every id; its last place is that of NULL (-1)."""
        held = len(self._dense) - 1
        if highest >= held:
            grown = np.full(max(highest + 2, 2 * len(self._dense)), _UNSEEN, np.int32)
            grown[:held] = self._dense[:held]
            grown[UNKNOWN] = UNKNOWN
            self._dense = grown
        codes: npt.NDArray[np.int32] = np.take(self._dense, ids, mode="wrap")
        unseen = codes == _UNSEEN
        if unseen.any():
            is_new = np.zeros(len(self._dense), np.bool_)
            is_new[ids[unseen]] = True
            new = np.flatnonzero(is_new)
            self._dense[new] = self._fetched(new)
            codes = np.take(self._dense, ids, mode="wrap")
        return codes

    def _sparse_codes(self, ids: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
        """Codes by binary search: ids of several recording sessions lie 2^32 apart."""
        places = np.minimum(np.searchsorted(self._ids, ids), len(self._ids) - 1)
        unseen = self._ids[places] != ids
        if unseen.any():
            new = np.unique(ids[unseen])
            merged = np.concatenate((self._ids, new))
            codes = np.concatenate((self._codes, self._fetched(new)))
            order = np.argsort(merged)
            self._ids, self._codes = merged[order], codes[order]
            places = np.searchsorted(self._ids, ids)
        found: npt.NDArray[np.int32] = self._codes[places]
        return found

    def _fetched(self, ids: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
        codes = np.full(len(ids), UNKNOWN, np.int32)
        if self.texts is None:
            return codes
        for row_id, text in self.texts.fetch(ids):
            place = int(np.searchsorted(ids, row_id))
            if place < len(ids) and ids[place] == row_id:
                codes[place] = self._strings.code(text)
        return codes


def texts_of(texts: Texts | None, handles: Array) -> tuple[list[str], Array]:
    """The text of each handle (-1 and unknown ones are empty), and the handles that name none."""
    ids = np.unique(handles[handles >= 0]).astype(np.int64)
    found = dict(texts.fetch(ids)) if texts is not None else {}
    dangling = ids[[row_id not in found for row_id in ids.tolist()]] if len(ids) else ids
    return [found.get(handle, "") for handle in handles.tolist()], dangling
