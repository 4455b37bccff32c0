"""Values that stand apart from the rest, above them."""

from __future__ import annotations

import math

import numpy as np

from wavescope.analyze.ranks.stragglers.limits import LIMITS
from wavescope.analyze.ranks.stragglers.medians import Reals, spread


def standing_apart(values: Reals, error: Reals | float, natural: float) -> set[int]:
    """Numbers of the values above the widest gap, as often as such a gap is found.

    Values are differences from the median of the others; NaN is left out. A gap counts if what
    lies above it exceeds the rest by more than `natural`, by several times the spread of the rest
    and by several times the `error` of each value.
    """
    order = [int(number) for number in np.argsort(values) if not math.isnan(values[number])]
    errors = np.broadcast_to(np.asarray(error, np.float64), values.shape)
    apart: set[int] = set()
    while len(order) > 1:
        ordered = values[order]
        # At most half of all can stand apart: else the others do.
        first = max((len(order) + 1) // 2 - 1, 0)
        gaps = np.diff(ordered)[first:]
        cut = first + int(np.argmax(gaps)) + 1
        rest = ordered[:cut]
        spread_of_rest = max(spread(rest), float(errors[order[cut:]].max()))
        limit = max(natural, LIMITS.spread_factor * spread_of_rest)
        above = float(ordered[cut] - np.median(rest))
        # Where half of all are late, the others lie as far below the median of the rest.
        if min(above, 2 * float(ordered[cut])) < limit or float(gaps.max()) < limit / 2:
            break
        apart.update(order[cut:])
        order = order[:cut]
    return apart
