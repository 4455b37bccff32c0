"""What cannot be told is said to be so, with the reason."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.unit.analyze.ranks.digest_builder import Collective, Step, a_digest, a_job
from tests.unit.analyze.ranks.stragglers.straggler_jobs import (
    a_shape,
    job_with_known_clocks,
    with_known_clocks,
)
from wavescope.analyze.ranks.job import ClockState, RankClock
from wavescope.analyze.ranks.joining import job_of
from wavescope.analyze.ranks.stragglers import Verdict, stragglers_of


def test_one_rank_is_late_for_nobody() -> None:
    built = a_job(a_shape(1))

    report = stragglers_of(job_of(built.digests, built.numbers))

    assert report.verdict is Verdict.INCONCLUSIVE
    assert report.reason == "there is only one rank"
    assert len(report.ranks) == 1


def test_ranks_without_common_exchanges() -> None:
    digests = [
        a_digest(
            (), [Step(step * 1_000, step * 1_000 + 900 + rank) for step in range(9)], rank=rank
        )
        for rank in range(4)
    ]

    report = stragglers_of(job_of(digests, range(4)))

    assert report.verdict is Verdict.INCONCLUSIVE
    assert "no exchange was matched" in report.reason


def test_clocks_that_contradict_each_other_and_nobody_late() -> None:
    job = job_with_known_clocks(a_shape())
    clocks = tuple(RankClock(ClockState.CONTRADICTED, reason="it jumps") for _ in job.ranks)

    report = stragglers_of(replace(job, clocks=clocks))

    assert report.verdict is Verdict.INCONCLUSIVE
    assert report.reason == "the clocks of only 0 of 8 ranks can be compared: it jumps"


def test_too_few_steps() -> None:
    job = job_with_known_clocks(
        a_shape(step_count=3, extra_ns=lambda rank, *_: 50_000 if rank == 3 else 0)
    )

    report = stragglers_of(job)

    assert report.verdict is Verdict.INCONCLUSIVE
    assert report.reason == "only 3 steps can be compared"
    assert len(report.steps) == 3


def test_sampled_traces() -> None:
    job = job_with_known_clocks(a_shape())
    ranks = (replace(job.ranks[0], is_sampled=True), *job.ranks[1:])

    assert stragglers_of(replace(job, ranks=ranks)).verdict is Verdict.INCONCLUSIVE


def test_without_steps_the_run_is_cut_into_parts() -> None:
    built = a_job(a_shape(step_count=20, extra_ns=lambda rank, *_: 30_000 if rank == 3 else 0))
    digests = [
        a_digest([row._replace(step=-1) for row in built.rows[rank]], rank=rank, host=f"h{rank}")
        for rank in built.numbers
    ]

    report = stragglers_of(with_known_clocks(job_of(digests, built.numbers)))

    assert [culprit.places for culprit in report.culprits] == [(3,)]
    assert report.culprits[0].recurrence == "in 20 of 20 parts"


def test_a_rank_with_a_shorter_trace_is_no_culprit() -> None:
    built = a_job(a_shape(step_count=12))
    digests = list(built.digests)
    rows = [row for row in built.rows[2] if row.step < 5]
    digests[2] = a_digest(rows, built.steps[2][:5], rank=2, host="host0")

    report = stragglers_of(with_known_clocks(job_of(digests, built.numbers)))

    assert report.verdict is Verdict.NOBODY
    assert len(report.steps) == 12


def test_hostile_numbers_are_survived() -> None:
    """Rows that end before they begin, of no length, with huge and negative tails."""
    generator = np.random.default_rng(5)
    digests = []
    for rank in range(4):
        starts = np.sort(generator.integers(0, 10**6, 30)).tolist()
        rows = [
            Collective(
                start,
                start + int(generator.integers(-500, 5_000)),
                step=number // 3,
                exposed_tail_ns=int(generator.choice([-1, 0, 10**15, 700])),
            )
            for number, start in enumerate(starts)
        ]
        steps = [Step(starts[3 * step], starts[3 * step + 2] - 50) for step in range(10)]
        digests.append(a_digest(rows, steps, rank=rank))

    report = stragglers_of(with_known_clocks(job_of(digests, range(4))))

    for account in report.steps:
        excess = sum(part.excess_ns for part in account.parts)
        assert excess == account.actual_ns - account.ideal_ns
