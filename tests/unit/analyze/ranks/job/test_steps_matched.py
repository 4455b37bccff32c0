"""Steps of ranks matched by labels, exchanges or order; a job's columns and times."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.analyze.ranks.digest_builder import Collective, Step, a_digest, a_job
from wavescope.analyze.ranks.job import MISSING, NO_TIME, ClockState, RankClock
from wavescope.analyze.ranks.joining import job_of


def test_labels_match_steps() -> None:
    built = a_job(rank_count=3, step_count=5, first_step=[0, 2, 1])

    job = job_of(built.digests, built.numbers)

    assert job.steps.tolist() == [[0, 1, 2, 3, 4], [-1, -1, 0, 1, 2], [-1, 0, 1, 2, 3]]


def test_exchanges_match_steps_without_labels() -> None:
    built = a_job(
        rank_count=3, step_count=8, first_step=[2, 0, 3], is_labelled=False, jitter_ns=1000
    )

    job = job_of(built.digests, built.numbers)

    assert job.step_count == 8
    assert job.steps[0].tolist() == [-1, -1, 0, 1, 2, 3, 4, 5]
    assert job.steps[1].tolist() == list(range(8))
    assert job.steps[2].tolist() == [-1, -1, -1, 0, 1, 2, 3, 4]


def test_equal_counts_match_by_order_where_nothing_else_tells() -> None:
    steps = [Step(0, 10), Step(10, 20)]

    job = job_of([a_digest((), steps), a_digest((), steps, rank=1)], [0, 1])

    assert job.steps.tolist() == [[0, 1], [0, 1]]


def test_different_counts_are_not_matched_where_nothing_tells() -> None:
    steps = [Step(0, 10), Step(10, 20)]

    job = job_of([a_digest((), steps), a_digest((), steps[:1], rank=1)], [0, 1])

    assert job.steps.shape == (2, 0)


def test_a_rank_without_steps_has_none() -> None:
    built = a_job(rank_count=2, step_count=3)

    job = job_of([built.digest(0), a_digest(built.rows[1], rank=1)], built.numbers)

    assert job.steps.tolist() == [[0, 1, 2], [-1, -1, -1]]
    assert job.step_starts[1].tolist() == [NO_TIME] * 3
    assert job.step_column("label").tolist() == [[0, 1, 2], [MISSING] * 3]


def test_a_label_that_comes_twice_counts_once() -> None:
    steps = [Step(0, 10, 4), Step(10, 20, 5), Step(20, 30, 4)]

    job = job_of([a_digest((), steps), a_digest((), steps[:2], rank=1)], [0, 1])

    assert job.steps.tolist() == [[0, 1], [0, 1]]


def test_times_of_a_group_are_common_times() -> None:
    built = a_job(
        rank_count=3, step_count=4, offset_ns=[0, 5_000_000, -4_000], first_step=[0, 1, 0]
    )

    job = job_of(built.digests, built.numbers)

    (group,) = job.groups
    starts, ends = job.starts(group), job.ends(group)
    true = built.true_start_ns + built.shape.start_ns
    assert (starts[1, :2] == NO_TIME).all()
    assert np.abs(starts[1, 2:] - true[1, 2:]).max() <= 1_000
    assert np.abs(ends[2] - (built.true_end_ns + built.shape.start_ns)[2]).max() <= 1_000
    assert job.column(group, "exposed_ns", 0)[1, :2].tolist() == [0, 0]


@settings(max_examples=50)
@given(
    own=st.lists(st.integers(-(10**15), 10**18), min_size=1, max_size=5),
    offset_ns=st.integers(-(10**17), 10**17),
    drift_ppm=st.floats(-500, 500),
)
def test_the_way_to_common_time_and_back(own: list[int], offset_ns: int, drift_ppm: float) -> None:
    clock = RankClock(ClockState.ALIGNED, own[0], offset_ns, drift_ppm)
    near = np.array([own[0] + time % 10**13 for time in own], np.int64)

    back = clock.to_own(clock.to_common(near))

    assert np.abs(back - near).max() <= 1


def test_the_groups_of_a_job_say_who_may_end_early() -> None:
    rows = [Collective(0, 10, "broadcast"), Collective(20, 30), Collective(40, 50, "barrier")]

    job = job_of([a_digest(rows), a_digest(rows, rank=1)], [0, 1])

    assert job.groups[0].is_synchronizing.tolist() == [False, True, True]


@pytest.mark.parametrize("field", ["is_listed", "is_sequenced", "is_labelled"])
def test_nothing_of_the_order_of_ranks_matters(field: str) -> None:
    built = a_job(rank_count=4, step_count=10, jitter_ns=2000, **{field: False})
    order = [3, 1, 0, 2]

    job = job_of(built.digests, built.numbers)
    other = job_of([built.digests[rank] for rank in order], order)

    assert [group.rows.tolist() for group in job.groups] == [
        group.rows.tolist() for group in other.groups
    ]
    assert replace(job, ranks=(), groups=(), steps=np.empty(0)).clocks == other.clocks
