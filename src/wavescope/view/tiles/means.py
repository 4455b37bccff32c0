"""The mean of a value over time in each pixel."""

from __future__ import annotations

import threading
import weakref
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.native import columns_library
from wavescope.view.rows import LazySeries, Series
from wavescope.view.tiles.lane_sums import BLOCK
from wavescope.view.tiles.pixels import Pixels

Means = npt.NDArray[np.float32]


class _Blocks(NamedTuple):
    times: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]
    known: npt.NDArray[np.float64]
    weighted: npt.NDArray[np.float64]


_kept: weakref.WeakKeyDictionary[Series | LazySeries, _Blocks] = weakref.WeakKeyDictionary()
_turn = threading.Lock()


def means(series: Series | LazySeries, pixels: Pixels, end_ns: int) -> Means:
    """The mean of what is known of each pixel, NaN where nothing is.

    The last value holds up to `end_ns`.
    """
    blocks = _blocks_of(series)
    found = np.empty(pixels.stretch_count, np.float32)
    columns_library().wavescope_series_means(
        blocks.times,
        blocks.values,
        len(blocks.times),
        end_ns,
        blocks.known,
        blocks.weighted,
        pixels.edges,
        pixels.stretch_count,
        found,
    )
    # Pixels narrower than 1 ns share a stretch; all others have one of their own.
    return found[pixels.left]


def _blocks_of(series: Series | LazySeries) -> _Blocks:
    with _turn:
        found = _kept.get(series)
    if found is None:
        times = np.ascontiguousarray(series.times, np.int64)
        values = np.ascontiguousarray(series.values, np.float64)
        count = -(-len(times) // BLOCK)
        made = _Blocks(times, values, np.zeros(count), np.zeros(count))
        columns_library().wavescope_series_blocks(
            times, values, len(times), made.known, made.weighted
        )
        with _turn:
            found = _kept.setdefault(series, made)
    return found
