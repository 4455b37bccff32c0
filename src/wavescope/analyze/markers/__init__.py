"""The ranges that a program marked, and which of them each op belongs to: what phases and steps
that are told by markers are made from."""

from wavescope.analyze.markers.ranges import (
    Basis,
    MarkedOps,
    MarkerRanges,
    OpRanges,
    TraceRanges,
    marked_ops,
)

__all__ = ["Basis", "MarkedOps", "MarkerRanges", "OpRanges", "TraceRanges", "marked_ops"]
