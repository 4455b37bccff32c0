"""Heat maps of a job as data: ranks by time and ranks by step, one matrix for each measure."""

from wavescope.analyze.ranks.maps.step_map import RankStepMap, rank_step_map
from wavescope.analyze.ranks.maps.time_map import RankMap, rank_time_map

__all__ = ["RankMap", "RankStepMap", "rank_step_map", "rank_time_map"]
