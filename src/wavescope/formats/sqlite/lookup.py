"""Finds values by key: in memory for few keys, block by block of a file's table for many."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from wavescope.formats.sqlite.sqlite_columns import ColumnCursor
from wavescope.model.columns import UNKNOWN

_BLOCK_ROWS = 1 << 17
_BLOCKS_KEPT = 16

Integers = npt.NDArray[np.int64]


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
