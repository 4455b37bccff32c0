"""Tests of the whole result of a job: its tables, facts and headline, and jobs with little in them."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.analyze.ranks.digest_builder import Collective, Step, a_digest, a_job
from tests.unit.analyze.ranks.timed_jobs import (
    NO_REPORT,
    REFERENCE,
    UNKNOWN_CLOCK,
    a_timed_job,
    certified,
    job_of_parts,
)
from wavescope.analyze.ranks.job import Job
from wavescope.analyze.ranks.joining import job_of
from wavescope.analyze.ranks.result import FileState, RanksOptions, ranks_result
from wavescope.analyze.ranks.stragglers import (
    Cause,
    Culprit,
    CulpritKind,
    StragglerReport,
    Verdict,
)
from wavescope.model.result import Result

_TABLES = [
    "stragglers",
    "delays",
    "ranks",
    "outliers",
    "steps",
    "collectives",
    "collectives_by_step",
    "mismatches",
    "clocks",
    "groups",
    "files",
]


def _names(result: Result) -> list[str]:
    return [table.name for table in result.tables]


def _built(**changes: object) -> Job:
    built = a_job(**changes)  # type: ignore[arg-type]
    return job_of(built.digests, built.numbers)


def test_a_job_has_all_tables_and_facts() -> None:
    files = [FileState("a", 0, "", 10), FileState("b", None, "half written", 0)]

    result = ranks_result(_built(rank_count=4, step_count=3), files)

    assert _names(result) == _TABLES
    facts = result.facts
    assert (facts["rank_count"], facts["host_count"], facts["group_count"]) == (4, 1, 1)
    assert (facts["exchange_count"], facts["step_count"]) == (6, 3)
    assert facts["unreadable_file_count"] == 1
    assert result.table("ranks").column("rank") == [0, 1, 2, 3]
    assert [finding.id for finding in result.findings if finding.id == "files-unreadable"]


def test_the_result_is_plain_json() -> None:
    result = ranks_result(_built(rank_count=3, step_count=4), [FileState("a", 0)])

    text = json.dumps(result.to_json(), allow_nan=False)

    assert json.loads(text)["title"] == "Ranks"


def test_every_column_is_named_once_and_explained() -> None:
    result = ranks_result(_built(rank_count=2), base=_built(rank_count=2))

    for table in result.tables:
        names = [column.name for column in table.columns]
        assert len(names) == len(set(names)), table.name
        assert all(column.title and column.meaning for column in table.columns), table.name


def test_the_headline_names_the_worst_culprit() -> None:
    job = a_timed_job([[(0, 100)], [(40, 100)]])
    culprits = tuple(
        Culprit(CulpritKind.RANK, (place,), name, cause, "", delay, share, 4, "always", "")
        for place, name, cause, delay, share in (
            (0, "rank 0", Cause.UNKNOWN, 5, 1.0),
            (1, "rank 1", Cause.SLOWER_COMPUTE, 50, 12.5),
        )
    )
    report = StragglerReport(Verdict.CULPRIT, "", culprits)

    facts = ranks_result(job, report=report).facts

    assert facts["verdict"] == "culprit"
    assert facts["headline"] == "2 ranks: rank 1 holds the others up, 12.5 % (slower compute)"


def test_the_headline_says_that_nobody_is_late() -> None:
    job = a_timed_job([[(0, 100)], [(40, 100)]], steps=[[Step(0, 1_000)]] * 2)

    facts = ranks_result(job, report=StragglerReport(Verdict.NOBODY, "")).facts

    assert facts["headline"] == (
        "2 ranks, 1 step of 1.000 us (median): no rank makes the others wait more than is natural"
    )
    assert (facts["step_median_ns"], facts["step_p5_ns"], facts["step_p95_ns"]) == (1_000,) * 3


def _no_ops() -> Job:
    return job_of_parts([replace(a_digest(rank=rank), op_count=0) for rank in range(5)])


def _alone() -> Job:
    return job_of_parts([a_digest([Collective(0, 10, step=0)], [Step(0, 20)])])


def _no_collectives() -> Job:
    return job_of_parts(
        [a_digest(steps=[Step(0, 100), Step(100, 200)], rank=rank) for rank in range(5)]
    )


def _no_steps() -> Job:
    return a_timed_job([[(0, 100), (200, 300)], [(40, 100), (210, 300)]])


def _no_clocks() -> Job:
    times = [[(9_000 * rank, 9_000 * rank + 100)] for rank in range(5)]
    steps = [[Step(9_000 * rank, 9_000 * rank + 150)] for rank in range(5)]
    return a_timed_job(times, clocks=[UNKNOWN_CLOCK] * 5, steps=steps)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "job",
    [
        pytest.param(job_of_parts([]), id="no ranks"),
        pytest.param(_no_ops(), id="no ops"),
        pytest.param(_alone(), id="a single rank"),
        pytest.param(_no_collectives(), id="no collectives"),
        pytest.param(_no_steps(), id="no steps"),
        pytest.param(_no_clocks(), id="no comparable clocks"),
    ],
)
def test_little_is_told_of_a_job_with_little_in_it(job: Job) -> None:
    result = ranks_result(job, base=_built(rank_count=2))
    other = ranks_result(_built(rank_count=2), base=job)

    json.dumps([result.to_json(), other.to_json()], allow_nan=False)
    assert result.facts["verdict"] != "culprit"
    assert not [finding for finding in result.findings if finding.id in ("straggler", "slow-link")]
    assert len(result.table("ranks").rows) == len(job)


def test_a_single_rank_has_nothing_to_compare_with() -> None:
    result = ranks_result(_alone())

    assert str(result.facts["headline"]).endswith("nothing to compare with")
    assert [
        finding.id for finding in result.findings if finding.id == "clocks-not-comparable"
    ] == []


def test_without_clocks_no_waiting_is_told() -> None:
    result = ranks_result(_no_clocks())

    assert result.facts["timed_exchange_count"] == 0
    assert result.table("ranks").column("waited_ns") == [None] * 5
    assert result.table("ranks").column("first_ns") == [None] * 5
    assert result.table("steps").column("actual_ns") == [None]
    assert result.facts["step_median_ns"] == 150
    ids = [finding.id for finding in result.findings]
    assert "arrival-skew" not in ids
    assert "clocks-not-comparable" in ids


def test_rows_by_step_are_limited() -> None:
    result = ranks_result(_built(rank_count=2, step_count=5), options=RanksOptions(most_rows=3))

    table = result.table("collectives_by_step")
    assert (len(table.rows), table.total_rows) == (3, 10)


def test_stages_and_experts_are_tables_only_where_they_are_visible() -> None:
    digests = [
        a_digest(steps=[Step(0, 100, moe_ns=10 + rank)], rank=rank, path=f"{rank}")
        for rank in (0, 1)
    ]

    assert "experts" in _names(ranks_result(job_of_parts(digests)))


def test_a_base_run_is_compared_first() -> None:
    result = ranks_result(
        _built(rank_count=2), base=_built(rank_count=4), options=RanksOptions(base_name="monday")
    )

    assert _names(result)[0] == "compared"
    assert result.table("compared").title == "Compared with monday"
    assert result.facts["base_rank_count"] == 4
    assert "2 ranks, 4 in monday" in str(result.facts["compared"])
    assert result.findings[0].id == "ranks-differ"


_ANY = st.integers(-(1 << 61), 1 << 61)
_STEPS = st.tuples(
    st.integers(-1000, 1000), st.integers(-1000, 1000), st.lists(_ANY, min_size=7, max_size=7)
).map(
    lambda drawn: Step(
        drawn[0],
        drawn[1],
        label=drawn[2][0],
        compute_ns=drawn[2][1],
        exposed_ns=drawn[2][2],
        host_late_ns=drawn[2][3],
        moe_ns=drawn[2][4],
        kernel_count=drawn[2][5],
        work_items=drawn[2][6],
    )
)
_EXCHANGES = st.tuples(
    st.sampled_from(["all-reduce", "all-to-all", "send/recv", "barrier", "", "\x1b[31m"]),
    st.sampled_from([-1, 0, 1, 1 << 20, 1 << 62]),
    st.integers(-1, 0),
    st.sampled_from([0.0, 1.5]),
).map(lambda drawn: Collective(0, 0, drawn[0], drawn[1], step=drawn[2], bus_factor=drawn[3]))
_CELLS = st.one_of(st.none(), st.tuples(st.integers(-500, 500), st.integers(-500, 1 << 40)))


@st.composite
def _hostile_jobs(draw: st.DrawFn) -> Job:
    ranks, exchanges = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    clocks = st.sampled_from([REFERENCE, UNKNOWN_CLOCK, certified(-50, 50), certified(9, -9)])
    return a_timed_job(
        [[draw(_CELLS) for _ in range(exchanges)] for _ in range(ranks)],
        exchanges=[draw(_EXCHANGES) for _ in range(exchanges)],
        steps=[[draw(_STEPS)] for _ in range(ranks)],
        clocks=[draw(clocks) for _ in range(ranks)],
        group_size=draw(st.sampled_from([ranks, ranks + 3])),
        name=draw(st.sampled_from(["", "x", "\x00", "pipeline"])),
        description=draw(st.sampled_from(["", "pp", "<script>"])),
    )


@given(job=_hostile_jobs())
@settings(max_examples=60)
def test_nothing_in_a_job_makes_a_result_fail(job: Job) -> None:
    result = ranks_result(job, report=NO_REPORT)

    json.dumps(result.to_json(), allow_nan=False)
    assert len(result.table("ranks").rows) == len(job)
