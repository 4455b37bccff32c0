"""How much time goes into exchanges that no compute hides, and into waiting for others."""

from __future__ import annotations

import numpy as np

from wavescope.analyze.ranks.findings.context import RankContext
from wavescope.model.result import Finding, Severity
from wavescope.units import bytes_text, duration_text

EXPOSED_ID = "exposed-communication"
SKEW_ID = "arrival-skew"

_SHOWN = 3


def exposed_communication(context: RankContext) -> list[Finding]:
    """A finding when ranks spend much of their time in collectives with nothing to compute."""
    rows = [row for row in context.rows.ranks if row.exposed_percent is not None]
    if not rows or not context.measures.job.groups:
        return []
    shares = np.array([row.exposed_percent for row in rows], np.float64)
    share = float(np.median(shares))
    limits = context.thresholds
    if share < limits.exposed_percent:
        return []
    exposed_ns = sum(row.exposed_ns for row in rows)
    waited_ns = sum(row.exposed_wait_ns or 0 for row in rows)
    longest = sorted(context.rows.collectives, key=lambda row: -row.exposed_ns)[:_SHOWN]
    parts = [
        f"{row.kind.operation or 'unknown'} in {row.group}"
        + (f" of {bytes_text(row.size_bytes)}" if row.size_bytes else "")
        + f" {duration_text(row.exposed_ns)}"
        for row in longest
        if row.exposed_ns
    ]
    waited = ""
    if any(row.exposed_wait_ns is not None for row in rows):
        waited = f"; at most {duration_text(waited_ns)} of it all is waiting for others"
    most = rows[int(shares.argmax())]
    return [
        Finding(
            EXPOSED_ID,
            Severity.PROBLEM if share >= limits.exposed_problem_percent else Severity.WARNING,
            f"ranks spend {share:.1f} % of their time in collectives that no compute hides",
            f"between {shares.min():.1f} and {shares.max():.1f} %, most on "
            f"{context.rank_name(most.place)}; summed over ranks: {', '.join(parts)}{waited}",
            "waiting for late ranks comes first (`stragglers`); then overlap the rest with "
            "compute: larger buckets, earlier starts, another stream",
            gain_percent=share,
            gain_basis="no exposed collectives at all",
            numbers={
                "exposed_percent": share,
                "exposed_ns": exposed_ns,
                "waited_ns": waited_ns,
                "rank": most.number,
            },
        )
    ]


def arrival_skew(context: RankContext) -> list[Finding]:
    """A finding when ranks wait much for the last one to arrive."""
    rows = [row for row in context.rows.ranks if row.exposed_wait_ns is not None]
    span_ns = sum(row.span_ns for row in rows)
    waited_ns = sum(row.exposed_wait_ns or 0 for row in rows)
    limits = context.thresholds
    share = 100 * waited_ns / span_ns if span_ns else 0.0
    if share < limits.waiting_percent:
        return []
    worst = max(context.rows.collectives, key=lambda row: row.wait_ns or 0)
    last = worst.last_place
    who = (
        f"; {context.rank_name(last)} came last in {worst.last_count:,} of {worst.timed_count:,}"
        if last is not None
        else ""
    )
    waiting = max(rows, key=lambda row: row.exposed_wait_ns or 0)
    return [
        Finding(
            SKEW_ID,
            Severity.PROBLEM if share >= limits.waiting_problem_percent else Severity.WARNING,
            f"ranks stand still {share:.1f} % of their time until others arrive",
            f"most in {worst.kind.operation or 'unknown'} of {worst.group}: arrivals are "
            f"{duration_text(worst.skew_median_ns or 0)} apart (median; 95th percentile "
            f"{duration_text(worst.skew_p95_ns or 0)}){who}; {context.rank_name(waiting.place)} "
            f"waited longest, {duration_text(waiting.exposed_wait_ns or 0)}",
            "table `stragglers` names who is late and why; where late ranks change, balance work "
            "between steps or exchange less often",
            numbers={
                "waiting_percent": share,
                "waited_ns": waited_ns,
                "skew_median_ns": worst.skew_median_ns,
                "last_rank": None if last is None else context.measures.job.numbers[last],
            },
        )
    ]
