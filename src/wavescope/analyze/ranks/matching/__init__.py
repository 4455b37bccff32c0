"""Which collectives of several ranks are one exchange, and which steps are one step."""

from wavescope.analyze.ranks.matching.job_steps import matched_steps
from wavescope.analyze.ranks.matching.matching import Matching, matched_collectives
from wavescope.analyze.ranks.matching.mismatches import rank_list

__all__ = ["Matching", "matched_collectives", "matched_steps", "rank_list"]
