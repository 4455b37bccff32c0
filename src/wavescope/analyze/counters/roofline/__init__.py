"""Rooflines: how many operations kernels do for each byte, and what the chip can.

More than six names go out: a roofline is a record of ceilings and points, which plots and tables
read.
"""

from __future__ import annotations

from wavescope.analyze.counters.roofline.plot import (
    Ceiling,
    MemoryLevel,
    PointKind,
    Roofline,
    RooflineOptions,
    RoofPoint,
    roofline,
    roofline_result,
    roofline_tables,
)

__all__ = [
    "Ceiling",
    "MemoryLevel",
    "PointKind",
    "RoofPoint",
    "Roofline",
    "RooflineOptions",
    "roofline",
    "roofline_result",
    "roofline_tables",
]
