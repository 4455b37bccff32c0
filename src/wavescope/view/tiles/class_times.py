"""How long ranges of each class ran in each pixel, and which share of the pixel that is."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.view.lanes import Lane
from wavescope.view.tiles.cover import cover_of
from wavescope.view.tiles.drawing import Drawing, LaneTimes, RowLane
from wavescope.view.tiles.pixels import Pixels

FULL = 255
"""A pixel's share when the whole pixel is taken."""

Times = npt.NDArray[np.float64]
Shares = npt.NDArray[np.uint8]


class ClassTimes(NamedTuple):
    """Times in ns of the classes that occur: [class][pixel]."""

    classes: npt.NDArray[np.uint8]
    times: Times


def class_times(drawing: Drawing, purpose: str, members: Sequence[RowLane]) -> ClassTimes:
    """The times of all lanes together, none beyond the time during which any range ran.

    Where lanes overlap the time that any range ran is split in proportion to the classes' times.
    `purpose` names the lanes' part of the timeline; what is found out about it is kept.
    """
    pixels = drawing.pixels
    seen = [member for member in members if pixels.meet(member.lane)]
    classes, summed = _summed([drawing.class_times(member) for member in seen], pixels)
    times = pixels.summed(summed)
    if _do_overlap([member.lane for member in seen]):
        covered = busy_times(purpose, [member.lane for member in members], pixels)
        times = _within(times, covered)
    return ClassTimes(classes, times)


def busy_times(purpose: str, lanes: Sequence[Lane], pixels: Pixels) -> Times:
    """How long any range ran in each pixel."""
    filled = [lane for lane in lanes if len(lane)]
    if not filled:
        return np.zeros(len(pixels))
    return pixels.summed(cover_of(purpose, filled).times(filled, pixels))


def shares(times: Times, pixels: Pixels) -> Shares:
    """The times as shares of their pixels; whatever took any time has at least 1."""
    parts = times * (FULL / pixels.widths)
    np.rint(parts, out=parts)
    return np.maximum(parts, times > 0, out=parts).astype(np.uint8)


def _summed(found: Sequence[LaneTimes], pixels: Pixels) -> LaneTimes:
    """The times of several lanes, class by class."""
    if len(found) == 1:
        return found[0]
    classes = np.unique(np.concatenate([[], *(each.classes for each in found)])).astype(np.uint8)
    summed = np.zeros((len(classes), pixels.stretch_count), np.uint64)
    for each in found:
        summed[np.searchsorted(classes, each.classes)] += each.times
    return LaneTimes(classes, summed)


def _do_overlap(lanes: Sequence[Lane]) -> bool:
    """Whether any of the lanes begins before another one, which began earlier, has ended."""
    ordered = sorted((lane.begins_ns, lane.ends_ns) for lane in lanes)
    return any(begins < ends for (_, ends), (begins, _) in pairwise(ordered))


def _within(times: Times, covered: Times) -> Times:
    total = times.sum(axis=0)
    within: Times = times * np.divide(covered, total, out=np.ones_like(total), where=total > 0)
    return within
