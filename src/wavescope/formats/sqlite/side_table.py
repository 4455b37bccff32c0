"""A sparse table beside another one, which holds further columns of its rows by their ids."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from wavescope.arrays import Array
from wavescope.formats.sqlite.sqlite_columns import ColumnBlock, ColumnCursor
from wavescope.model.columns import Column
from wavescope.model.source import missing_value


class SideTable:
    """A sparse table read along with its primary table, aligned by id."""

    def __init__(self, cursor: ColumnCursor, key: str) -> None:
        self._cursor = cursor
        self._key = key

    def _rows_until(self, last_id: int, rows: int) -> ColumnBlock:
        """All rows up to `last_id`, also those whose primary row is gone."""
        # One row more than there mostly are: where it is not there, the block is whole.
        blocks = [self._cursor.read(rows + 1, last_rowid=last_id)]
        while blocks[-1].row_count > rows:
            blocks.append(self._cursor.read(rows + 1, last_rowid=last_id))
        if len(blocks) == 1:
            return blocks[0]
        joined = ColumnBlock()
        for name in blocks[0]:
            joined[name] = np.concatenate([np.asarray(block[name]) for block in blocks])
        return joined

    def aligned(self, ids: npt.NDArray[np.int64], columns: Sequence[Column]) -> dict[str, Array]:
        """For each id its row's values, or the missing value where there is no row."""
        block = self._rows_until(int(ids[-1]), len(ids))
        own = block.integers(self._key)
        if np.array_equal(own, ids):
            return {column.stored_as: np.asarray(block[column.stored_as]) for column in columns}
        places = np.searchsorted(own, ids)
        known = np.zeros(len(ids), bool)
        inside = places < len(own)
        known[inside] = own[places[inside]] == ids[inside]
        result: dict[str, Array] = {}
        for column in columns:
            values = np.asarray(block[column.stored_as])
            filled = np.full(len(ids), missing_value(column), values.dtype)
            filled[known] = values[places[known]]
            result[column.stored_as] = filled
        return result
