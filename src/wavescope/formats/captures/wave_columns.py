"""Columns that grow by one wave file at a time, filled by the native reader."""

from __future__ import annotations

import enum
from typing import NamedTuple

import numpy as np

from wavescope.native import WaveColumnPointers, WaveValues, columns_library, pointer

ABSENT = -(2**63)
_PADDING = bytes(32)
_SHORTEST_EVENT = len("[0,0,0,0,0],")
_SHORTEST_PAIR = len("[0,0],")
_SHORTEST_LIST = len("[0,[[0,0]]],")


class Status(enum.IntEnum):
    """How reading a wave file went; numbered as in native/thread_trace/thread_trace.h."""

    WHOLE = 0
    CUT = 1
    MALFORMED = 2
    NOT_A_WAVE = 3
    FULL = 4


class WaveFacts(NamedTuple):
    """The single values of a wave, `ABSENT` where its file has none."""

    begin: int
    end: int
    cu: int
    number: int
    simd: int
    slot: int
    unusable: int


class WaveColumns:
    """Room for what wave files of `total_bytes` can hold, but for no more than `most_events`.

    The arrays are as large as the files could need at most; memory that nothing was written to is
    never taken from the system.
    """

    def __init__(self, total_bytes: int, most_events: int) -> None:
        events = min(total_bytes // _SHORTEST_EVENT + 1, most_events)
        pairs = min(total_bytes // _SHORTEST_PAIR + 1, most_events)
        lists = min(total_bytes // _SHORTEST_LIST + 1, most_events)
        self.time = np.empty(events, np.int64)
        self.category = np.empty(events, np.uint8)
        self.stall = np.empty(events, np.int32)
        self.duration = np.empty(events, np.int32)
        self.line = np.empty(events, np.int32)
        self.wait_line = np.empty(lists, np.int32)
        self.producer_offsets = np.empty(lists + 1, np.int64)
        self.producer_offsets[0] = 0
        self.producer_end = self.producer_offsets[1:]
        self.producer_line = np.empty(pairs, np.int32)
        self._raw = WaveColumnPointers(
            event_capacity=events,
            time=pointer(self.time, np.int64),
            category=pointer(self.category, np.uint8),
            stall=pointer(self.stall, np.int32),
            duration=pointer(self.duration, np.int32),
            line=pointer(self.line, np.int32),
            list_capacity=lists,
            wait_line=pointer(self.wait_line, np.int32),
            producer_end=pointer(self.producer_end, np.int64),
            producer_capacity=pairs,
            producer_line=pointer(self.producer_line, np.int32),
        )
        self._library = columns_library()

    @property
    def event_count(self) -> int:
        """Executed instructions read so far."""
        return int(self._raw.event_count)

    @property
    def list_count(self) -> int:
        """Dependency lists read so far."""
        return int(self._raw.list_count)

    @property
    def producer_count(self) -> int:
        """Entries of dependency lists read so far."""
        return int(self._raw.producer_count)

    def cut_back(self, events: int, lists: int) -> None:
        """Forget what was read beyond so many events and dependency lists."""
        producers = int(self.producer_end[lists - 1]) if lists else 0
        self._raw.event_count, self._raw.list_count = events, lists
        self._raw.producer_count = producers

    def add(self, data: bytes) -> tuple[Status, WaveFacts]:
        """Append what one wave file holds."""
        values = WaveValues()
        status = self._library.wavescope_wave_read(data + _PADDING, len(data), self._raw, values)
        return Status(status), WaveFacts(
            values.begin,
            values.end,
            values.cu,
            values.id,
            values.simd,
            values.slot,
            values.unusable,
        )
