"""Tests of the tables of ranks, files, clocks, groups and mismatches."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.unit.analyze.ranks.digest_builder import Collective, Step, a_digest
from tests.unit.analyze.ranks.timed_jobs import (
    REFERENCE,
    UNKNOWN_CLOCK,
    a_timed_job,
    certified,
    job_of_parts,
    measured,
)
from wavescope.analyze.ranks.digest import TimeBins
from wavescope.analyze.ranks.job import ClockState, Job, Mismatch, RankClock
from wavescope.analyze.ranks.measures import FileState, numbers_text
from wavescope.analyze.ranks.measures.clocks_table import clocks_table
from wavescope.analyze.ranks.measures.files_table import files_table
from wavescope.analyze.ranks.measures.groups_table import groups_table, mismatches_table
from wavescope.analyze.ranks.measures.ranks_table import rank_rows, ranks_table
from wavescope.analyze.ranks.stragglers import (
    PathKind,
    PathPart,
    StepAccount,
    StragglerReport,
    Verdict,
)
from wavescope.model.result import Value


def _ranks(job: Job) -> list[dict[str, Value]]:
    return ranks_table(rank_rows(measured(job))).records()


def test_a_rank_is_told_with_shares_of_its_own_span() -> None:
    bins = TimeBins(
        1_000,
        500,
        *(np.array(pair, np.int64) for pair in ((400, 300), (300, 200), (200, 200), (100, 50))),
    )
    steps = [Step(1_000, 1_400, host_late_ns=30), Step(1_400, 1_900, host_late_ns=12)]
    digest = a_digest(steps=steps, rank=5, host="a", first_ns=1_000, last_ns=2_000, bins=bins)

    [row] = _ranks(job_of_parts([digest], numbers=[5]))

    assert (row["rank"], row["host"], row["gpu"], row["chip"]) == (5, "a", "MI300X", "gfx942")
    assert (row["busy_percent"], row["exposed_percent"]) == (70.0, 15.0)
    assert (row["compute_ns"], row["collective_ns"], row["exposed_ns"]) == (500, 400, 150)
    assert (row["step_count"], row["median_step_ns"], row["host_late_ns"]) == (2, 400, 42)
    assert row["p95_step_ns"] == 500
    assert (row["first_ns"], row["last_ns"]) == (0, 1_000)
    assert (row["waited_ns"], row["timed_count"], row["last_count"]) == (None, 0, None)
    assert (row["delay_ns"], row["clock"], row["path"]) == (None, "reference", "rank5.json")


def test_times_are_from_the_start_of_the_job_by_the_common_clock() -> None:
    clock = RankClock(ClockState.ALIGNED, offset_ns=-5_000)
    digests = [
        a_digest(steps=[Step(100, 300)], rank=0),
        a_digest(steps=[Step(5_050, 5_400)], rank=1),
        a_digest(steps=[Step(7, 8)], rank=2),
    ]

    rows = _ranks(job_of_parts(digests, clocks=[REFERENCE, clock, UNKNOWN_CLOCK]))

    assert [(row["first_ns"], row["last_ns"]) for row in rows] == [(50, 250), (0, 350), (None,) * 2]


def test_who_waits_and_who_is_waited_for() -> None:
    job = a_timed_job([[(0, 100), (200, 300)], [(40, 100), (210, 300)], [(90, 100), (205, 300)]])

    rows = _ranks(job)

    assert [row["waited_ns"] for row in rows] == [90 + 10, 50 + 0, 0 + 5]
    assert [row["last_count"] for row in rows] == [0, 1, 1]
    assert [row["timed_count"] for row in rows] == [2, 2, 2]


def test_waiting_that_compute_hides_is_told_apart() -> None:
    exchange = Collective(0, 0, exposed_ns=25)
    job = a_timed_job([[(0, 100), (200, 300)], [(40, 100), (210, 300)]], collective=exchange)

    rows = _ranks(job)

    assert [row["waited_ns"] for row in rows] == [40 + 10, 0]
    assert [row["exposed_wait_ns"] for row in rows] == [25 + 10, 0]


def test_the_delay_of_a_rank_is_the_excess_of_its_own_parts() -> None:
    parts = (
        PathPart(PathKind.LOCAL, 1, 0, 0, 0, 150, 100),
        PathPart(PathKind.TRANSFER, 1, 0, 0, 150, 200, 20),
        PathPart(PathKind.LOCAL, 0, 0, 1, 200, 290, 100),
    )
    report = StragglerReport(Verdict.NOBODY, "", (), (StepAccount(0, 290, 220, parts),))
    job = a_timed_job([[(0, 100)], [(40, 100)]])

    rows = rank_rows(measured(job, report))

    assert [row.delay_ns for row in rows] == [-10, 50]


def test_a_rank_without_ops_has_no_shares() -> None:
    digest = replace(a_digest(rank=0), op_count=0)

    [row] = _ranks(job_of_parts([digest]))

    assert (row["busy_percent"], row["exposed_percent"], row["first_ns"]) == (None, None, None)
    assert (row["op_count"], row["median_step_ns"]) == (0, None)


def test_what_made_room_is_told_apart_from_what_was_lost() -> None:
    digest = replace(a_digest(rank=0), lost_ops=3, older_ops=4_000)

    [row] = _ranks(job_of_parts([digest]))

    assert (row["lost_count"], row["older_count"]) == (3, 4_000)


def test_bad_files_come_first_and_say_why() -> None:
    files = [
        FileState("b", 1, "", 7),
        FileState("z", None, "half written", 0),
        FileState("a", 0, "", 9),
        FileState("rank 3", 3, "no file was given", 0),
    ]

    table = files_table(files)

    assert table.column("path") == ["rank 3", "z", "a", "b"]
    assert table.column("state") == ["left out", "left out", "read", "read"]
    assert table.column("problem") == ["no file was given", "half written", None, None]
    assert table.column("op_count") == [0, 0, 9, 7]


def test_clocks_that_cannot_be_compared_come_first() -> None:
    clocks = [
        REFERENCE,
        certified(-5, 20),
        UNKNOWN_CLOCK,
        RankClock(ClockState.CONTRADICTED, low_ns=10, high_ns=-10, reason="it jumped"),
        certified(-100, 100),
    ]
    job = job_of_parts([a_digest(rank=rank) for rank in range(5)], clocks=clocks)

    table = clocks_table(job)

    assert table.column("rank") == [3, 2, 4, 1, 0]
    assert table.column("width_ns") == [-20, None, 200, 25, None]
    assert table.column("offset_ns") == [None, None, 0, 0, 0]
    assert table.column("reason")[:2] == ["it jumped", "nothing ties it to the others"]


def test_groups_and_what_does_not_match_in_them() -> None:
    mismatch = Mismatch("missing", 0, (1,), 3, "rank 1 lacks 3")
    stray = Mismatch("order", -1, (), 9, "no group")
    job = a_timed_job(
        [[(0, 100)], [(40, 100)]], group_size=4, description="dp", mismatches=[mismatch, stray]
    )

    [group] = groups_table(measured(job)).records()
    rows = mismatches_table(measured(job)).records()

    assert (group["group"], group["ranks"], group["wait_ns"]) == ("world (dp)", "0-1", 40)
    assert (group["member_count"], group["group_size"], group["timed_count"]) == (2, 4, 1)
    assert group["mismatch_count"] == 1
    assert [(row["kind"], row["group"], row["ranks"]) for row in rows] == [
        ("order", "", None),
        ("missing", "world (dp)", "1"),
    ]


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ([], ""),
        ([3], "3"),
        ([2, 1, 0, 5, 1], "0-2, 5"),
        (range(0, 14, 2), "0, 2, 4, 6, 8, 10, 12"),
        (range(0, 20, 2), "0, 2, 4, 6, 8, 10, ... (10 in all)"),
    ],
)
def test_numbers_are_put_together(numbers: list[int], expected: str) -> None:
    assert numbers_text(numbers) == expected
