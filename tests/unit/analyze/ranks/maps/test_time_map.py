"""Ranks by time: nothing is lost when bins move to common time, and shares are near the truth."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.analyze.ranks.maps.hand_made_jobs import (
    PlayedJob,
    Span,
    bins_of,
    collective_rows,
    digest,
    job,
    times,
    world,
)
from wavescope.analyze.ranks.digest import RankDigest, TimeBins
from wavescope.analyze.ranks.job import ClockState, Job, RankClock
from wavescope.analyze.ranks.maps import RankMap, rank_time_map

UNKNOWN = RankClock(ClockState.UNKNOWN)


def even_bins(first_ns: int, width_ns: int, *busy_ns: int) -> TimeBins:
    busy = times(*busy_ns)
    return TimeBins(first_ns, width_ns, busy, busy // 2, busy - busy // 2, busy - busy // 2)


def test_bins_that_fit_are_taken_over() -> None:
    found = rank_time_map(job([digest(0, 1_000, 1_400, even_bins(1_000, 100, 0, 50, 100, 20))]), 4)

    assert (found.first_ns, found.width_ns, found.bin_count) == (1_000, 100, 4)
    assert found.busy.tolist() == [[0, 0.5, 1, 0.2]]
    assert found.compute.tolist() == [[0, 0.25, 0.5, 0.1]]
    assert found.exposed.tolist() == [[0, 0.25, 0.5, 0.1]]
    assert found.error.tolist() == [[0, 0, 0, 0]]
    assert np.isnan(found.lateness_ns).all()


def test_clocks_move_bins_to_common_time() -> None:
    early = digest(0, 0, 400, even_bins(0, 100, 100, 0, 100, 0))
    ahead = digest(1, 5_200, 5_600, even_bins(5_200, 100, 100, 0, 100, 0))
    clocks = [RankClock(ClockState.REFERENCE), RankClock(ClockState.ALIGNED, offset_ns=-5_000)]

    found = rank_time_map(job([early, ahead], clocks), 6)

    assert (found.first_ns, found.width_ns) == (0, 100)
    assert found.busy[0, :4].tolist() == [1, 0, 1, 0]
    assert np.isnan(found.busy[0, 4:]).all()
    assert np.isnan(found.busy[1, :2]).all()
    assert found.busy[1, 2:].tolist() == [1, 0, 1, 0]
    assert found.recorded_ns[1].tolist() == [0, 0, 100, 100, 100, 100]


def test_a_clock_that_is_not_comparable_is_shown_from_its_own_start() -> None:
    known = digest(0, 7_000, 7_200, even_bins(7_000, 100, 100, 0))
    lost = digest(1, 99_000, 99_200, even_bins(99_000, 100, 0, 100))

    found = rank_time_map(job([known, lost], [RankClock(ClockState.REFERENCE), UNKNOWN]), 2)

    assert found.is_own_clock.tolist() == [False, True]
    assert found.first_ns == 7_000
    assert found.busy.tolist() == [[1, 0], [0, 1]]
    assert found.own_first_ns.tolist() == [7_000, 99_000]


def test_the_way_back_to_a_ranks_own_time_is_told() -> None:
    drifting = RankClock(ClockState.ALIGNED, origin_ns=4_000, offset_ns=-3_000, drift_ppm=250_000.0)
    made = digest(0, 4_000, 4_400, even_bins(4_000, 100, 100, 0, 100, 0))
    found = rank_time_map(job([made], [drifting]), 4)

    assert (found.first_ns, found.width_ns) == (1_000, 125)
    assert found.own_first_ns.tolist() == [4_000]
    assert found.own_rate.tolist() == [0.8]


def test_time_after_the_last_op_was_not_recorded() -> None:
    found = rank_time_map(job([digest(0, 0, 150, even_bins(0, 100, 100, 50))]), 3)

    assert found.width_ns == 50
    assert found.recorded_ns.tolist() == [[50, 50, 50]]
    assert found.busy.tolist() == [[1, 1, 1]]


@pytest.mark.parametrize("ranks", [[], [digest(0, 0, 0, even_bins(0, 1))]])
def test_of_nothing_there_is_nothing(ranks: list[RankDigest]) -> None:
    found = rank_time_map(job(ranks), 5)

    assert found.busy.shape == (len(ranks), 5)
    assert np.isnan(found.busy).all()
    assert found.recorded_ns.sum() == 0


def test_times_that_cannot_be_are_held_within_shares() -> None:
    wild = TimeBins(0, 10, times(-5, 99), times(2**62, 0), times(0, 0), times(-(2**62), 4))

    found = rank_time_map(job([digest(0, 0, 20, wild)]), 2)

    assert found.busy.tolist() == [[0, 1]]
    assert found.compute.tolist() == [[1, 0]]
    assert found.exposed.tolist() == [[0, 0.4]]


def arriving(*starts_by_rank: list[int], clocks: list[RankClock] | None = None) -> Job:
    """Ranks recorded from 0 to 1,000 that come to exchanges at these times; -1: they do not."""
    ranks = []
    rows = np.full((len(starts_by_rank), len(starts_by_rank[0])), -1)
    for place, starts in enumerate(starts_by_rank):
        came = [number for number, start in enumerate(starts) if start >= 0]
        rows[place, came] = np.arange(len(came))
        at = times(*(starts[number] for number in came))
        made = digest(place, 0, 1_000, even_bins(0, 500, 500, 500))
        ranks.append(replace(made, collectives=collective_rows(at, at + 10, 0 * at)))
    return job(ranks, clocks, [world(rows)])


def test_lateness_is_the_mean_of_the_exchanges_in_a_bin() -> None:
    found = rank_time_map(arriving([100, 200, 700], [130, 250, 700]), 2)

    assert found.lateness_ns.tolist() == [[0, 0], [40, 0]]


def test_who_did_not_come_and_who_cannot_be_compared_has_no_lateness() -> None:
    known = RankClock(ClockState.ALIGNED)
    found = rank_time_map(
        arriving([100, 200], [-1, 260], [10, 10], clocks=[known, known, UNKNOWN]), 1
    )

    # The first exchange has one comparable rank: nobody was late there.
    assert found.lateness_ns[0].tolist() == [0]
    assert found.lateness_ns[1].tolist() == [60]
    assert np.isnan(found.lateness_ns[2]).all()


@st.composite
def recordings(draw: st.DrawFn) -> tuple[list[Span], list[Span], RankClock, int, int]:
    """Spans of compute and of exposed communication that take turns, a clock, and bin counts."""
    lengths = draw(st.lists(st.integers(0, 60), min_size=4, max_size=40))
    start = draw(st.integers(-(10**6), 10**15))
    edges = np.cumsum([start, *lengths]).tolist()
    spans = list(pairwise(edges))
    clock = RankClock(
        ClockState.ALIGNED,
        origin_ns=start,
        offset_ns=draw(st.integers(-(10**9), 10**9)),
        drift_ppm=draw(st.sampled_from([0.0, 20.0, -500.0, 100_000.0])),
    )
    return spans[0::3], spans[1::3], clock, draw(st.integers(1, 30)), draw(st.integers(1, 30))


def recorded(recording: tuple[list[Span], list[Span], RankClock, int, int]) -> tuple[Job, RankMap]:
    compute, exposed, clock, digest_bins, map_bins = recording
    first, last = compute[0][0], max(end for _, end in [*compute, *exposed])
    made = digest(
        0, first, last, bins_of(compute, exposed, first, max(last, first + 1), digest_bins)
    )
    found = job([made], [clock])
    return found, rank_time_map(found, map_bins)


@settings(max_examples=150)
@given(recordings())
def test_totals_are_conserved(
    recording: tuple[list[Span], list[Span], RankClock, int, int],
) -> None:
    compute, exposed, *_ = recording
    found, drawn = recorded(recording)

    def total(share: np.ndarray) -> float:
        return float(np.nansum(share * drawn.recorded_ns))

    assert total(drawn.compute) == pytest.approx(sum(e - s for s, e in compute), abs=1e-3)
    assert total(drawn.exposed) == pytest.approx(sum(e - s for s, e in exposed), abs=1e-3)
    assert total(drawn.busy) == pytest.approx(found.ranks[0].bins.busy_ns.sum(), abs=1e-3)


@settings(max_examples=150)
@given(recordings())
def test_shares_are_off_by_no_more_than_is_said(
    recording: tuple[list[Span], list[Span], RankClock, int, int],
) -> None:
    compute, exposed, clock, _, _ = recording
    found, drawn = recorded(recording)
    rate = 1 + clock.drift_ppm * 1e-6
    start = found.ranks[0].first_ns
    for number in range(drawn.bin_count):
        if not drawn.recorded_ns[0, number] > 1e-6:
            continue
        low, high = (start + drawn.width_ns * (number + k) / rate for k in (0, 1))
        for share, spans in ((drawn.compute, compute), (drawn.exposed, exposed)):
            inside = sum(max(0.0, min(high, e) - max(low, s)) for s, e in spans)
            truth = inside / drawn.recorded_ns[0, number]
            # Times near 10^15 leave a float 0.1 ns; the shortest recorded part may be small.
            slack = 1.0 / drawn.recorded_ns[0, number]
            assert abs(share[0, number] - truth) <= drawn.error[0, number] + slack


def test_a_slow_rank_computes_longer_and_arrives_late() -> None:
    found = rank_time_map(PlayedJob(slow={3: 1.5}, offsets_ns={3: 5_000_000}).built(), 50)

    late = np.nanmean(found.lateness_ns, axis=1)
    assert int(np.argmax(late)) == 3
    assert late[3] == pytest.approx(0.5 * 9_000_000, rel=0.1)
    assert np.nanmean(found.compute[3]) > 0.9 > np.nanmean(found.compute[2])
    assert np.nanmean(found.busy) == pytest.approx(1.0)
