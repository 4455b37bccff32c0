"""The native library of columns: the only place that knows ctypes.

`columns_library()` has the functions; arrays are given to them as they are and are checked for
their type, or as a `pointer` in one of the structures, which are called as in the C headers.

More than six names go out: each structure and type of the C headers is one.
"""

from wavescope.native.interface import (
    COUNTER_ACTION,
    BulkColumn,
    BulkValues,
    ChromeColumns,
    ChromeCounts,
    CounterFamily,
    FoundDependencies,
    GroupedColumn,
    Handle,
    Int32,
    Int64,
    IntervalRun,
    LaneColumns,
    ReadColumn,
    ReadOutcome,
    ReadTarget,
    Size,
    Slices,
    TrackEventColumns,
    Uint64,
    WaveColumnPointers,
    WaveValues,
    address_of,
    bytes_at,
    pointer,
    pointers,
    texts_at,
)
from wavescope.native.library import columns_library

__all__ = [
    "COUNTER_ACTION",
    "BulkColumn",
    "BulkValues",
    "ChromeColumns",
    "ChromeCounts",
    "CounterFamily",
    "FoundDependencies",
    "GroupedColumn",
    "Handle",
    "Int32",
    "Int64",
    "IntervalRun",
    "LaneColumns",
    "ReadColumn",
    "ReadOutcome",
    "ReadTarget",
    "Size",
    "Slices",
    "TrackEventColumns",
    "Uint64",
    "WaveColumnPointers",
    "WaveValues",
    "address_of",
    "bytes_at",
    "columns_library",
    "pointer",
    "pointers",
    "texts_at",
]
