"""Columns that grow by one wave file at a time, filled by the native reader or by its twin."""

from __future__ import annotations

import ctypes
import enum
from typing import ClassVar, NamedTuple

import numpy as np

from wavescope.formats.captures.wave_text import WaveText, wave_text
from wavescope.native.library import columns_library

ABSENT = -(2**63)
PADDING = bytes(32)
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


class _Facts(ctypes.Structure):
    _fields_: ClassVar = [
        (name, ctypes.c_int64) for name in ("begin", "end", "cu", "id", "simd", "slot", "unusable")
    ]


def _group(kind: str, *columns: str) -> list[tuple[str, type]]:
    counts: list[tuple[str, type]] = [
        (f"{kind}_capacity", ctypes.c_int64),
        (f"{kind}_count", ctypes.c_int64),
    ]
    return counts + [(column, ctypes.c_void_p) for column in columns]


class _Columns(ctypes.Structure):
    _fields_: ClassVar = [
        *_group("event", "time", "category", "stall", "duration", "line"),
        *_group("list", "wait_line", "producer_end"),
        *_group("producer", "producer_line"),
    ]


_ARRAYS = [field[0] for field in _Columns._fields_ if field[1] is ctypes.c_void_p]


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
        self._raw = _Columns(event_capacity=events)
        self._raw.list_capacity, self._raw.producer_capacity = lists, pairs
        for name in _ARRAYS:
            setattr(self._raw, name, getattr(self, name).ctypes.data)
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
        if self._library is None:
            return self._add_text(wave_text(data))
        facts = _Facts()
        status = self._library.ws_wave_read(
            ctypes.c_char_p(data + PADDING),
            ctypes.c_size_t(len(data)),
            ctypes.byref(self._raw),
            ctypes.byref(facts),
        )
        values = WaveFacts(
            facts.begin, facts.end, facts.cu, facts.id, facts.simd, facts.slot, facts.unusable
        )
        return Status(status), values

    def _add_text(self, wave: WaveText) -> tuple[Status, WaveFacts]:
        raw = self._raw
        ends = self.producer_count + wave.producer_end
        counts = {
            "event": len(wave.events),
            "list": len(ends),
            "producer": len(wave.producer_line),
        }
        facts = WaveFacts(*wave.facts, wave.unusable)
        for kind, count in counts.items():
            if getattr(raw, f"{kind}_count") + count > getattr(raw, f"{kind}_capacity"):
                return Status.FULL, facts
        filled = {kind: getattr(raw, f"{kind}_count") for kind in counts}
        places = {kind: slice(filled[kind], filled[kind] + counts[kind]) for kind in counts}
        for index, name in enumerate(("time", "category", "stall", "duration", "line")):
            getattr(self, name)[places["event"]] = wave.events[:, index]
        self.wait_line[places["list"]] = wave.wait_line
        self.producer_end[places["list"]] = ends
        self.producer_line[places["producer"]] = wave.producer_line
        for kind, count in counts.items():
            setattr(raw, f"{kind}_count", filled[kind] + count)
        return Status(wave.status), facts
