"""Everything about a job of ranks as one result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from wavescope.analyze.ranks.compared import Run, compared_result
from wavescope.analyze.ranks.findings import RankContext, RankThresholds, rank_findings
from wavescope.analyze.ranks.job import Job
from wavescope.analyze.ranks.measures import FileState, JobMeasures, JobRows, job_rows, job_tables
from wavescope.analyze.ranks.stragglers import StragglerReport, Verdict, stragglers_of
from wavescope.arrays.groups import nearest_rank
from wavescope.model.result import Result, Value
from wavescope.units import counted, duration_text

__all__ = ["FileState", "RanksOptions", "ranks_result"]


@dataclass(frozen=True)
class RanksOptions:
    """What is told of a job."""

    most_rows: int = 2_000
    """Of `collectives_by_step`, those with most waiting."""
    thresholds: RankThresholds = field(default_factory=RankThresholds)
    base_name: str = "base"
    """What the run that a job is compared with is called."""


def ranks_result(
    job: Job,
    files: Sequence[FileState] = (),
    options: RanksOptions | None = None,
    base: Job | None = None,
    report: StragglerReport | None = None,
) -> Result:
    """The tables, findings and facts of a job; beside another run of it, what changed.

    `report` is what `stragglers_of(job)` gives, where that is at hand.
    """
    options = options or RanksOptions()
    measures = JobMeasures(job, report or stragglers_of(job))
    rows = job_rows(measures)
    context = RankContext(measures, rows, files, options.thresholds)
    result = Result(
        "Ranks",
        job_tables(measures, rows, files, options.most_rows),
        rank_findings(context),
        _facts(measures, rows, files),
    )
    if base is None:
        return result
    before = JobMeasures(base, stragglers_of(base))
    run, base_run = Run(measures, rows), Run(before, job_rows(before))
    compared = compared_result(base_run, run, options.base_name)
    return Result(
        result.title,
        [*compared.tables, *result.tables],
        [*compared.findings, *result.findings],
        {**result.facts, **compared.facts},
    )


def _facts(measures: JobMeasures, rows: JobRows, files: Sequence[FileState]) -> dict[str, Value]:
    job = measures.job
    hosts = {rank.identity.host for rank in job.ranks if rank.identity.host}
    exchanges = rows.exchanges
    facts: dict[str, Value] = {
        "headline": _headline(measures, rows),
        "verdict": measures.report.verdict.value,
        "rank_count": len(job),
        "host_count": len(hosts) or None,
        "group_count": len(job.groups),
        "exchange_count": len(exchanges),
        "timed_exchange_count": int(exchanges.column("is_timed").sum()),
        "step_count": len(rows.steps),
        "mismatch_count": len(job.mismatches),
        "comparable_clock_count": int(measures.is_comparable.sum()),
        "op_count": sum(rank.op_count for rank in job.ranks),
    }
    if bad := sum(bool(file.problem) for file in files):
        facts["unreadable_file_count"] = bad
    if rows.steps:
        times = rows.step_times
        facts |= {f"step_p{share}_ns": nearest_rank(times, share) for share in (5, 95)}
        facts["step_median_ns"] = nearest_rank(times, 50)
    if measures.report.steps:
        facts["delay_ns"] = sum(row.excess_ns for row in rows.delays)
    shares = [row.exposed_percent for row in rows.ranks if row.exposed_percent is not None]
    if shares and job.groups:
        facts["exposed_percent"] = float(np.median(shares))
    return {name: value for name, value in facts.items() if value is not None}


def _headline(measures: JobMeasures, rows: JobRows) -> str:
    """One sentence: how large the job is, how long a step takes, and who holds it up."""
    job, report = measures.job, measures.report
    hosts = {rank.identity.host for rank in job.ranks if rank.identity.host}
    start = counted(len(job), "rank")
    if len(hosts) > 1:
        start += f" on {counted(len(hosts), 'host')}"
    if rows.steps:
        median = duration_text(nearest_rank(rows.step_times, 50))
        start += f", {counted(len(rows.steps), 'step')} of {median} (median)"
    if len(job) < 2:
        return f"{start}: nothing to compare with"
    if report.verdict is Verdict.CULPRIT and report.culprits:
        worst = max(report.culprits, key=lambda culprit: culprit.delay_ns)
        name = worst.name or f"ranks {measures.rank_text(worst.places)}"
        cause = worst.cause.value.replace("_", " ")
        return f"{start}: {name} holds the others up, {worst.share_percent:.1f} % ({cause})"
    if report.verdict is Verdict.NOBODY:
        return f"{start}: no rank makes the others wait more than is natural"
    return f"{start}: who is late cannot be told" + (f": {report.reason}" if report.reason else "")
