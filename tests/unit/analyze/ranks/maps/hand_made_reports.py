"""Reports and results about played jobs, put together by hand, for tests of pages."""

from __future__ import annotations

import io

import numpy as np

from wavescope.analyze.ranks.job import Job
from wavescope.analyze.ranks.result import FileState, ranks_result
from wavescope.analyze.ranks.stragglers import (
    Cause,
    Culprit,
    CulpritKind,
    PathKind,
    PathPart,
    StepAccount,
    StragglerReport,
    Verdict,
)
from wavescope.model.result import Result
from wavescope.render.html.page import write_page
from wavescope.render.html.ranks_page import ranks_page


def played_report(job: Job, name: str = "Rank 3") -> StragglerReport:
    """Of a `PlayedJob`: the last to come is on the path, the median is what is typical."""
    comes = job.starts(job.groups[0])
    comparable = np.array([clock.is_comparable for clock in job.clocks])
    comes = np.where(comparable[:, None], comes, -(2**62))
    typical = np.median(job.step_column("compute_ns"), axis=0).astype(np.int64)
    accounts = []
    for step in range(job.step_count):
        last = int(np.argmax(comes[:, step]))
        begin, come = int(job.step_starts[0, step]), int(comes[last, step])
        end = int(job.step_ends[0, step])
        parts = (
            PathPart(PathKind.LOCAL, last, 0, step, begin, come, int(typical[step])),
            PathPart(PathKind.TRANSFER, last, 0, step, come, end, 1_000_000),
        )
        ideal_ns = end - begin - sum(part.excess_ns for part in parts)
        accounts.append(StepAccount(step, end - begin, ideal_ns, parts))
    lost_ns = sum(account.actual_ns - account.ideal_ns for account in accounts)
    total_ns = sum(account.actual_ns for account in accounts)
    culprit = Culprit(
        CulpritKind.RANK,
        (3,),
        name,
        Cause.SLOWER_COMPUTE,
        "forward",
        lost_ns,
        100 * lost_ns / total_ns,
        len(accounts),
        "in every step",
        "The same kernels take 1.25 times as long as on the median rank.",
        {"slower_percent": 25.0},
    )
    return StragglerReport(Verdict.CULPRIT, f"{name} is slow", (culprit,), tuple(accounts))


def played_result(job: Job, report: StragglerReport) -> Result:
    files = [
        FileState(rank.path, number, "", rank.op_count)
        for number, rank in zip(job.numbers, job.ranks, strict=True)
    ]
    files.append(FileState("run/broken.db", None, "file is not a database", 0))
    return ranks_result(job, files, report=report)


def page_text(job: Job, report: StragglerReport, result: Result, title: str = "run") -> str:
    stream = io.StringIO()
    write_page(ranks_page(job, report, result, title), stream)
    return stream.getvalue()
