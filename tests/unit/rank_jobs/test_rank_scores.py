"""What benchmarks/ranks counts as right: scores are evidence only if they can be bad."""

from __future__ import annotations

import importlib.util
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from tests.rank_jobs import Label, SimulatedJob, Topology, simulated
from tests.rank_jobs.cases import clean_cases, labelled_cases, spoiled_cases
from tests.rank_jobs.true_job import with_true_clocks
from wavescope.analyze.ranks.digest import DigestOptions, digests_of
from wavescope.analyze.ranks.job import Job, MatchedBy, MatchedGroup
from wavescope.analyze.ranks.stragglers import (
    Cause,
    Culprit,
    CulpritKind,
    StragglerReport,
    Verdict,
)
from wavescope.formats import open_source
from wavescope.model.trace import Trace

FOLDER = Path(__file__).resolve().parents[3] / "benchmarks" / "ranks"


def loaded(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(sys, "path", [*sys.path])
    specification = importlib.util.spec_from_file_location(f"ranks_{name}", FOLDER / f"{name}.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    # Dataclasses look their module up.
    monkeypatch.setitem(sys.modules, f"ranks_{name}", module)
    specification.loader.exec_module(module)
    return module


@pytest.fixture
def score(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return loaded("score", monkeypatch)


def a_culprit(
    *places: int, kind: CulpritKind = CulpritKind.RANK, cause: Cause = Cause.SLOWER_COMPUTE
) -> Culprit:
    return Culprit(kind, places, "", cause, "", 1, 1.0, 1, "", "")


LATE_RANK = Label("rank", (14,), "slower_compute")
LINK = Label("link", (14,), "slow_link")
ROTATING = Label("rotating", (11, 14, 17), "host_late")
SLOW_LINK = {"kind": CulpritKind.GROUP, "cause": Cause.SLOW_LINK}


@pytest.mark.parametrize(
    ("label", "culprits", "expected"),
    [
        (LATE_RANK, [a_culprit(4)], "right"),
        (LATE_RANK, [a_culprit(5)], "somebody else"),
        (LATE_RANK, [a_culprit(4, 5)], "somebody else"),
        (LATE_RANK, [a_culprit(4), a_culprit(5)], "and others"),
        (LATE_RANK, [a_culprit(5), a_culprit(4)], "somebody else"),
        (LATE_RANK, [], "nobody"),
        (Label(), [], "right"),
        (Label(), [a_culprit(4)], "somebody else"),
        (LINK, [a_culprit(3, 4, 5, **SLOW_LINK)], "right"),
        (LINK, [a_culprit(3, 5, **SLOW_LINK)], "somebody else"),
        (LINK, [a_culprit(4)], "somebody else"),
        (ROTATING, [a_culprit(1, 4, kind=CulpritKind.ROTATING)], "right"),
        (ROTATING, [a_culprit(1, 5, kind=CulpritKind.ROTATING)], "somebody else"),
        (ROTATING, [a_culprit(1, 4, kind=CulpritKind.ROTATING), a_culprit(7)], "right"),
        (ROTATING, [a_culprit(1)], "somebody else"),
    ],
)
def test_who_is_right(
    score: ModuleType, label: Label, culprits: list[Culprit], expected: str
) -> None:
    verdict = Verdict.CULPRIT if culprits else Verdict.NOBODY
    report = StragglerReport(verdict, "", tuple(culprits))

    # Places 0 to 8 are the ranks 10 to 18.
    assert score.outcome_of(report, label, range(10, 19)) == expected


def test_saying_nothing_of_a_clean_job_is_right_only_if_it_was_looked_at(score: ModuleType) -> None:
    unsure = StragglerReport(Verdict.INCONCLUSIVE, "")

    assert score.outcome_of(unsure, Label(), range(4)) == "unsure"


def a_true_job(simulated_job: SimulatedJob, rows: list[list[int]]) -> Job:
    """The job with one group of these rows."""
    group = MatchedGroup(
        "0",
        "",
        np.arange(len(rows), dtype=np.int32),
        len(rows),
        (),
        np.zeros(len(rows[0]), np.int32),
        np.array(rows, np.int32),
        MatchedBy.ORDER,
        1.0,
    )
    job = Job(
        simulated_job.digests(),
        simulated_job.numbers,
        (group,),
        (),
        (),
        np.zeros((len(rows), 0), np.int32),
    )
    return with_true_clocks(job, simulated_job.truth)


def test_wrongly_matched_exchanges_are_counted(score: ModuleType) -> None:
    made = simulated(Topology.DDP, seed=1, ranks=2, steps=3, recording_spread=0.0)

    right = a_true_job(made, [[0, 1, 2, 3], [0, 1, 2, 3]])
    shifted = a_true_job(made, [[0, 1, 2, 3], [1, -1, 2, 4]])

    assert score.matched_exchanges(made, right) == (4, 0)
    assert score.matched_exchanges(made, shifted) == (3, 2)


def test_clock_errors_are_those_of_the_clocks(score: ModuleType) -> None:
    made = simulated(Topology.DDP, seed=1, ranks=3, steps=3)
    job = a_true_job(made, [[0], [0], [0]])
    last = job.clocks[2]
    off = replace(job, clocks=(*job.clocks[:2], replace(last, offset_ns=last.offset_ns + 5_000)))
    known = replace(job, clocks=tuple(replace(each, low_ns=None) for each in job.clocks))

    errors, missed, uncompared = score.clock_errors(made, off)

    assert errors == pytest.approx((0, 5_000), abs=2)
    assert uncompared == 0
    # Certain to the nanosecond, which rounding does not keep, is not asked for here.
    assert missed <= 2
    assert score.clock_errors(made, known)[1] == 0


def test_cases_are_the_same_for_the_same_seed_and_cover_everything() -> None:
    cases = list(labelled_cases(1, 3))

    assert cases == list(labelled_cases(1, 3))
    assert {case.seed for case in cases}.isdisjoint(case.seed for case in labelled_cases(1, 4))
    assert {case.topology for case in cases} == set(Topology)
    kinds = {case.faults[0].kind for case in cases}
    assert len(kinds) == 7
    assert all(not case.faults for case in clean_cases(12, 3))
    assert {case.topology for case in clean_cases(12, 3)} == set(Topology)
    assert len({case.faults[1].kind for case in spoiled_cases(1, 3)}) == 5


def test_large_files_are_of_one_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = loaded("large_files", monkeypatch)
    shape = files.Shape(2, ops=6_000, has_calls=True)
    ends = files.exchange_ends(shape, 2)

    digests = []
    for rank in range(2):
        path = tmp_path / f"rank_{rank}.db"
        files.write_rank(path, shape, rank, ends)
        with closing(open_source(path)) as source:
            (digest,) = digests_of(Trace(source), DigestOptions())
        digests.append(digest)

    true_starts, true_ends = (
        [
            files.clock_of(shape, rank).true(getattr(digest.collectives, name))
            for rank, digest in enumerate(digests)
        ]
        for name in ("start_ns", "end_ns")
    )
    assert [digest.op_count for digest in digests] == [6_000, 6_000]
    assert [len(digest.steps) for digest in digests] == [3, 3]
    assert [len(digest.collectives) for digest in digests] == [60, 60]
    assert np.abs(true_ends[0] - true_ends[1]).max() <= 3_002
    assert (np.minimum(*true_ends) > np.maximum(*true_starts)).all()
    assert digests[0].uses[-1].operation == "all-reduce"
    assert digests[0].groups[0].size == 2
