"""Ranks by step: each rank's own times, put where the job's steps are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.unit.analyze.ranks.maps.hand_made_jobs import (
    PlayedJob,
    collective_rows,
    digest,
    fast_bins,
    job,
    step_rows,
    times,
    world,
)
from wavescope.analyze.ranks.job import Job
from wavescope.analyze.ranks.maps import rank_step_map


def two_ranks() -> Job:
    """The second rank began to record one step later."""
    starts, arrive, ends = times(0, 100, 200), times(60, 150, 270), times(100, 200, 300)
    made = []
    for rank, first in ((0, 0), (1, 1)):
        began, came, ended = starts[first:], arrive[first:] + 5 * rank, ends[first:]
        bins = fast_bins(began, came, ended, 4)
        made.append(
            replace(
                digest(rank, int(began[0]), 300, bins),
                collectives=collective_rows(came, ended, np.arange(len(came))),
                steps=replace(step_rows(began, ended, came - began), label=times(7, 8, 9)[first:]),
            )
        )
    rows = np.array([[0, 1, 2], [-1, 0, 1]])
    return job(made, None, [world(rows)], rows)


def test_ranks_have_their_own_times_at_the_jobs_steps() -> None:
    found = rank_step_map(two_ranks())

    assert found.step_count == 3
    assert found.labels.tolist() == [7, 8, 9]
    assert found.step_ns[0].tolist() == [100, 100, 100]
    assert np.isnan(found.step_ns[1, 0])
    assert found.step_ns[1, 1:].tolist() == [100, 100]
    assert found.compute_ns[1, 1:].tolist() == [55, 75]
    assert found.exposed_ns[0].tolist() == [40, 50, 30]


def test_lateness_counts_where_two_came() -> None:
    found = rank_step_map(two_ranks())

    assert np.isnan(found.lateness_ns[:, 0]).all()
    assert found.lateness_ns[:, 1:].tolist() == [[0, 0], [5, 5]]


def test_labels_that_ranks_disagree_about_are_not_told() -> None:
    found = two_ranks()
    ranks = (
        found.ranks[0],
        replace(found.ranks[1], steps=replace(found.ranks[1].steps, label=times(8, 1))),
    )

    assert rank_step_map(replace(found, ranks=ranks)).labels.tolist() == [7, 8, -1]


def test_collectives_outside_of_steps_count_for_none() -> None:
    found = two_ranks()
    ranks = []
    for rank in found.ranks:
        outside = np.full(len(rank.collectives), -1, np.int32)
        ranks.append(replace(rank, collectives=replace(rank.collectives, step=outside)))

    assert np.isnan(rank_step_map(replace(found, ranks=tuple(ranks))).lateness_ns).all()


def test_without_steps_the_map_is_empty() -> None:
    found = rank_step_map(replace(two_ranks(), steps=np.empty((2, 0), np.int32)))

    assert found.step_ns.shape == (2, 0)
    assert found.labels.tolist() == []


def test_the_slow_rank_is_seen() -> None:
    found = rank_step_map(PlayedJob(slow={5: 1.3}).built())

    assert int(np.argmax(found.compute_ns.mean(axis=1))) == 5
    assert int(np.argmin(found.exposed_ns.mean(axis=1))) == 5
    assert int(np.argmax(found.lateness_ns.mean(axis=1))) == 5
