"""Tests of measures against the truth of simulated jobs, whose clocks are off and drift."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from tests.rank_jobs import Fault, FaultKind, SimulatedJob, Topology, simulated
from tests.unit.analyze.ranks.timed_jobs import measured
from wavescope.analyze.ranks.job import MISSING, Job, MatchedGroup
from wavescope.analyze.ranks.joining import job_of
from wavescope.analyze.ranks.measures import job_rows
from wavescope.analyze.ranks.measures.exchange_times import exchange_times

_OFF_BY_NS = 4_000
"""Two clocks that are right within 2 us."""
_PPM = 50
"""Common time is one rank's clock, which drifts as well."""

Real = npt.NDArray[np.float64]


def _true_times(simulation: SimulatedJob, job: Job, group: MatchedGroup) -> tuple[Real, Real]:
    """[member, exchange]: true starts and ends, not a number where a rank has none."""
    starts = np.full(group.rows.shape, np.nan)
    ends = starts.copy()
    for member, place in enumerate(group.members.tolist()):
        there = group.rows[member] != MISSING
        rows = group.rows[member, there]
        clock = simulation.truth.clocks[job.numbers[place]]
        starts[member, there] = clock.true(job.ranks[place].collectives.start_ns[rows])
        ends[member, there] = clock.true(job.ranks[place].collectives.end_ns[rows])
    return starts, ends


@pytest.mark.parametrize("topology", [Topology.DDP, Topology.FSDP, Topology.EXPERTS])
def test_arrivals_and_transfers_are_the_true_ones(topology: Topology) -> None:
    simulation = simulated(topology, seed=3, ranks=8, steps=10)
    job = job_of(simulation.digests(), simulation.numbers)
    timed_count = 0

    for group in job.groups:
        times = exchange_times(job, group)
        timed = times.is_timed
        if not timed.any():
            continue
        timed_count += int(timed.sum())
        starts, ends = (each[:, timed] for each in _true_times(simulation, job, group))
        last = np.nanmax(starts, axis=0)
        truth = {
            "skew": last - np.nanmin(starts, axis=0),
            "wait": np.nansum(last - starts, axis=0),
            "transfer": np.nanmax(ends, axis=0) - last,
        }
        sure = times.is_certified[timed]
        for name, true in truth.items():
            told, low, high = (
                getattr(times, f"{name}{end}_ns")[timed] for end in ("", "_low", "_high")
            )
            members = len(starts) if name == "wait" else 1
            slack = true * _PPM * 1e-6 + 3 * members
            assert np.abs(told - true).max() <= _OFF_BY_NS * members, name
            assert (low[sure] <= (true + slack)[sure]).all(), name
            assert (high[sure] >= (true - slack)[sure]).all(), name

    assert timed_count > 30


def test_the_rank_with_more_work_is_found_by_every_table() -> None:
    fault = Fault(FaultKind.MORE_WORK, ranks=(2,), size=0.5)
    simulation = simulated(Topology.EXPERTS, [fault], seed=1, ranks=8, steps=12)
    job = job_of(simulation.digests(), simulation.numbers)

    rows = job_rows(measured(job))

    assert rows.experts[0].place == 2
    assert rows.experts[0].imbalance > 1.25
    assert {row.place for row in rows.outliers} == {2}
    most = max(rows.ranks, key=lambda row: row.last_count)
    assert most.number == 2
    assert min(rows.ranks, key=lambda row: row.waited_ns or 0).number == 2


def test_stages_of_a_simulated_pipeline_are_its_stages() -> None:
    simulation = simulated(Topology.PIPELINE, seed=1, ranks=8, steps=6, group_size=4)
    job = job_of(simulation.digests(), simulation.numbers)

    stages = job_rows(measured(job)).stages

    assert [row.places for row in stages] == [(0, 1), (2, 3), (4, 5), (6, 7)]
    assert all(row.balance == pytest.approx(1.0, abs=0.05) for row in stages)
    assert all(10 < (row.bubble_percent or 0) < 60 for row in stages)
