"""What is drawn of one row in some pixels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.view.rows import Row, RowKind
from wavescope.view.tiles.boxes import NO_BOXES, Boxes, boxes
from wavescope.view.tiles.class_times import ClassTimes, busy_times, class_times, shares
from wavescope.view.tiles.drawing import Drawing, RowLane
from wavescope.view.tiles.means import Means, means
from wavescope.view.tiles.pixels import Pixels

_NESTED = frozenset({RowKind.MARKERS, RowKind.CALLS})


class RowTile(NamedTuple):
    """Shares and boxes of a row, or the means of a series."""

    id: str
    classes: npt.NDArray[np.uint8]
    """Those that occur in the pixels."""
    shares: npt.NDArray[np.uint8]
    """[plane][class in `classes`][pixel]"""
    boxes: Boxes = NO_BOXES
    means: Means | None = None


def row_tile(drawing: Drawing, row: Row) -> RowTile:
    """The tile of a row."""
    members = tuple(drawing.members(row))
    if row.kind is RowKind.SERIES:
        return _series_tile(drawing, row, members)
    planes = [
        class_times(drawing, f"{_purpose(row)} {number}", plane)
        for number, plane in enumerate(_planes(row, members))
    ]
    classes, shown = _shares(planes, drawing.pixels)
    own = (member for member in members if member.row is row)
    return RowTile(row.id, classes, shown, boxes(drawing, own))


def plane_count(row: Row) -> int:
    """How many strips of a row lie one below the other."""
    return row.depth if row.kind in _NESTED else 1


def _purpose(row: Row) -> str:
    """The same for rows that show the same lanes, such as a GPU and how busy it is."""
    return ",".join(row.members) or row.id


def _planes(row: Row, members: Sequence[RowLane]) -> list[list[RowLane]]:
    planes: list[list[RowLane]] = [[] for _ in range(plane_count(row))]
    for member in members:
        planes[member.lane.depth if len(planes) > 1 else 0].append(member)
    return planes


def _shares(
    planes: Sequence[ClassTimes], pixels: Pixels
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """The shares of all planes, of the classes that occur in any."""
    occurring = np.zeros(256, np.bool_)
    for classes, times in planes:
        occurring[classes[times.any(axis=1)]] = True
    shown = np.flatnonzero(occurring).astype(np.uint8)
    found = np.zeros((len(planes), len(shown), len(pixels)), np.uint8)
    for number, (classes, times) in enumerate(planes):
        is_shown = occurring[classes]
        found[number, np.searchsorted(shown, classes[is_shown])] = shares(times[is_shown], pixels)
    return shown, found


def _series_tile(drawing: Drawing, row: Row, members: Sequence[RowLane]) -> RowTile:
    pixels = drawing.pixels
    if row.series is not None:
        found = means(row.series, pixels, drawing.loaded.end_ns)
    else:
        busy = busy_times(f"{_purpose(row)} 0", [member.lane for member in members], pixels)
        found = (100 * busy / pixels.widths).astype(np.float32)
        found[~pixels.within(drawing.loaded.first_ns, drawing.loaded.end_ns)] = np.nan
    nothing = np.empty((1, 0, len(pixels)), np.uint8)
    return RowTile(row.id, np.empty(0, np.uint8), nothing, means=found)
