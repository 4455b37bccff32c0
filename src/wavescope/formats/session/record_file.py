"""Reads a file of fixed-size records block by block.

Files are read and never mapped: one that its writer shortens meanwhile must not kill the reader.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from wavescope.formats.session.layout import EMPTY, HEADER, MAGIC, PAGE_BYTES, VERSION, Stream

Records = npt.NDArray[np.void]

BLOCK_RECORDS = 1 << 16
_MOST_GROWTH = 16
"""Newer collectors' records are so many times larger at most."""


class DamagedStreamError(Exception):
    """A stream that cannot be read at all; the text says why."""


@dataclass(frozen=True)
class Block:
    """Completed records and their places in the file, counted from 0."""

    places: npt.NDArray[np.int64]
    records: Records


class RecordFile:
    """The completed records of one stream of one process, opened for each pass anew.

    A session may be of thousands of processes: no descriptor stays open between passes.
    """

    def __init__(self, path: Path, stream: Stream) -> None:
        """Look at the header of `path`; DamagedStreamError when it does not fit."""
        self.path = path
        self.stream = stream
        with _opened(path) as file:
            size_bytes = os.fstat(file).st_size
            self.record_bytes, self.pid, self.start_ns = _checked_header(file, stream)
            self.slot_count, tail_bytes = divmod(size_bytes - PAGE_BYTES, self.record_bytes)
            self.is_torn = any(os.pread(file, tail_bytes, size_bytes - tail_bytes))
            """Whether the file ends within a record; blocks that were never filled end in zeros."""
        self._record = _grown(stream.record, self.record_bytes)

    def blocks(self, rows: int = BLOCK_RECORDS) -> Iterator[Block]:
        """Completed records in file order, at most `rows` at a time; holes are not read."""
        with _opened(self.path) as file:
            for first, last in self._extents(file):
                for start in range(first, last, rows):
                    records = self._read(file, start, min(rows, last - start))
                    filled = np.flatnonzero(records["kind"] != EMPTY)
                    if len(filled):
                        chosen = records if len(filled) == len(records) else records[filled]
                        yield Block(filled + start, chosen)

    def records_at(self, places: npt.NDArray[np.int64]) -> Records:
        """The records at `places`, which are read in the runs they form."""
        found = np.zeros(len(places), self._record)
        breaks = np.flatnonzero(np.diff(places) != 1) + 1
        with _opened(self.path) as file:
            for run in np.split(np.arange(len(places)), breaks):
                if len(run):
                    read = self._read(file, int(places[run[0]]), len(run))
                    found[run[0] : run[0] + len(read)] = read
        return found

    @cached_property
    def filled_count(self) -> int:
        """Places up to the last filled one, of a stream that is filled in the order of places.

        Records that were given back (see `spent_records`) count: they lie before the others.
        """
        with _opened(self.path) as file:
            low, high = self._first_kept(file), self.slot_count
            while low < high:
                middle = (low + high) // 2
                records = self._read(file, middle, 1)
                if len(records) and records["kind"][0] != EMPTY:
                    low = middle + 1
                else:
                    high = middle
        return low

    def rest_of_header(self) -> bytes:
        """What follows the header proper on its page."""
        with _opened(self.path) as file:
            return os.pread(file, PAGE_BYTES - HEADER.size, HEADER.size)

    def _first_kept(self, file: int) -> int:
        """The place of a filled record with nothing but filled ones up to the last; 0 if none."""
        kept = 0
        for first, last in self._extents(file):
            at = min(first + 1, last - 1)  # the first may be cut in half by a hole
            records = self._read(file, at, 1)
            if len(records) and records["kind"][0] != EMPTY:
                kept = at
        return kept

    def _read(self, file: int, place: int, count: int) -> Records:
        data = os.pread(file, count * self.record_bytes, PAGE_BYTES + place * self.record_bytes)
        return np.frombuffer(data, self._record, len(data) // self.record_bytes)

    def _extents(self, file: int) -> Iterator[tuple[int, int]]:
        """Ranges of places that hold data, in order and apart."""
        end_bytes = PAGE_BYTES + self.slot_count * self.record_bytes
        at, done = PAGE_BYTES, 0
        while at < end_bytes:
            try:
                data = os.lseek(file, at, os.SEEK_DATA)
                hole = os.lseek(file, data, os.SEEK_HOLE)
            except OSError:  # nothing but a hole follows
                return
            first = max(done, (data - PAGE_BYTES) // self.record_bytes)
            last = min(self.slot_count, -(-(hole - PAGE_BYTES) // self.record_bytes))
            if first < last:
                yield first, last
                done = last
            at = max(hole, at + 1)


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    """A descriptor of a regular file: a pipe or a device in its place is refused, not waited on."""
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise DamagedStreamError("not a regular file")
        yield file
    finally:
        os.close(file)


def _checked_header(file: int, stream: Stream) -> tuple[int, int, int]:
    """Bytes of a record, process id and start of the recording."""
    page = os.pread(file, PAGE_BYTES, 0)
    if len(page) < PAGE_BYTES:
        raise DamagedStreamError("shorter than its header")
    magic, version, number, record_bytes, pid, start_ns = HEADER.unpack_from(page)
    if magic != MAGIC:
        raise DamagedStreamError("without a header")
    if version != VERSION:
        raise DamagedStreamError(f"of version {version}, which this version does not know")
    if number != stream.number:
        raise DamagedStreamError(f"of stream {number} instead of {stream.number}")
    if not stream.record.itemsize <= record_bytes <= stream.record.itemsize * _MOST_GROWTH:
        raise DamagedStreamError(f"with records of {record_bytes} bytes")
    return record_bytes, pid, start_ns


def _grown(record: np.dtype[np.void], record_bytes: int) -> np.dtype[np.void]:
    """`record` in steps of `record_bytes`: newer collectors may append fields."""
    assert record.fields is not None
    names = list(record.fields)
    return np.dtype(
        {
            "names": names,
            "formats": [record.fields[name][0] for name in names],
            "offsets": [record.fields[name][1] for name in names],
            "itemsize": record_bytes,
        }
    )
