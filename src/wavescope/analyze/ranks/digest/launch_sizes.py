"""How many work-items each op was launched with."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ranks.digest.rank_digest import UNKNOWN
from wavescope.arrays import Array
from wavescope.model.source import Batch
from wavescope.model.trace import Trace

SIDES = ("grid_x", "grid_y", "grid_z")
_WORK_ITEMS = "work_items"
_LARGEST = 1 << 40
"""More work-items than any GPU takes in one launch: such a number is no size."""


class LaunchSizes(NamedTuple):
    """For each op its work-items (0 where unknown), and whether they are known."""

    work_items: npt.NDArray[np.int64]
    is_known: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, work_items: Array) -> LaunchSizes:
        """Of numbers that are -1 where they are not known."""
        is_known = work_items != UNKNOWN
        return cls(work_items if is_known.all() else np.maximum(work_items, 0), is_known)


def launch_sizes(trace: Trace, also: tuple[str, ...]) -> Array:
    """The work-items of all ops of `trace`, -1 where unknown; the columns `also` are read with
    them."""
    if not trace.ops.has(_WORK_ITEMS):
        trace.ops.derive(SIDES, _derived, also)
    return trace.ops[_WORK_ITEMS]


def _derived(batch: Batch) -> Batch:
    return {_WORK_ITEMS: products(*(batch[name] for name in SIDES))}


def products(x: Array, y: Array, z: Array) -> npt.NDArray[np.int64]:
    """The size of launches; of sides that are not recorded only the others count."""
    is_known = (x > 0) & (x <= _LARGEST)
    sizes = x.astype(np.int64)
    for side in (y, z):
        if len(side) and (int(side.min()) != 1 or int(side.max()) != 1):
            # In floating point first: the product of hostile numbers would wrap around.
            is_known &= sizes * np.maximum(side, 1).astype(np.float64) <= _LARGEST
            sizes = sizes * np.maximum(side, 1)
    return sizes if is_known.all() else np.where(is_known, sizes, UNKNOWN)
