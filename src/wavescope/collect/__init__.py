"""Runs programs and takes their measure: recorded, counted, on software GPUs, on other runtimes.

Each room has a door of its own; the modules beside them are what the rooms stand on. Here are the
options of recordings, which cost nothing to import.

More than six names go out: the options of recordings are made of choices that users set.
"""

from wavescope.collect.record_options import (
    AttachOptions,
    Interception,
    Keep,
    OtherTools,
    OverheadOptions,
    RecordMode,
    RecordOptions,
    Slices,
)

__all__ = [
    "AttachOptions",
    "Interception",
    "Keep",
    "OtherTools",
    "OverheadOptions",
    "RecordMode",
    "RecordOptions",
    "Slices",
]
