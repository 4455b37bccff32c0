"""Conclusions about a job of ranks, with evidence and the next step."""

from wavescope.analyze.ranks.findings.all_findings import rank_findings
from wavescope.analyze.ranks.findings.context import RankContext, view_command
from wavescope.analyze.ranks.findings.thresholds import RankThresholds

__all__ = ["RankContext", "RankThresholds", "rank_findings", "view_command"]
