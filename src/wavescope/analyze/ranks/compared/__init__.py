"""Two runs of a job: what changed, on the whole and rank by rank."""

from wavescope.analyze.ranks.compared.compared_runs import Run, compared_result

__all__ = ["Run", "compared_result"]
