"""The clocks of all ranks made one: estimated from ends of exchanges, certified by causality."""

from wavescope.analyze.ranks.clocks.rank_clocks import aligned_clocks

__all__ = ["aligned_clocks"]
