"""The structures of the native headers, field by field."""

from __future__ import annotations

import ctypes
from ctypes import c_double, c_int32, c_int64, c_uint8, c_uint32, c_void_p
from typing import Any, ClassVar

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
CHROME_ARGUMENT_COUNT = 17


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
