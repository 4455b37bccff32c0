"""How many work-items each op of a rank was launched with."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ranks.digest.rank_ops import RankOps

_LARGEST = 1 << 40
"""More work-items than any GPU takes in one launch: such a number is no size."""


class LaunchSizes(NamedTuple):
    """For each op that works its work-items (0 where unknown), and whether they are known."""

    work_items: npt.NDArray[np.int64]
    is_known: npt.NDArray[np.bool_]


def launch_sizes(ops: RankOps) -> LaunchSizes:
    """The launch sizes of a rank's ops; of a side that is not recorded only the others count."""
    sides = [ops.column(name) for name in ("grid_x", "grid_y", "grid_z")]
    is_known = (sides[0] > 0) & (sides[0] <= _LARGEST)
    sizes = sides[0]
    for side in sides[1:]:
        if len(side) and (int(side.min()) != 1 or int(side.max()) != 1):
            # In floating point first: the product of hostile numbers would wrap around.
            is_known &= sizes * np.maximum(side, 1).astype(np.float64) <= _LARGEST
            sizes = sizes * np.maximum(side, 1)
    if not is_known.all():
        sizes = np.where(is_known, sizes, 0)
    return LaunchSizes(sizes, is_known)
