"""Tests of ranks that differ from the rest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.analyze.ranks.digest_builder import Step, a_digest
from tests.unit.analyze.ranks.timed_jobs import job_of_parts, measured
from wavescope.analyze.ranks.digest import RankDigest
from wavescope.analyze.ranks.measures.outliers_table import (
    OutlierRow,
    outlier_rows,
    outliers_table,
    robust_distances,
)
from wavescope.analyze.ranks.measures.ranks_table import rank_rows
from wavescope.analyze.ranks.measures.stages_table import StageRow


def _outliers(digests: list[RankDigest], stages: list[StageRow] | None = None) -> list[OutlierRow]:
    measures = measured(job_of_parts(digests))
    return outlier_rows(measures, rank_rows(measures), stages or [])


def _computing(compute_ns: list[int]) -> list[RankDigest]:
    return [
        a_digest(steps=[Step(0, 1_000_000, compute_ns=value)], rank=rank)
        for rank, value in enumerate(compute_ns)
    ]


def test_a_rank_that_computes_longer_is_found() -> None:
    [row] = _outliers(_computing([500_000, 501_000, 499_000, 650_000, 500_000]))

    assert (row.place, row.metric, row.peer_count) == (3, "compute per step", 5)
    assert (row.value, row.median) == (650_000, 500_000)
    assert row.distance == pytest.approx(150_000 / 5_000)
    assert row.difference_percent == 30.0
    assert row.shown == "650.0 us against 500.0 us"


def test_ranks_that_agree_within_the_floor_have_no_outlier() -> None:
    # One percent of the median is the least scale: 4.9 % is not 5 of them.
    assert _outliers(_computing([500_000] * 6 + [524_000])) == []


def test_three_ranks_cannot_tell_who_is_odd() -> None:
    assert _outliers(_computing([500_000, 500_000, 900_000])) == []


def test_stages_are_compared_within_themselves() -> None:
    digests = _computing([500_000] * 4 + [900_000] * 4)
    stages = [
        StageRow(stage, tuple(range(4 * stage, 4 * stage + 4)), 1, 0, 0, None, None, "")
        for stage in (0, 1)
    ]

    assert _outliers(digests, stages) == []


def test_another_gpu_model_than_most_comes_first() -> None:
    digests = _computing([500_000, 500_000, 500_000, 900_000])
    digests[1] = a_digest(
        rank=1, gpu_model="MI250X", steps=[Step(0, 1_000_000, compute_ns=500_000)]
    )

    rows = _outliers(digests)

    assert [(row.place, row.metric, row.distance is None) for row in rows] == [
        (1, "GPU model", True),
        (3, "compute per step", False),
    ]
    assert rows[0].shown == "MI250X against MI300X"


def test_half_of_each_model_are_no_outliers() -> None:
    digests = [a_digest(rank=rank, gpu_model=f"model {rank % 2}") for rank in range(6)]

    assert [row for row in _outliers(digests) if row.metric == "GPU model"] == []


def test_sampled_clocks_and_lost_ops_count_too() -> None:
    digests = [
        a_digest(
            steps=[Step(0, 100)], rank=rank, monitors=[("sclk", 1500.0 if rank == 2 else 2100.0)]
        )
        for rank in range(5)
    ]
    digests[4] = replace(digests[4], lost_ops=10)

    rows = _outliers(digests)

    assert {(row.place, row.metric) for row in rows} == {(2, "mean of sclk"), (4, "lost ops")}


def test_a_sampled_value_that_is_no_number_is_ignored() -> None:
    digests = [
        a_digest(steps=[Step(0, 100)], rank=rank, monitors=[("sclk", float("nan"))])
        for rank in range(5)
    ]

    assert _outliers(digests) == []


def test_ranks_without_ops_are_not_compared() -> None:
    digests = [*_computing([500_000] * 4), a_digest(rank=4)]

    assert _outliers(digests) == []


def test_the_table_names_ranks_and_hosts() -> None:
    digests = [replace(digest) for digest in _computing([500_000, 500_000, 500_000, 900_000])]
    measures = measured(job_of_parts(digests, numbers=[2, 4, 6, 8]))
    rows = outlier_rows(measures, rank_rows(measures), [])

    table = outliers_table(measures, rows)

    assert table.column("rank") == [8]
    assert (table.column("value"), table.column("unit")) == ([900_000.0], ["ns"])


@given(st.lists(st.integers(0, 1 << 40), min_size=1, max_size=30))
def test_distances_are_finite_and_those_of_the_definition(values: list[int]) -> None:
    numbers = np.array(values, np.float64)

    median, distances = robust_distances(numbers, 0.01, 1.0)

    apart = [abs(value - median) for value in values]
    scale = max(1.4826 * float(np.median(apart)), 0.01 * median, 1.0)
    assert distances == pytest.approx([each / scale for each in apart])
