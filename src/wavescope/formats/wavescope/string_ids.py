"""The strings of a trace file by their ids, which need not be in order nor without gaps."""

from __future__ import annotations

import sqlite3

import numpy as np
import numpy.typing as npt

from wavescope.arrays import Array
from wavescope.formats.sqlite.sqlite_open import as_text, quoted
from wavescope.model.columns import UNKNOWN
from wavescope.model.strings import StringTable


class StringIds:
    """Strings of one table of a file, and the code of each of their ids."""

    def __init__(self, ids: npt.NDArray[np.int64], strings: list[str]) -> None:
        self.strings = StringTable()
        order = np.argsort(ids, kind="stable")
        self._ids = ids[order]
        self._codes = self.strings.codes(strings)[order]
        self._dense = _is_dense(self._ids)

    @classmethod
    def read(cls, connection: sqlite3.Connection, table: str) -> StringIds:
        """The strings of `table`, which has the columns id and string."""
        rows = connection.execute(f"SELECT id, string FROM {quoted(table)}").fetchall()  # noqa: S608
        try:
            ids = np.fromiter((int(row[0]) for row in rows), np.int64, len(rows))
        except (TypeError, ValueError, OverflowError) as error:
            raise sqlite3.DatabaseError(f"an id in {table} is not a whole number") from error
        return cls(ids, [as_text(row[1]) for row in rows])

    def codes(self, ids: Array) -> tuple[npt.NDArray[np.int32], int]:
        """The code of each id, -1 where there is none, and how many ids dangle (NULL does not)."""
        if not len(self._ids):
            return np.full(len(ids), UNKNOWN, np.int32), int((ids >= 0).sum())
        if self._dense and len(ids) and self._ids[0] <= ids.min() and ids.max() <= self._ids[-1]:
            return np.take(self._codes, ids - self._ids[0]), 0
        if self._dense:
            places = ids - self._ids[0]
            known = (places >= 0) & (places < len(self._ids))
        else:
            places = np.minimum(np.searchsorted(self._ids, ids), len(self._ids) - 1)
            known = self._ids[places] == ids
        if known.all():
            return self._codes[places], 0
        codes = np.where(known, self._codes[np.where(known, places, 0)], UNKNOWN).astype(np.int32)
        return codes, int((~known & (ids >= 0)).sum())


def _is_dense(ids: npt.NDArray[np.int64]) -> bool:
    return len(ids) > 0 and int(ids[-1]) - int(ids[0]) == len(ids) - 1
