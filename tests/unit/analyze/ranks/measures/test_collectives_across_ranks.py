"""Tests of the tables of collectives across ranks, by kind and by step."""

from __future__ import annotations

import statistics
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.analyze.ranks.digest_builder import Collective, Step
from tests.unit.analyze.ranks.timed_jobs import (
    REFERENCE,
    UNKNOWN_CLOCK,
    Pair,
    a_timed_job,
    certified,
    measured,
)
from wavescope.analyze.ranks.job import Job
from wavescope.analyze.ranks.measures.all_exchanges import all_exchanges, size_class_bytes
from wavescope.analyze.ranks.measures.collective_rows import (
    CollectiveRow,
    Nature,
    collective_rows,
    collective_rows_by_step,
    nature_of,
)
from wavescope.analyze.ranks.measures.collectives_table import (
    collectives_by_step_table,
    collectives_table,
)
from wavescope.model.result import Value

_REDUCE = Collective(0, 0, "all-reduce", 1 << 20, bus_factor=1.5)


def _rows(job: Job) -> list[CollectiveRow]:
    measures = measured(job)
    return collective_rows(measures, all_exchanges(measures))


def _records(job: Job) -> list[dict[str, Value]]:
    measures = measured(job)
    return collectives_table(measures, _rows(job)).records()


def test_bandwidth_is_size_by_transfer_in_billions_of_bytes() -> None:
    times: list[list[Pair | None]] = [[(0, 2_000)], [(1_000, 2_048)]]
    job = a_timed_job(times, collective=_REDUCE)

    [row] = _records(job)

    assert row["algorithm_gb_per_s"] == pytest.approx((1 << 20) / 1_048)
    assert row["bus_gb_per_s"] == pytest.approx(1.5 * (1 << 20) / 1_048)
    assert row["transfer_median_ns"] == 1_048
    assert (row["skew_median_ns"], row["skew_p95_ns"], row["skew_most_ns"]) == (1_000,) * 3
    assert row["wait_ns"] == 1_000
    assert row["wait_percent"] == pytest.approx(100 * 1_000 / (2_000 + 1_048))
    assert (row["last_rank"], row["last_count"], row["timed_count"]) == (1, 1, 1)
    assert row["basis"] == "all members"


def test_kinds_are_told_apart_by_operation_type_and_power_of_two() -> None:
    exchanges = [
        Collective(0, 0, "all-reduce", 1024),
        Collective(0, 0, "all-reduce", 2047),
        Collective(0, 0, "all-reduce", 2048),
        Collective(0, 0, "all-gather", 2048),
        Collective(0, 0, "all-gather", 2048, dtype="Float"),
        Collective(0, 0, "barrier", -1, dtype=""),
    ]
    times: list[list[Pair | None]] = [
        [(1_000 * place, 1_000 * place + 100) for place in range(len(exchanges))]
    ] * 2

    found = {
        (row["operation"], row["dtype"], row["size_class_bytes"]): row["exchange_count"]
        for row in _records(a_timed_job(times, exchanges=exchanges))
    }

    assert found == {
        ("all-reduce", "BFloat16", 1024): 2,
        ("all-reduce", "BFloat16", 2048): 1,
        ("all-gather", "BFloat16", 2048): 1,
        ("all-gather", "Float", 2048): 1,
        ("barrier", None, None): 1,
    }


@pytest.mark.parametrize(
    ("size", "expected"), [(-1, None), (0, None), (1, 1), (1023, 512), (1024, 1024)]
)
def test_a_size_class_is_the_power_of_two_below(size: int, expected: int | None) -> None:
    assert size_class_bytes(size) == expected


def test_a_barrier_and_an_unknown_factor_have_no_bandwidth() -> None:
    exchanges = [Collective(0, 0, "barrier", -1), Collective(0, 0, "all-to-all", 64, bus_factor=0)]
    times: list[list[Pair | None]] = [[(0, 10), (20, 30)], [(1, 10), (21, 30)]]

    rows = {row["operation"]: row for row in _records(a_timed_job(times, exchanges=exchanges))}

    assert rows["barrier"]["algorithm_gb_per_s"] is None
    assert rows["all-to-all"]["algorithm_gb_per_s"] == pytest.approx(64 / 9)
    assert rows["all-to-all"]["bus_gb_per_s"] is None


def test_without_comparable_clocks_only_durations_are_told() -> None:
    times: list[list[Pair | None]] = [[(0, 2_000)], [(10**9, 10**9 + 1_000)]]
    job = a_timed_job(times, clocks=[REFERENCE, UNKNOWN_CLOCK], collective=_REDUCE)

    [row] = _records(job)

    absent = ("skew_median_ns", "skew_most_ns", "wait_ns", "wait_percent", "transfer_median_ns")
    assert [row[name] for name in absent] == [None] * len(absent)
    assert (row["bus_gb_per_s"], row["last_rank"], row["last_count"]) == (None, None, None)
    assert (row["transfer_low_ns"], row["transfer_high_ns"]) == (1_000, 2_000)
    assert row["bus_low_gb_per_s"] == pytest.approx(1.5 * (1 << 20) / 2_000)
    assert row["bus_high_gb_per_s"] == pytest.approx(1.5 * (1 << 20) / 1_000)
    assert (row["spread_ns"], row["nature"]) == (1_000, "inconclusive")
    assert row["basis"] == "no arrivals are compared; clock of rank 1 not comparable"


def test_missing_members_make_figures_one_sided() -> None:
    times: list[list[Pair | None]] = [[(0, 2_000)], [(1_000, 2_048)]]

    [row] = _records(a_timed_job(times, group_size=4))

    assert (
        row["basis"]
        == "2 of 4 members given; skew and wait are lower bounds, transfer is an upper bound"
    )
    assert row["group_size"] == 4


def test_exchanges_that_lack_members_are_counted() -> None:
    times: list[list[Pair | None]] = [
        [(0, 100), (200, 300), (400, 500)],
        [(10, 100), (210, 300), None],
        [(20, 100), None, None],
    ]

    [row] = _records(a_timed_job(times))

    assert (row["exchange_count"], row["timed_count"], row["wait_ns"]) == (3, 2, 30 + 10)
    assert (
        row["basis"]
        == "2 timed; 1 lack members; skew and wait are lower bounds, transfer is an upper bound"
    )


def test_unsure_matching_is_said() -> None:
    job = a_timed_job([[(0, 100)], [(10, 100)]])
    unsure = replace(job, groups=(replace(job.groups[0], confidence=0.25),))

    [row] = _records(unsure)

    assert row["basis"] == "no arrivals are compared; matching is not sure (0.25)"


def test_bounds_are_of_timed_exchanges_where_there_are_any() -> None:
    times: list[list[Pair | None]] = [[(0, 1_000), (2_000, 9_000)], [(900, 1_000), None]]
    clocks = [REFERENCE, certified(-50, 50)]

    [row] = _rows(a_timed_job(times, clocks=clocks))

    # Of the second no arrival is certain; the waiting of rank 1 is at most its own duration.
    assert (row.wait_low_ns, row.wait_ns, row.wait_high_ns) == (850, 900, 950 + 100)
    assert (row.transfer_low_ns, row.transfer_high_ns) == (100, 150)
    assert row.certified is Nature.ARRIVAL_SKEW


def test_one_member_alone_is_said() -> None:
    [row] = _records(a_timed_job([[(0, 2_000)]], group_size=4))

    assert row["basis"] == "one member was given: durations only"


@pytest.mark.parametrize(
    ("least", "greatest", "expected"),
    [
        (0.0, 0.4, Nature.TRANSFER),
        (0.6, 1.0, Nature.ARRIVAL_SKEW),
        (0.2, 0.8, Nature.MIXED),
        (0.45, 0.55, Nature.MIXED),
        (0.1, 0.5, Nature.INCONCLUSIVE),
        (0.5, 0.9, Nature.INCONCLUSIVE),
        (-0.1, 1.1, Nature.INCONCLUSIVE),
    ],
)
def test_the_nature_follows_from_the_share_of_waiting(
    least: float, greatest: float, expected: Nature
) -> None:
    assert nature_of(least, greatest) is expected


def test_a_noisy_clock_makes_the_nature_inconclusive() -> None:
    # Rank 0 waits 900 of 1,000, rank 1 takes 100: 82 % of the time.
    times: list[list[Pair | None]] = [[(0, 1_000)], [(900, 1_000)]]

    sure = _rows(a_timed_job(times, clocks=[REFERENCE, certified(residual_ns=50)]))[0]
    unsure = _rows(a_timed_job(times, clocks=[REFERENCE, certified(residual_ns=150)]))[0]

    assert sure.nature is Nature.ARRIVAL_SKEW
    assert unsure.nature is Nature.INCONCLUSIVE


def test_bounds_alone_certify_the_nature() -> None:
    times: list[list[Pair | None]] = [[(0, 1_000)], [(900, 1_000)]]

    tight = _rows(a_timed_job(times, clocks=[REFERENCE, certified(-50, 50)]))[0]
    wide = _rows(a_timed_job(times, clocks=[REFERENCE, certified(-700, 50)]))[0]

    assert tight.certified is Nature.ARRIVAL_SKEW
    assert wide.certified is Nature.INCONCLUSIVE
    assert (wide.wait_low_ns, wide.wait_high_ns) == (200, 1_050)


def _steps(count: int) -> list[Step]:
    return [Step(1_000 * place, 1_000 * place + 900) for place in range(count)]


def _stepped(step_count: int) -> Job:
    """Three exchanges in each step; in step k rank 1 comes k ns late to each."""
    times: list[list[Pair | None]] = [[], []]
    exchanges = []
    for step in range(step_count):
        for place in range(3):
            start = 1_000 * step + 200 * place
            times[0].append((start, start + 100))
            times[1].append((start + step, start + 100))
            exchanges.append(Collective(0, 0, size_bytes=1 << (10 + place // 2), step=step))
    steps = [_steps(step_count)] * 2
    return a_timed_job(times, exchanges=exchanges, steps=steps)


def test_steps_are_told_in_order_with_their_own_figures() -> None:
    measures = measured(_stepped(3))
    exchanges = all_exchanges(measures)

    rows, count = collective_rows_by_step(measures, exchanges, 100)
    table = collectives_by_step_table(measures, rows, count)

    found = [
        (row["step"], row["size_class_bytes"], row["exchange_count"], row["wait_ns"])
        for row in table.records()
    ]
    assert found == [
        (0, 1024, 2, 0),
        (0, 2048, 1, 0),
        (1, 1024, 2, 2),
        (1, 2048, 1, 1),
        (2, 1024, 2, 4),
        (2, 2048, 1, 2),
    ]
    assert table.total_rows is None


def test_of_many_rows_those_with_most_waiting_are_kept() -> None:
    measures = measured(_stepped(5))

    rows, count = collective_rows_by_step(measures, all_exchanges(measures), 2)
    table = collectives_by_step_table(measures, rows, count)

    assert [(row.step, row.wait_ns) for row in rows] == [(3, 6), (4, 8)]
    assert table.total_rows == count == 10


def test_exchanges_of_no_step_are_not_by_step() -> None:
    measures = measured(a_timed_job([[(0, 10)], [(2, 10)]]))

    assert collective_rows_by_step(measures, all_exchanges(measures), 3) == ([], 0)


def test_a_job_without_collectives_has_an_empty_table() -> None:
    assert _records(a_timed_job([])) == []
    assert _records(a_timed_job([[], []], steps=[_steps(1)] * 2)) == []


_CELL = st.tuples(st.integers(0, 400), st.integers(1, 400)).map(
    lambda pair: (pair[0], pair[0] + pair[1])
)


@given(
    columns=st.lists(
        st.tuples(
            st.lists(_CELL, min_size=3, max_size=3),
            st.sampled_from(["all-reduce", "all-gather"]),
            st.sampled_from([1000, 1024, 1500, 4096]),
        ),
        min_size=1,
        max_size=12,
    )
)
@settings(max_examples=100)
def test_figures_are_those_of_brute_force(
    columns: list[tuple[list[Pair], str, int]],
) -> None:
    factor = 1.75
    job = a_timed_job(
        [[cells[rank] for cells, _, _ in columns] for rank in range(3)],
        exchanges=[
            Collective(0, 0, operation, size, bus_factor=factor) for _, operation, size in columns
        ],
    )
    by_kind: dict[tuple[str, int | None], list[tuple[list[Pair], int]]] = {}
    for cells, operation, size in columns:
        by_kind.setdefault((operation, size_class_bytes(size)), []).append((cells, size))

    rows = _rows(job)

    assert {(row.kind.operation, row.kind.size_class_bytes) for row in rows} == set(by_kind)
    for row in rows:
        alike = by_kind[row.kind.operation, row.kind.size_class_bytes]
        last = [max(start for start, _ in cells) for cells, _ in alike]
        skews = sorted(
            late - min(start for start, _ in cells)
            for late, (cells, _) in zip(last, alike, strict=True)
        )
        waits = [
            sum(late - start for start, _ in cells)
            for late, (cells, _) in zip(last, alike, strict=True)
        ]
        transfers = [
            max(end for _, end in cells) - late
            for late, (cells, _) in zip(last, alike, strict=True)
        ]
        speeds = sorted(
            size / transfer * factor
            for transfer, (_, size) in zip(transfers, alike, strict=True)
            if transfer > 0
        )
        assert row.exchange_count == row.timed_count == len(alike)
        assert row.skew_median_ns == statistics.median_low(skews)
        assert row.skew_most_ns == skews[-1]
        assert row.wait_ns == sum(waits)
        assert row.transfer_median_ns == statistics.median_low(transfers)
        assert row.bus_gb_per_s == (
            pytest.approx(statistics.median_low(speeds)) if speeds else None
        )
        came_last = Counter(
            [start for start, _ in cells].index(late)
            for late, (cells, _) in zip(last, alike, strict=True)
            if sum(start == late for start, _ in cells) == 1
        )
        assert row.last_count == max(came_last.values(), default=0)
        assert came_last[row.last_place] == row.last_count if came_last else row.last_place is None
