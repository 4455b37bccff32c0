"""Strings and texts of an SQLite trace, fetched by id when rows name them.

Foreign traces keep kernel names, arguments and marker texts in one table of millions, so nothing is
loaded before a row asks for it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from wavescope.arrays import Array
from wavescope.formats.sqlite.sqlite_open import quoted
from wavescope.formats.sqlite.sqlite_table import table_layout
from wavescope.model.columns import UNKNOWN
from wavescope.model.strings import StringTable

_IDS_PER_QUERY = 500
_SCAN_ROWS = 10_000
_DENSE_LIMIT = 1 << 22
_UNSEEN = -2
_TEXT_BYTES = "CAST(CAST(string AS TEXT) AS BLOB)"


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
