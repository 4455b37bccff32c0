"""Records sorted into numbered partitions, on disk where there are too many of them.

What a join of any size needs: both sides are partitioned by the key, then one partition after the
other is read back and joined in memory.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from wavescope.closing import Closing
from wavescope.unpacking import told_when_full

Records = npt.NDArray[np.void]

_CLOSED = -1


class Spool(Closing):
    """An unnamed temporary file that only grows: bytes kept at the offsets that `write` gave.

    The file is made at the first of them.
    """

    def __init__(self) -> None:
        self._descriptor: int | None = None
        self._end = 0

    def write(self, data: memoryview | bytes) -> int:
        """Append `data`; the offset where it lies."""
        with told_when_full(tempfile.gettempdir()):
            return self._appended(data)

    def _appended(self, data: memoryview | bytes) -> int:
        if self._descriptor is None:
            with tempfile.TemporaryFile(prefix="wavescope-") as file:
                self._descriptor = os.dup(file.fileno())
        offset = self._end
        left = memoryview(data)
        while left:
            written = os.pwrite(self._descriptor, left, self._end)
            self._end += written
            left = left[written:]
        return offset

    def read(self, offset: int, size: int) -> bytes:
        """The `size` bytes at `offset`."""
        assert self._descriptor is not None
        parts: list[bytes] = []
        end = offset + size
        while offset < end:
            parts.append(os.pread(self._descriptor, end - offset, offset))
            offset += len(parts[-1])
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, _CLOSED
        if descriptor not in (None, _CLOSED):
            os.close(descriptor)

    def __del__(self) -> None:
        self.close()


class PartitionedRows(Closing):
    """Takes structured arrays and gives each partition back, in the order it was filled."""

    def __init__(self, record: list[tuple[str, Any]], memory_limit_bytes: int) -> None:
        self.dtype = np.dtype(record)
        self._limit = memory_limit_bytes
        self._in_memory = 0
        self._parts: dict[int, list[Records]] = {}
        self._places: dict[int, list[tuple[int, int]]] = {}
        self._spool = Spool()

    def __len__(self) -> int:
        in_memory = sum(len(part) for parts in self._parts.values() for part in parts)
        on_disk = sum(rows for places in self._places.values() for _, rows in places)
        return in_memory + on_disk

    def numbers(self) -> list[int]:
        """The partitions that hold anything, in order."""
        return sorted(self._parts.keys() | self._places.keys())

    def add(self, partition: npt.NDArray[np.integer], **columns: npt.NDArray[Any]) -> None:
        """Add a record per row, given as columns, to the partition its row names."""
        records = np.empty(len(partition), self.dtype)
        for name, values in columns.items():
            records[name] = values
        self.add_records(partition, records)

    def add_records(self, partition: npt.NDArray[np.integer], records: Records) -> None:
        """Add each record to the partition its row names."""
        if not len(partition):
            return
        order = np.argsort(partition, kind="stable")
        numbers, starts = np.unique(partition[order], return_index=True)
        records = records[order]
        ends = np.append(starts[1:], len(order))
        for number, start, end in zip(
            numbers.tolist(), starts.tolist(), ends.tolist(), strict=True
        ):
            self._parts.setdefault(number, []).append(records[start:end])
        self._in_memory += records.nbytes
        if self._in_memory > self._limit:
            self._spill()

    def partition(self, number: int) -> Records:
        """All records of one partition; none where nothing was added."""
        return np.concatenate([np.empty(0, self.dtype), *self.pieces(number)])

    def pieces(self, number: int) -> Iterator[Records]:
        """The records of one partition as they were stored, a bounded number at a time."""
        size = self.dtype.itemsize
        for offset, rows in self._places.get(number, []):
            yield np.frombuffer(self._spool.read(offset, rows * size), self.dtype)
        yield from self._parts.get(number, [])

    def close(self) -> None:
        self._parts, self._places = {}, {}
        self._spool.close()

    def _spill(self) -> None:
        for number, parts in self._parts.items():
            records = np.concatenate(parts)
            place = self._spool.write(records.view(np.uint8).data)
            self._places.setdefault(number, []).append((place, len(records)))
        self._parts = {}
        self._in_memory = 0
