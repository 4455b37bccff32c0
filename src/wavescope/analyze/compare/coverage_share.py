"""How much of the dispatches each trace timed: traces that saw different shares differ by that."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wavescope.model.result import Finding, Severity
from wavescope.model.trace import Trace

MOST_POINTS = 1.0
"""Percentage points by which coverage may differ before it matters."""


def coverage_percent(trace: Trace) -> float | None:
    """The share of the dispatches the recorder saw that it timed; None when it does not say."""
    coverage = trace.coverage
    if not len(coverage):
        return None
    coverage.load("seen", "timed")
    seen, timed = (int(np.maximum(coverage[name], 0).sum()) for name in ("seen", "timed"))
    return 100 * timed / seen if seen else None


def coverage_findings(shares: Sequence[float | None]) -> list[Finding]:
    """A warning when traces with these coverages cannot be compared as they are."""
    known = [share for share in shares if share is not None]
    if not known or max(known) - min(known) <= MOST_POINTS:
        return []
    return [
        Finding(
            "coverage-differs",
            Severity.WARNING,
            "the traces do not cover the same share of the work",
            f"between {min(known):.1f} % and {max(known):.1f} % of the dispatches were timed",
            "record all of them in the same mode; `wavescope info` says what was left out",
        )
    ]
