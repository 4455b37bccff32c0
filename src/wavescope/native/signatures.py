"""Every function of libwavescope_columns: what it takes and what it gives.

The structures and what the arguments mean are in the headers below `native/`, one per folder.
"""

from __future__ import annotations

import ctypes
from ctypes import (
    POINTER,
    c_char_p,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_uint32,
    c_uint64,
    c_void_p,
)
from typing import Any

import numpy as np

from wavescope.native import structures as s
from wavescope.native.pointers import ArrayOf

ABI = 1
"""WAVESCOPE_COLUMNS_ABI of native/interface/version.h, raised together with it."""

COUNTER_ACTION = np.dtype(
    [
        ("is_wait", "u1"),
        ("drains_all", "u1"),
        ("increments", "u1", s.MOST_COUNTERS),
        ("unorders", "u1"),
        ("shared_group", "i1"),
        ("waited", "u1"),
        ("limits", "i4", s.MOST_COUNTERS),
    ],
    align=True,
)
"""WavescopeCounterAction of thread_trace.h."""

_BYTES, _INT32S, _INT64S = ArrayOf(np.uint8), ArrayOf(np.int32), ArrayOf(np.int64)
_GROUPS = ArrayOf(np.uint16)
_OBJECT = c_void_p

_COLUMN_OPERATORS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "sort_within_groups": (c_int, (_GROUPS, _INT64S, c_int64, c_int32, _INT64S, _INT64S)),
    "sort_short_within_groups": (
        c_int,
        (_GROUPS, ArrayOf(np.uint32), c_int64, c_int32, ArrayOf(np.uint32), _INT64S),
    ),
    "count_codes": (c_int, (_INT32S, c_int64, c_int32, _INT64S)),
    "group_rows": (
        c_int,
        (_GROUPS, c_int64, c_int32, _INT32S, POINTER(s.GroupedColumn), c_int32, _INT64S),
    ),
    "distinct_rows_open": (_OBJECT, (c_int64,)),
    "distinct_rows_close": (None, (_OBJECT,)),
    "distinct_rows_number": (c_int64, (_OBJECT, c_int64, POINTER(c_void_p), _INT32S, _INT64S)),
    "union_of_runs": (c_int64, (POINTER(s.IntervalRun), c_int32, _INT64S, _INT64S)),
    "uncovered_ns": (c_uint64, (_INT64S, _INT64S, c_int64)),
}

_SQLITE_PAGES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "table_reader_open": (
        c_int,
        (c_char_p, c_uint32, POINTER(s.ReadColumn), c_int32, POINTER(_OBJECT), POINTER(c_int32)),
    ),
    "table_reader_seek_after": (c_int, (_OBJECT, c_int64, POINTER(s.ReadOutcome))),
    "table_reader_read": (
        c_int,
        (_OBJECT, c_int64, c_int64, c_int64, POINTER(s.ReadTarget), POINTER(s.ReadOutcome)),
    ),
    "table_reader_text": (c_int, (_OBJECT, c_int32, POINTER(c_void_p), POINTER(c_int64))),
    "table_reader_close": (None, (_OBJECT,)),
    "bulk_open": (c_int, (c_char_p, POINTER(_OBJECT), POINTER(c_int32))),
    "bulk_add_table": (
        c_int,
        (_OBJECT, c_uint32, POINTER(s.BulkColumn), c_int32, POINTER(c_int32)),
    ),
    "bulk_append": (c_int, (_OBJECT, c_int32, c_int64, _INT64S, POINTER(s.BulkValues))),
    "bulk_finish": (c_int, (_OBJECT,)),
    "bulk_abort": (c_int, (_OBJECT,)),
    "bulk_error_number": (c_int32, (_OBJECT,)),
    "bulk_close": (None, (_OBJECT,)),
    "parse_dispatch_info": (c_int, (_BYTES, c_int64, _INT64S, c_int64, _INT64S)),
}

_CHROME_JSON: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "chrome_open": (_OBJECT, ()),
    "chrome_close": (None, (_OBJECT,)),
    "chrome_drop_args": (c_int, (_OBJECT, c_char_p, c_size_t)),
    "chrome_feed": (c_int, (_OBJECT, c_char_p, c_size_t)),
    "chrome_finish": (None, (_OBJECT,)),
    "chrome_next": (c_int, (_OBJECT, POINTER(s.ChromeColumns), c_size_t, POINTER(c_size_t))),
    "chrome_args": (c_void_p, (_OBJECT, POINTER(c_size_t))),
    "chrome_take": (c_void_p, (_OBJECT, c_int, POINTER(c_void_p), POINTER(c_size_t))),
    "chrome_get_counts": (None, (_OBJECT, POINTER(s.ChromeCounts))),
    "chrome_error": (c_char_p, (_OBJECT, POINTER(c_int64))),
}

_SLICES = (POINTER(s.Slices), POINTER(c_int64), _BYTES, c_int64)
_TRACE_ENCODER: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "lanes_open": (_OBJECT, (c_int,)),
    "lanes_close": (None, (_OBJECT,)),
    "lanes_assign": (c_int, (_OBJECT, c_int64, _INT32S, _INT64S, _INT64S, _INT32S)),
    "bins_add": (
        None,
        (
            *(c_int64, _INT32S, _INT64S, _INT64S),
            *(c_int64, c_int, c_int64, c_int64, _INT64S, _INT64S),
        ),
    ),
    "perfetto_slices": (c_int64, _SLICES),
    "chrome_slices": (c_int64, _SLICES),
    "perfetto_events": (c_int, (_BYTES, c_int64, POINTER(c_int64), POINTER(s.TrackEventColumns))),
}

_THREAD_TRACE: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "wave_read": (
        c_int,
        (c_char_p, c_size_t, POINTER(s.WaveColumnPointers), POINTER(s.WaveValues)),
    ),
    "wait_dependencies": (
        c_int,
        (
            *(_INT32S, _INT64S, c_int64, _INT32S, c_int64, ArrayOf(COUNTER_ACTION), c_int64),
            *(POINTER(s.CounterFamily), POINTER(s.FoundDependencies)),
        ),
    ),
}

SIGNATURES = {
    f"wavescope_{name}": signature
    for group in (_COLUMN_OPERATORS, _SQLITE_PAGES, _CHROME_JSON, _TRACE_ENCODER, _THREAD_TRACE)
    for name, signature in group.items()
}
"""Result and arguments by name, of all functions but the one that tells the ABI."""


def declare(library: ctypes.CDLL) -> None:
    """Tell ctypes what every function takes and gives."""
    for name, (result, arguments) in SIGNATURES.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
