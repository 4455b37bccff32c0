"""Who makes the other ranks wait: exactly accounted, and named only with evidence.

`stragglers_of(job)` walks the critical path over all ranks, compares each piece of it with what
ranks of the same role or equal groups take, and names ranks, hosts, GPU models or links that cost
the job time beyond the natural spread. A rank is named only if two witnesses agree: its own
time, for which no clock but its own is needed, and the path in common time.

More than six names go out: a report is made of records that pages and findings read.
"""

from wavescope.analyze.ranks.stragglers.report import (
    Cause,
    Culprit,
    CulpritKind,
    PathKind,
    PathPart,
    RankDelay,
    StepAccount,
    StragglerReport,
    Verdict,
)
from wavescope.analyze.ranks.stragglers.straggler_report import stragglers_of

__all__ = [
    "Cause",
    "Culprit",
    "CulpritKind",
    "PathKind",
    "PathPart",
    "RankDelay",
    "StepAccount",
    "StragglerReport",
    "Verdict",
    "stragglers_of",
]
