"""Tests of pipeline stages: who is in which, what they compute, how long they stand idle."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.unit.analyze.ranks.digest_builder import Collective, Step, a_digest
from tests.unit.analyze.ranks.timed_jobs import (
    UNKNOWN_CLOCK,
    a_timed_job,
    job_of_parts,
    measured,
)
from wavescope.analyze.ranks.digest import CollectiveUse
from wavescope.analyze.ranks.job import Job, MatchedBy, MatchedGroup
from wavescope.analyze.ranks.measures.pipeline import pipelines
from wavescope.analyze.ranks.measures.stages_table import stage_rows, stages_table

_SEND = "send/recv"


def _pair(one: int, other: int, description: str = "") -> MatchedGroup:
    """A group of two that send to each other."""
    return MatchedGroup(
        name=f"{one} -> {other}",
        description=description,
        members=np.array(sorted((one, other)), np.int32),
        size=2,
        uses=(CollectiveUse(_SEND),),
        use=np.zeros(1, np.int32),
        rows=np.zeros((2, 1), np.int32),
        matched_by=MatchedBy.ORDER,
        confidence=1.0,
    )


def _job(rank_count: int, *pairs: MatchedGroup) -> Job:
    digests = [
        a_digest([Collective(10, 20, _SEND, step=0)], [Step(0, 100)], rank=rank)
        for rank in range(rank_count)
    ]
    return job_of_parts(digests, pairs)


def _places(job: Job) -> list[tuple[int, ...]]:
    return [pipeline.places for pipeline in pipelines(measured(job))]


def test_chains_of_sends_are_pipelines() -> None:
    job = _job(6, _pair(0, 2), _pair(2, 4), _pair(4, 2), _pair(1, 3), _pair(5, 3))

    assert _places(job) == [(0, 2, 4), (1, 3, 5)]


def test_a_ring_is_no_pipeline() -> None:
    assert _places(_job(3, _pair(0, 1), _pair(1, 2), _pair(2, 0))) == []


def test_a_star_is_no_pipeline() -> None:
    assert _places(_job(4, _pair(0, 1), _pair(0, 2), _pair(0, 3))) == []


def test_groups_that_say_they_share_context_are_no_pipeline() -> None:
    assert _places(_job(3, _pair(0, 1, "context_parallel"), _pair(1, 2, "cp"))) == []


def test_chains_of_another_length_than_most_are_left_out() -> None:
    job = _job(8, _pair(0, 1), _pair(2, 3), _pair(4, 5), _pair(5, 6))

    assert _places(job) == [(0, 1), (2, 3)]


def test_a_group_that_says_it_is_a_pipeline_needs_no_sends() -> None:
    times = [[(0, 10)], [(0, 10)], [(0, 10)]]
    job = a_timed_job(times, description="pipeline_parallel")  # type: ignore[arg-type]

    [pipeline] = pipelines(measured(job))

    assert pipeline == ((0, 1, 2), "group's description")


def test_ranks_at_the_other_end_tell_pairs_of_a_larger_group() -> None:
    peers = ([1], [0, 2], [1])
    digests = [
        a_digest(
            [
                Collective(10 * place, 10 * place + 5, _SEND, peer=peer)
                for place, peer in enumerate(own)
            ],
            rank=rank,
        )
        for rank, own in enumerate(peers)
    ]
    rows = np.array([[0, -1], [0, 1], [0, -1]], np.int32)
    group = replace(
        _pair(0, 1), members=np.arange(3, dtype=np.int32), rows=rows, use=np.zeros(2, np.int32)
    )

    assert _places(job_of_parts(digests, [group])) == [(0, 1, 2)]


def _stages(clocks: list[object] | None = None) -> Job:
    """Two stages; stage 1 computes 60 of 100, begins 20 later and waits in receives for 10."""
    digests = [
        a_digest(
            [Collective(80, 90, "all-reduce", step=0, exposed_ns=10)],
            [Step(0, 100, compute_ns=40, exposed_ns=10)],
            rank=0,
        ),
        a_digest(
            [
                Collective(20, 30, _SEND, step=0, exposed_ns=10),
                Collective(95, 100, "all-reduce", step=0, exposed_ns=5),
            ],
            [Step(20, 110, compute_ns=60, exposed_ns=15)],
            rank=1,
        ),
    ]
    return job_of_parts(digests, [_pair(0, 1)], clocks)  # type: ignore[arg-type]


def test_a_bubble_is_the_time_without_compute_and_other_collectives() -> None:
    measures = measured(_stages())

    first, second = stage_rows(measures)

    assert (first.bubble_ns, second.bubble_ns) == (110 - 40 - 10, 110 - 60 - 5)
    assert first.bubble_percent == pytest.approx(100 * 60 / 110)
    assert (first.compute_ns, first.balance, second.balance) == (40, 0.8, 1.2)
    table = stages_table(measures, [first, second])
    assert table.column("ranks") == ["0", "1"]


def test_without_comparable_clocks_a_step_is_the_ranks_own() -> None:
    first, second = stage_rows(measured(_stages([UNKNOWN_CLOCK, UNKNOWN_CLOCK])))

    assert (first.bubble_ns, second.bubble_ns) == (100 - 40 - 10, 90 - 60 - 5)


def test_no_steps_no_stages() -> None:
    job = _job(2, _pair(0, 1))
    bare = replace(job, steps=job.steps[:, :0])

    assert stage_rows(measured(bare)) == []
    assert stage_rows(measured(_job(2))) == []
