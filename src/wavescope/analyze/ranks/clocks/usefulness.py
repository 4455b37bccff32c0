"""How wide a certified interval may be before comparing with it says nothing."""

from __future__ import annotations

import numpy as np

from wavescope.analyze.ranks.digest import RankDigest

LEAST_USEFUL_NS = 100_000
"""An interval is never too wide below this: twice the time of a small exchange is about 50 us."""
STEP_SHARE = 4


def useful_width_ns(rank: RankDigest) -> int:
    """A quarter of the rank's median step; without steps, the median time from the end of one of
    its collectives to the end of the next; at least `LEAST_USEFUL_NS`."""
    if len(rank.steps):
        span = int(np.median(rank.steps.end_ns - rank.steps.start_ns)) // STEP_SHARE
    elif len(rank.collectives) > 1:
        span = int(np.median(np.diff(np.sort(rank.collectives.end_ns))))
    else:
        span = (rank.last_ns - rank.first_ns) // STEP_SHARE
    return max(span, LEAST_USEFUL_NS)
