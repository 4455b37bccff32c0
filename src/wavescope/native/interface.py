"""What native functions are given: the structures of the headers, and arrays as pointers."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import c_double, c_int32, c_int64, c_uint8, c_uint32, c_void_p
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

Int32 = ctypes.c_int32
Int64 = ctypes.c_int64
Uint64 = ctypes.c_uint64
Size = ctypes.c_size_t
Handle = ctypes.c_void_p
"""An object of the library, or an address that it gives."""


def pointer(array: npt.NDArray[Any] | None, dtype: npt.DTypeLike) -> int | None:
    """Where the values of `array` lie, None for no array; TypeError unless they are as C sees them.

    The array must outlive what is done with the address.
    """
    if array is None:
        return None
    expected = np.dtype(dtype)
    if array.dtype != expected or not array.flags.c_contiguous:
        gaps = "" if array.flags.c_contiguous else " with gaps"
        raise TypeError(f"expected an array of {expected}, not of {array.dtype}{gaps}")
    address: int = array.__array_interface__["data"][0]  # in half the time of array.ctypes.data
    return address


class ArrayOf:
    """The type of an argument that is an array of `dtype`, or None."""

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self._dtype = np.dtype(dtype)

    def from_param(self, array: npt.NDArray[Any] | None) -> ctypes.c_void_p:
        """Called by ctypes for every argument."""
        return ctypes.c_void_p(pointer(array, self._dtype))


def pointers(arrays: Sequence[npt.NDArray[Any]], dtype: npt.DTypeLike) -> ctypes.Array[Any]:
    """The addresses of several arrays as an array of pointers."""
    return (ctypes.c_void_p * len(arrays))(*(pointer(array, dtype) for array in arrays))


def address_of(pointers_: ctypes.Array[Any]) -> int:
    """Where an array that `pointers` made lies, for a member of a structure."""
    return ctypes.addressof(pointers_)


def bytes_at(address: int | None, size: int) -> bytes:
    """A copy of bytes that the library holds."""
    return ctypes.string_at(address, size) if address and size else b""


def texts_at(blob: int | None, ends: int | None, count: int) -> list[str]:
    """Texts that the library holds one after another, the i-th up to the i-th of `ends`."""
    if not count:
        return []
    if not blob or not ends:
        raise MemoryError
    bounds = (ctypes.c_int64 * count).from_address(ends)
    whole = bytes_at(blob, bounds[count - 1])
    starts = (0, *bounds[:-1])
    return [whole[start:end].decode() for start, end in zip(starts, bounds, strict=True)]


Fields = list[tuple[str, Any]]


def _counted(kind: str, *columns: str) -> Fields:
    """A capacity, a count, and columns of that length."""
    counts: Fields = [(f"{kind}_capacity", c_int64), (f"{kind}_count", c_int64)]
    return counts + [(column, c_void_p) for column in columns]


class IntervalRun(ctypes.Structure):
    """WavescopeIntervalRun of column_operators.h."""

    _fields_: ClassVar = [("starts", c_void_p), ("ends", c_void_p), ("count", c_int64)]


class GroupedColumn(ctypes.Structure):
    """WavescopeGroupedColumn of column_operators.h."""

    _fields_: ClassVar = [("from_", c_void_p), ("to", c_void_p), ("value_bytes", c_int32)]


class LaneColumns(ctypes.Structure):
    """WavescopeLane of lane_pixels.h."""

    _fields_: ClassVar = [
        ("starts", c_void_p),
        ("lengths", c_void_p),
        ("count", c_int64),
        ("length_bytes", c_int64),
        ("block_starts", c_void_p),
    ]


class ReadColumn(ctypes.Structure):
    """WavescopeReadColumn of sqlite_pages.h."""

    _fields_: ClassVar = [
        ("position", c_int32),
        ("kind", c_int32),
        ("has_default", c_int32),
        ("missing_bits", c_int64),
    ]


class ReadTarget(ctypes.Structure):
    """WavescopeReadTarget of sqlite_pages.h."""

    _fields_: ClassVar = [("values", c_void_p), ("nulls", c_void_p)]


class ReadOutcome(ctypes.Structure):
    """WavescopeReadOutcome of sqlite_pages.h."""

    _fields_: ClassVar = [
        ("rows", c_int64),
        ("last_rowid", c_int64),
        ("bad_page", c_uint32),
        ("error_number", c_int32),
        ("at_end", c_int32),
    ]


class BulkColumn(ctypes.Structure):
    """WavescopeBulkColumn of sqlite_pages.h."""

    _fields_: ClassVar = [
        ("not_null", c_int32),
        ("has_missing", c_int32),
        ("whole_numbers", c_int32),
        ("missing_integer", c_int64),
        ("missing_real", c_double),
    ]


class BulkValues(ctypes.Structure):
    """WavescopeBulkValues of sqlite_pages.h."""

    _fields_: ClassVar = [
        ("kind", c_int32),
        ("values", c_void_p),
        ("stride_bytes", c_int64),
        ("text", c_void_p),
        ("text_bytes", c_int64),
        ("nulls", c_void_p),
    ]


CHROME_COLUMNS = (
    "phase",
    "flags",
    "id_kind",
    "name",
    "category",
    "kind",
    "process",
    "thread",
    "id",
    "start_ns",
    "duration_ns",
    "args_end",
)
CHROME_ARGUMENT_COUNT = 26


class ChromeColumns(ctypes.Structure):
    """WavescopeChromeColumns of chrome_json.h."""

    _fields_: ClassVar = [
        *((name, c_void_p) for name in CHROME_COLUMNS),
        ("arguments", c_void_p * CHROME_ARGUMENT_COUNT),
    ]


class ChromeCounts(ctypes.Structure):
    """WavescopeChromeCounts of chrome_json.h."""

    _fields_: ClassVar = [
        ("events", c_int64),
        ("not_objects", c_int64),
        ("replaced_texts", c_int64),
        ("unusable_times", c_int64),
        ("dropped_metadata", c_int64),
        ("has_events", c_int32),
        ("is_array", c_int32),
        ("truncated", c_int32),
    ]


class Slices(ctypes.Structure):
    """WavescopeSlices of trace_encoder.h."""

    _fields_: ClassVar = [
        ("rows", c_int64),
        ("start_ns", c_void_p),
        ("end_ns", c_void_p),
        ("base_ns", c_int64),
        ("track", c_void_p),
        ("process", c_void_p),
        ("body", c_void_p),
        ("bodies", c_void_p),
        ("body_offsets", c_void_p),
        ("instant", c_void_p),
        ("flow_offsets", c_void_p),
        ("flow_ids", c_void_p),
        ("incoming_flows", c_int64),
        ("integer_count", c_int64),
        ("integers", c_void_p),
        ("size_count", c_int64),
        ("sizes", c_void_p),
        ("labels", c_void_p),
        ("label_offsets", c_void_p),
        ("text", c_void_p),
        ("text_offsets", c_void_p),
    ]


class TrackEventColumns(ctypes.Structure):
    """WavescopeTrackEvents of trace_encoder.h."""

    _fields_: ClassVar = [
        ("capacity", c_int64),
        ("rows", c_int64),
        ("timestamp", c_void_p),
        ("track", c_void_p),
        ("sequence", c_void_p),
        ("type", c_void_p),
        ("name", c_void_p),
        ("name_offset", c_void_p),
        ("name_size", c_void_p),
        ("category", c_void_p),
        ("second_category", c_void_p),
        ("flow_capacity", c_int64),
        ("flows", c_int64),
        ("flow_row", c_void_p),
        ("flow_id", c_void_p),
        ("argument_capacity", c_int64),
        ("arguments", c_int64),
        ("argument_row", c_void_p),
        ("argument_name", c_void_p),
        ("argument_kind", c_void_p),
        ("argument_value", c_void_p),
        ("argument_size", c_void_p),
        ("counters", c_int64),
    ]


class WaveColumnPointers(ctypes.Structure):
    """WavescopeWaveColumns of thread_trace.h."""

    _fields_: ClassVar = [
        *_counted("event", "time", "category", "stall", "duration", "line"),
        *_counted("list", "wait_line", "producer_end"),
        *_counted("producer", "producer_line"),
    ]


class WaveValues(ctypes.Structure):
    """WavescopeWaveFacts of thread_trace.h."""

    _fields_: ClassVar = [
        (name, c_int64) for name in ("begin", "end", "cu", "id", "simd", "slot", "unusable")
    ]


MOST_COUNTERS = 8


COUNTER_ACTION = np.dtype(
    [
        ("is_wait", "u1"),
        ("drains_all", "u1"),
        ("increments", "u1", MOST_COUNTERS),
        ("unorders", "u1"),
        ("shared_group", "i1"),
        ("waited", "u1"),
        ("limits", "i4", MOST_COUNTERS),
    ],
    align=True,
)
"""WavescopeCounterAction of thread_trace.h."""


class CounterFamily(ctypes.Structure):
    """WavescopeCounterFamily of thread_trace.h."""

    _fields_: ClassVar = [
        ("wait_order", c_int32 * MOST_COUNTERS),
        ("shared_of", c_uint8 * MOST_COUNTERS),
    ]


class FoundDependencies(ctypes.Structure):
    """WavescopeDependencies of thread_trace.h."""

    _fields_: ClassVar = [
        *_counted("list", "wait_event", "counter", "producer_end"),
        *_counted("producer", "producer_event"),
    ]
