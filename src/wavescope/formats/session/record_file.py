"""Reads the files of a process: fixed-size records block by block, texts, and keys of queues.

Files are read and never mapped: one that its writer shortens meanwhile must not kill the reader.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from wavescope.arrays import Array
from wavescope.formats.session.layout import (
    CALL_OPEN,
    CALLS,
    COPY_QUEUE,
    DROPPED,
    EMPTY,
    HEADER,
    HOST_DEVICE,
    MAGIC,
    MARKERS,
    OPS,
    PAGE_BYTES,
    TEXT_ENTRY,
    VERSION,
    MarkerRecordKind,
    Stream,
)
from wavescope.formats.session.plain_file import DamagedStreamError, opened_plain
from wavescope.model.columns import UNKNOWN
from wavescope.model.strings import StringTable

Records = npt.NDArray[np.void]

BLOCK_RECORDS = 1 << 16
_MOST_GROWTH = 16
"""Newer collectors' records are so many times larger at most."""
_LONGEST_TEXT_BYTES = 1 << 20
_MOST_DROPPED = 1 << 53
"""No process lives that long: more is damage."""


class Lookup:
    """A mapping of unsigned 64-bit keys to signed values, as two sorted arrays."""

    def __init__(self, values: Mapping[int, int]) -> None:
        self._values = dict(values)
        keys = np.fromiter(self._values.keys(), np.uint64, len(self._values))
        found = np.fromiter(self._values.values(), np.int64, len(self._values))
        order = np.argsort(keys)
        self._sorted_keys, self._sorted_values = keys[order], found[order]

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: int, missing: int) -> int:
        """The value of one key, or `missing`."""
        return self._values.get(key, missing)

    def values(self, keys: Array, missing: int) -> Array:
        """The values of `keys`, `missing` where there is none."""
        if not len(self._sorted_keys):
            return np.full(len(keys), missing, np.int64)
        wanted = keys.astype(np.uint64, copy=False)
        places = np.searchsorted(self._sorted_keys, wanted)
        places[places == len(self._sorted_keys)] = 0
        return np.where(self._sorted_keys[places] == wanted, self._sorted_values[places], missing)

    def has(self, keys: Array) -> Array:
        """Whether each of `keys` is known."""
        return self.values(keys, -1) >= 0


@dataclass(frozen=True)
class Block:
    """Completed records and their places in the file, counted from 0."""

    places: npt.NDArray[np.int64]
    records: Records


@dataclass(frozen=True)
class DroppedOp:
    """How many ops of a queue and kind made room for newer ones."""

    gpu: int
    queue: int
    kind: int
    count: int


@dataclass(frozen=True)
class Dropped:
    """What of a stream made room for newer records; nothing in most."""

    records: int = 0
    ops: tuple[DroppedOp, ...] = ()
    """Those of an ops stream one by one."""


class RecordFile:
    """The completed records of one stream of one process, opened for each pass anew.

    A session may be of thousands of processes: no descriptor stays open between passes.
    """

    def __init__(self, path: Path, stream: Stream) -> None:
        """Look at the header of `path`; DamagedStreamError when it does not fit."""
        self.path = path
        self.stream = stream
        with opened_plain(path) as file:
            size_bytes = os.fstat(file).st_size
            self.record_bytes, self.pid, self.start_ns = _checked_header(file, stream)
            self.slot_count, tail_bytes = divmod(size_bytes - PAGE_BYTES, self.record_bytes)
            self.dropped = _dropped(file) if stream in (OPS, CALLS, MARKERS) else Dropped()
            self.first_place = min(self.dropped.records, self.slot_count) if stream is OPS else 0
            """Records before it are not to be read any more, be they there or not."""
            self.is_torn = any(os.pread(file, tail_bytes, size_bytes - tail_bytes))
            """Whether the file ends within a record; blocks that were never filled end in zeros."""
        self._record = stream.record_of(self.record_bytes)

    def blocks(self, rows: int = BLOCK_RECORDS) -> Iterator[Block]:
        """Completed records in file order, at most `rows` at a time; holes are not read."""
        with opened_plain(self.path) as file:
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
        with opened_plain(self.path) as file:
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
        with opened_plain(self.path) as file:
            low, high = max(self.first_place, self._first_kept(file)), self.slot_count
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
        with opened_plain(self.path) as file:
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
        at, done = PAGE_BYTES + self.first_place * self.record_bytes, self.first_place
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


def _dropped(file: int) -> Dropped:
    page = os.pread(file, DROPPED.itemsize, HEADER.size).ljust(DROPPED.itemsize, b"\0")
    (found,) = np.frombuffer(page, DROPPED)
    entries = found["ops"][: min(int(found["entries"]), len(found["ops"]))].tolist()
    ops = tuple(
        DroppedOp(gpu, queue, kind, min(count, _MOST_DROPPED))
        for gpu, queue, kind, count in entries
    )
    return Dropped(min(int(found["records"]), _MOST_DROPPED), ops)


class Texts:
    """Codes, in the trace's string table, of the texts of one process."""

    def __init__(self, path: Path | None, strings: StringTable) -> None:
        """`path` is None where there are none that can be read."""
        self.torn_bytes = 0
        """Bytes at the end that are no whole entry."""
        self._strings = strings
        codes: dict[int, int] = {}
        if path is not None:
            with suppress(FileNotFoundError), opened_plain(path) as file:
                for identity, text in self._entries(file):
                    codes.setdefault(identity, strings.code(text.decode("utf-8", "replace")))
        self._codes = Lookup(codes)

    def codes(self, identities: Array) -> Array:
        """The codes of texts by id, unknown ones -1."""
        return self._codes.values(identities, UNKNOWN).astype(np.int32)

    def text(self, identity: int) -> str:
        """The text of an id, or nothing."""
        return self._strings[self._codes.get(identity, UNKNOWN)]

    def _entries(self, descriptor: int) -> Iterator[tuple[int, bytes]]:
        left_bytes = os.fstat(descriptor).st_size
        with open(descriptor, "rb", closefd=False) as file:
            while left_bytes >= TEXT_ENTRY.size:
                head = file.read(TEXT_ENTRY.size)
                if len(head) < TEXT_ENTRY.size:
                    break
                identity, text_bytes = TEXT_ENTRY.unpack(head)
                padded_bytes = -(-text_bytes // 8) * 8
                is_whole = padded_bytes <= min(_LONGEST_TEXT_BYTES, left_bytes - TEXT_ENTRY.size)
                if identity == 0 and text_bytes == 0:  # space that was never filled
                    return
                if identity == 0 or not is_whole:
                    break
                yield identity, file.read(padded_bytes)[:text_bytes]
                left_bytes -= TEXT_ENTRY.size + padded_bytes
        self.torn_bytes = left_bytes


def is_unreturned(records: Records) -> Array:
    """Which calls the process ended in."""
    unreturned: Array = (records["flags"] & CALL_OPEN != 0) | (records["end"] == 0)
    return unreturned


def is_unclosed(records: Records) -> Array:
    """Which records are ranges that nobody closed."""
    unclosed: Array = records["kind"] == MarkerRecordKind.OPEN
    return unclosed


_COPIES = 1 << 16
_DIRECTIONS = 0xFF00
_DIRECTION_NAMES = (
    "within the host",
    "to the device",
    "to the host",
    "within the device",
    "between devices",
)


def queue_key(gpu: int, queue: int) -> int:
    """The key of a queue by its numbers in the process; copies have keys of their own."""
    return (gpu << 32) + queue


def queue_keys(records: Records) -> Array:
    """The key of the queue of each op record.

    Of copies whose engine is not known the direction is taken: both run at the same time.
    """
    is_copy = records["queue"] == COPY_QUEUE
    engines = records["grid"][:, 2]
    engines = np.where(engines < _DIRECTIONS, engines, _DIRECTIONS + directions(records["grid"]))
    within = np.where(is_copy, engines + np.int64(_COPIES), records["queue"].astype(np.int64))
    keys: Array = (records["gpu"].astype(np.int64) << 32) + within
    return keys


def directions(grids: Array) -> Array:
    """Places in a list of directions from the source and target of each copy."""
    source, target = grids[:, 0], grids[:, 1]
    from_gpu, to_gpu = source != HOST_DEVICE, target != HOST_DEVICE
    plain = from_gpu * 2 + to_gpu * 1
    return np.where(from_gpu & to_gpu & (source != target), 4, plain)


@dataclass(frozen=True)
class RecordedQueue:
    """A key taken apart: a queue's index, or a copy engine's number."""

    gpu: int
    index: int
    is_copy: bool

    @property
    def name(self) -> str:
        """What the queue is called."""
        if not self.is_copy:
            return f"queue {self.index}"
        if self.index < _DIRECTIONS:
            return f"copy engine {self.index}"
        return f"copies {_DIRECTION_NAMES[min(self.index - _DIRECTIONS, 4)]}"

    @classmethod
    def from_key(cls, key: int) -> RecordedQueue:
        within = key & 0xFFFFFFFF
        return cls(key >> 32, within & 0xFFFF, within >= _COPIES)
