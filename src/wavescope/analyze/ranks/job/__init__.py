"""The ranks of a job together: their collectives matched, their clocks made one.

More than six names go out: a job is a record of tables with states of their own, and each is read
elsewhere.
"""

from wavescope.analyze.ranks.job.job import NO_TIME, Job
from wavescope.analyze.ranks.job.matched import MISSING, MatchedBy, MatchedGroup, Mismatch
from wavescope.analyze.ranks.job.rank_clock import ClockState, RankClock

__all__ = [
    "MISSING",
    "NO_TIME",
    "ClockState",
    "Job",
    "MatchedBy",
    "MatchedGroup",
    "Mismatch",
    "RankClock",
]
