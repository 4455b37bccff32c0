"""All findings about a job, the worst first."""

from __future__ import annotations

from collections.abc import Callable

from wavescope.analyze.ranks.findings.balance import (
    expert_imbalance,
    pipeline_bubbles,
    rank_outliers,
)
from wavescope.analyze.ranks.findings.communication import arrival_skew, exposed_communication
from wavescope.analyze.ranks.findings.context import RankContext
from wavescope.analyze.ranks.findings.matching import (
    clocks_not_comparable,
    collective_mismatches,
    files_repaired,
    files_unreadable,
    ranks_missing,
)
from wavescope.analyze.ranks.findings.stragglers import stragglers
from wavescope.model.result import Finding, Severity

FINDERS: tuple[Callable[[RankContext], list[Finding]], ...] = (
    stragglers,
    arrival_skew,
    exposed_communication,
    expert_imbalance,
    pipeline_bubbles,
    collective_mismatches,
    clocks_not_comparable,
    ranks_missing,
    files_unreadable,
    files_repaired,
    rank_outliers,
)
_ORDER = (Severity.PROBLEM, Severity.WARNING, Severity.INFO)


def rank_findings(context: RankContext) -> list[Finding]:
    """Problems, then warnings, then the rest, each in the order of `FINDERS`."""
    found = [finding for finder in FINDERS for finding in finder(context)]
    return sorted(found, key=lambda finding: _ORDER.index(finding.severity))
