"""Rooflines: how many operations kernels do for each byte, and what the chip can."""

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
