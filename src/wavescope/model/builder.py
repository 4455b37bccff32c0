"""Collects rows into a trace source: what importers of event formats write to.

Rows are kept in memory up to a limit and then moved to an unnamed temporary file, so that an import
of any size stays within it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.arrays import Array
from wavescope.arrays.partitioned_rows import Spool
from wavescope.closing import Closing
from wavescope.model.columns import TABLES, Table
from wavescope.model.progress import Notes
from wavescope.model.source import BATCH_ROWS, Batch, full_batch
from wavescope.model.strings import StringTable

MEMORY_LIMIT_BYTES = 96 << 20


class _Block:
    """One appended batch: columns in memory, or their places in the spool."""

    def __init__(self, columns: Mapping[str, Array]) -> None:
        self.rows = len(next(iter(columns.values())))
        self.columns: dict[str, Array] = dict(columns)
        self.places: dict[str, tuple[int, np.dtype[np.generic]]] = {}

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.columns.values())

    def spill(self, spool: Spool) -> None:
        for name, array in self.columns.items():
            data = np.ascontiguousarray(array).view(np.uint8).data
            self.places[name] = (spool.write(data), array.dtype)
        self.columns = {}

    def column(self, name: str, spool: Spool) -> Array | None:
        if name in self.places:
            offset, dtype = self.places[name]
            return np.frombuffer(spool.read(offset, self.rows * dtype.itemsize), dtype)
        return self.columns.get(name)


class _TextBlock(NamedTuple):
    """Where texts lie in the spool: one after the other, then the offsets between them."""

    first: int
    texts: int
    blob: int
    offsets: int


class TraceBuilder(Closing):
    """Takes rows by table and is itself the source of what it took."""

    def __init__(
        self,
        path: str,
        format: str,  # noqa: A002  named as the protocol names it
        *,
        memory_limit_bytes: int = MEMORY_LIMIT_BYTES,
    ) -> None:
        self.path = path
        self.format = format
        self.strings = StringTable()
        self.notes = Notes()
        self._blocks: dict[str, list[_Block]] = {table.name: [] for table in TABLES}
        self._counts: dict[str, int] = dict.fromkeys(self._blocks, 0)
        self._texts: list[_TextBlock] = []
        self._text_count = 0
        self._spool = Spool()
        self._limit = memory_limit_bytes
        self._in_memory = 0

    def add(self, table: Table, columns: Mapping[str, Array]) -> range:
        """Append rows given as columns (absent ones are unknown); the ids they got.

        A column named `id` may be given only when it increases and every row is numbered.
        """
        rows = len(next(iter(columns.values())))
        first = self._counts[table.name] + 1
        ids = range(first, first + rows)
        if rows == 0:
            return ids
        types = {column.name: column.type.dtype for column in table.columns}
        stored = {name: array.astype(types[name]) for name, array in columns.items()}
        if "id" in table.column_names and "id" not in stored:
            start = first - 1 if table.name == "processes" else first
            stored["id"] = np.arange(start, start + rows, dtype=table.column("id").type.dtype)
        block = _Block(stored)
        self._blocks[table.name].append(block)
        self._counts[table.name] += rows
        self._in_memory += block.nbytes
        if self._in_memory > self._limit:
            self._spill()
        return ids

    def add_row(self, table: Table, **values: int | float | str) -> None:
        """Append one row; strings are given as text."""
        self.add(
            table,
            {
                name: np.array([self.strings.code(value) if isinstance(value, str) else value])
                for name, value in values.items()
            },
        )

    def add_texts(self, texts: Sequence[bytes]) -> npt.NDArray[np.int64]:
        """Store free texts; their handles, -1 for empty ones."""
        lengths = np.fromiter((len(text) for text in texts), np.int64, len(texts))
        return self.add_text_blob(b"".join(texts), np.concatenate(([0], np.cumsum(lengths))))

    def add_text_blob(
        self, blob: bytes | memoryview, offsets: npt.NDArray[np.integer]
    ) -> npt.NDArray[np.int64]:
        """Store the texts blob[offsets[i]:offsets[i+1]]; their handles, -1 for empty ones."""
        count = len(offsets) - 1
        if count <= 0:
            return np.empty(0, np.int64)
        block = _TextBlock(
            self._text_count,
            count,
            self._spool.write(blob),
            self._spool.write(offsets.astype(np.int64).view(np.uint8).data),
        )
        self._texts.append(block)
        self._text_count += count
        handles = np.arange(block.first, block.first + count, dtype=np.int64)
        return np.where(np.diff(offsets) > 0, handles, -1)

    def texts(self, handles: npt.NDArray[np.int64]) -> list[str]:
        """The texts of `handles`."""
        starts = np.array([block.first for block in self._texts], np.int64)
        result: list[str] = []
        opened: _TextBlock | None = None
        blob, offsets = b"", [0]
        blocks = np.searchsorted(starts, handles, side="right") - 1
        for handle, number in zip(handles.tolist(), blocks.tolist(), strict=True):
            if handle < 0:
                result.append("")
                continue
            if opened is not self._texts[number]:
                opened = self._texts[number]
                blob, offsets = self._text_block(opened)
            index = handle - opened.first
            result.append(blob[offsets[index] : offsets[index + 1]].decode("utf-8", "replace"))
        return result

    def _text_block(self, block: _TextBlock) -> tuple[bytes, list[int]]:
        data = self._spool.read(block.offsets, (block.texts + 1) * 8)
        offsets = np.frombuffer(data, np.int64).tolist()
        return self._spool.read(block.blob, offsets[-1]), offsets

    def row_count(self, table: Table) -> int:
        """Rows appended to `table` so far."""
        return self._counts[table.name]

    def batches(
        self, table: Table, columns: Sequence[str] | None = None, rows: int = BATCH_ROWS
    ) -> Iterator[Batch]:
        """The appended rows in order."""
        wanted = table.column_names if columns is None else columns
        for _, batch in self.keyed_batches(table, wanted, 0, rows):
            yield batch

    def keyed_batches(
        self, table: Table, columns: Sequence[str], first_key: int, rows: int = BATCH_ROWS
    ) -> Iterator[tuple[npt.NDArray[np.int64], Batch]]:
        """The appended rows from the one numbered `first_key` on, with their numbers."""
        begun = 0
        for block in self._blocks[table.name]:
            number, begun = begun, begun + block.rows
            if begun <= first_key:
                continue
            given = {
                name: array
                for name in columns
                if (array := block.column(name, self._spool)) is not None
            }
            if not given:
                given = {"": np.empty(block.rows)}
            batch = full_batch(table, given, columns)
            for start in range(max(0, first_key - number), block.rows, rows):
                numbers = np.arange(number + start, number + min(start + rows, block.rows))
                yield numbers, {name: array[start : start + rows] for name, array in batch.items()}

    def close(self) -> None:
        self._spool.close()

    def _spill(self) -> None:
        for blocks in self._blocks.values():
            for block in blocks:
                if block.columns:
                    block.spill(self._spool)
        self._in_memory = 0
