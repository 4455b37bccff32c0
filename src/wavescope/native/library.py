"""Every function of libwavescope_columns, what it takes and gives, and how the library is opened.

What the arguments mean is in the headers below `native/`, one per folder.
"""

from __future__ import annotations

import ctypes
import functools
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
from pathlib import Path
from typing import Any

import numpy as np

from wavescope.errors import MachineError
from wavescope.native import interface as s
from wavescope.package_files import library_file, library_path

ABI = 5
"""WAVESCOPE_COLUMNS_ABI of native/interface/version.h, raised together with it."""

_BYTES, _INT32S, _INT64S = s.ArrayOf(np.uint8), s.ArrayOf(np.int32), s.ArrayOf(np.int64)
_GROUPS = s.ArrayOf(np.uint16)
_OBJECT = c_void_p

_COLUMN_OPERATORS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "sort_within_groups": (c_int, (_GROUPS, _INT64S, c_int64, c_int32, _INT64S, _INT64S)),
    "sort_short_within_groups": (
        c_int,
        (_GROUPS, s.ArrayOf(np.uint32), c_int64, c_int32, s.ArrayOf(np.uint32), _INT64S),
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
    "nest": (c_int, (_INT64S, _INT64S, _INT64S, c_int64, _INT64S, _INT64S)),
    "uncovered_ns": (c_uint64, (_INT64S, _INT64S, c_int64)),
    "places": (None, (_INT64S, c_int64, _INT64S, c_int64, c_int32, _INT64S)),
    "pack_lanes": (c_int64, (_INT64S, _INT64S, c_int64, c_int32, _INT64S, c_int32, _BYTES)),
}

_TIMES, _REALS = s.ArrayOf(np.uint64), s.ArrayOf(np.float64)
_LANE = POINTER(s.LaneColumns)
_LANE_PIXELS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "lane_blocks": (c_int, (_LANE, _INT64S, _TIMES, _BYTES)),
    "seen_bytes": (None, (_BYTES, c_int64, _BYTES)),
    "class_sums": (c_int, (_LANE, _BYTES, _BYTES, c_int32, _TIMES)),
    "class_times": (c_int, (_LANE, _BYTES, _BYTES, c_int32, _TIMES, _INT64S, c_int64, _TIMES)),
    "cover_moments": (
        c_int64,
        (_LANE, c_int32, POINTER(c_int64), POINTER(c_uint64), c_int64, _INT64S, _TIMES),
    ),
    "cover_times": (c_int, (_LANE, c_int32, _INT64S, _TIMES, c_int64, _INT64S, c_int64, _TIMES)),
    "wide_ranges": (c_int64, (_LANE, _TIMES, c_int64, c_int64, c_uint64, c_int64, _INT64S)),
    "first_instants": (c_int64, (_LANE, _BYTES, _INT64S, c_int64, _INT64S)),
    "series_blocks": (None, (_INT64S, _REALS, c_int64, _REALS, _REALS)),
    "series_means": (
        None,
        (
            *(_INT64S, _REALS, c_int64, c_int64, _REALS, _REALS),
            *(_INT64S, c_int64, s.ArrayOf(np.float32)),
        ),
    ),
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
    "table_reader_verify": (c_int, (_OBJECT, POINTER(s.ReadOutcome))),
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
            *(_INT32S, _INT64S, c_int64, _INT32S, c_int64, s.ArrayOf(s.COUNTER_ACTION), c_int64),
            *(POINTER(s.CounterFamily), POINTER(s.FoundDependencies)),
        ),
    ),
}

SIGNATURES = {
    f"wavescope_{name}": signature
    for group in (
        *(_COLUMN_OPERATORS, _LANE_PIXELS, _SQLITE_PAGES, _CHROME_JSON, _TRACE_ENCODER),
        _THREAD_TRACE,
    )
    for name, signature in group.items()
}
"""Result and arguments by name, of all functions but the one that tells the ABI."""


def declare(library: ctypes.CDLL) -> None:
    """Tell ctypes what every function takes and gives."""
    for name, (result, arguments) in SIGNATURES.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments


_REINSTALL = "install wavescope again: pip install --force-reinstall wavescope"


@functools.cache
def columns_library() -> ctypes.CDLL:
    """The library that reads and writes trace columns, its functions declared."""
    path = library_path("wavescope_columns")
    if path is None:
        file = library_file("wavescope_columns")
        raise MachineError(f"wavescope's native library, {file}, is not installed", hint=_REINSTALL)
    return opened(path)


def opened(path: Path) -> ctypes.CDLL:
    """The library in `path`; refused unless it is of this version of wavescope."""
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise MachineError(f"{path} cannot be loaded: {error}", hint=_REINSTALL) from error
    abi = library.wavescope_columns_abi() if hasattr(library, "wavescope_columns_abi") else 0
    if abi != ABI:
        raise MachineError(
            f"{path} is of another version of wavescope: its interface is number {abi}, "
            f"this one needs {ABI}",
            hint=_REINSTALL,
        )
    declare(library)
    return library
