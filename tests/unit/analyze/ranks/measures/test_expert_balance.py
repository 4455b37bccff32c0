"""Tests of how evenly experts are spread over ranks."""

from __future__ import annotations

import pytest

from tests.unit.analyze.ranks.digest_builder import Collective, Step, a_digest
from tests.unit.analyze.ranks.timed_jobs import a_timed_job, job_of_parts, measured
from wavescope.analyze.ranks.job import Job
from wavescope.analyze.ranks.measures.experts_table import (
    EXCHANGED_BYTES,
    EXPERT_TIME,
    WORK_ITEMS,
    ExpertRow,
    expert_rows,
    experts_table,
)


def _rows(job: Job) -> dict[str, ExpertRow]:
    return {row.metric: row for row in expert_rows(measured(job))}


def _job(expert_ns: list[list[int]], work: int = 1000) -> Job:
    digests = [
        a_digest(
            steps=[
                Step(100 * step, 100 * step + 90, moe_ns=value, work_items=work)
                for step, value in enumerate(own)
            ],
            rank=rank,
        )
        for rank, own in enumerate(expert_ns)
    ]
    return job_of_parts(digests)


def test_the_busiest_rank_is_told_beside_the_mean() -> None:
    rows = _rows(_job([[10, 10, 40], [30, 20, 10], [20, 60, 10]]))

    found = rows[EXPERT_TIME]
    assert found.imbalance == pytest.approx(2.0)  # of 1.5, 2.0 and 2.0
    assert (found.worst_step, found.worst) == (1, 2.0)
    assert (found.place, found.most_count, found.step_count) == (0, 1, 3)
    assert (found.where, found.lost_ns) == ("all ranks", 20)
    assert rows[WORK_ITEMS].imbalance == 1.0


def test_without_expert_kernels_there_is_no_table() -> None:
    assert _rows(_job([[0, 0], [0, 0]])) == {}
    assert _rows(_job([[-1], [-1]])) == {}


def test_a_single_rank_is_compared_with_nobody() -> None:
    assert _rows(_job([[10, 20]])) == {}


def test_bytes_of_all_to_alls_tell_where_tokens_went() -> None:
    exchange = Collective(0, 0, "all-to-all", 64, step=0)
    digests = [
        a_digest(
            [
                Collective(0, 10, "all-to-all", size, step=0),
                Collective(20, 30, "all-reduce", step=0),
            ],
            [Step(0, 50)],
            rank=rank,
        )
        for rank, size in enumerate((100, 100, 400))
    ]
    group = a_timed_job([[(0, 10)]] * 3, collective=exchange).groups  # type: ignore[list-item]
    measures = measured(job_of_parts(digests, group))

    rows = expert_rows(measures)

    assert [(row.metric, row.imbalance, row.place) for row in rows] == [(EXCHANGED_BYTES, 2.0, 2)]
    table = experts_table(measures, rows)
    assert (table.column("rank"), table.column("where")) == ([2], ["world"])
    assert table.column("lost_ns") == [None]


def test_equal_bytes_are_padded_and_tell_nothing() -> None:
    exchange = Collective(0, 0, "all-to-all", 64, step=0)
    steps = [[Step(0, 50)]] * 2
    job = a_timed_job([[(0, 10)], [(0, 10)]], collective=exchange, steps=steps)

    assert _rows(job) == {}
