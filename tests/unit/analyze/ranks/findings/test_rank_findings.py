"""Tests of findings about jobs: when they are told, and when they are not."""

from __future__ import annotations

import shlex
from dataclasses import replace

import numpy as np
import pytest

from tests.unit.analyze.ranks.digest_builder import Collective, Step, a_digest
from tests.unit.analyze.ranks.timed_jobs import (
    NO_REPORT,
    REFERENCE,
    UNKNOWN_CLOCK,
    a_timed_job,
    job_of_parts,
    measured,
)
from wavescope.analyze.ranks.digest import CollectiveUse, TimeBins
from wavescope.analyze.ranks.findings import RankContext, rank_findings, view_command
from wavescope.analyze.ranks.job import (
    ClockState,
    Job,
    MatchedBy,
    MatchedGroup,
    Mismatch,
    RankClock,
)
from wavescope.analyze.ranks.measures import FileState, job_rows
from wavescope.analyze.ranks.stragglers import (
    Cause,
    Culprit,
    CulpritKind,
    PathKind,
    PathPart,
    StepAccount,
    StragglerReport,
    Verdict,
)
from wavescope.model.result import Finding, Severity

_NOBODY = StragglerReport(Verdict.NOBODY, "")


def _found(
    job: Job, report: StragglerReport = _NOBODY, files: tuple[FileState, ...] = ()
) -> dict[str, Finding]:
    measures = measured(job, report)
    findings = rank_findings(RankContext(measures, job_rows(measures), files))
    return {finding.id: finding for finding in findings}


def _bins(exposed: int) -> TimeBins:
    values = (100, 100 - exposed, exposed, exposed)
    return TimeBins(0, 100, *(np.array([value], np.int64) for value in values))


def _quiet(rank_count: int = 2) -> Job:
    """Ranks that wait for nobody and expose little."""
    job = a_timed_job([[(90, 100)]] * rank_count)  # type: ignore[list-item]
    ranks = tuple(
        replace(rank, bins=_bins(5), first_ns=0, last_ns=100, op_count=5) for rank in job.ranks
    )
    return replace(job, ranks=ranks)


def test_nothing_is_told_of_a_job_without_trouble() -> None:
    assert _found(_quiet()) == {}


def _culprit(**changes: object) -> Culprit:
    culprit = Culprit(
        CulpritKind.RANK,
        (1,),
        "rank 1",
        Cause.SLOWER_COMPUTE,
        "backward",
        5_000,
        12.0,
        7,
        "always",
        "gemm takes 12 % longer",
        {"clock_mhz": 1500.0},
    )
    return replace(culprit, **changes)  # type: ignore[arg-type]


def _accused(culprit: Culprit) -> StragglerReport:
    parts = (
        PathPart(PathKind.LOCAL, 0, 0, 0, 0, 10_000_000, 9_900_000),
        PathPart(PathKind.LOCAL, 1, 0, 1, 10_000_000, 30_000_000, 20_000_000),
        PathPart(PathKind.LOCAL, 1, 0, 2, 40_000_000, 80_000_000, 20_000_000),
    )
    account = StepAccount(0, 70_000_000, 49_900_000, parts)
    return StragglerReport(Verdict.CULPRIT, "", (culprit,), (account,))


def test_a_culprit_is_told_with_cause_gain_and_the_moment_to_open() -> None:
    job = replace(
        _quiet(), clocks=(REFERENCE, RankClock(ClockState.ALIGNED, offset_ns=-1_000_000_000))
    )

    finding = _found(job, _accused(_culprit()))["straggler"]

    assert finding.severity is Severity.PROBLEM
    assert finding.title == "rank 1 computes slower in backward: 12.0 % of the job's time"
    assert "gemm takes 12 % longer" in finding.evidence
    assert finding.evidence.endswith("5.000 us of delay, always")
    assert (finding.where, finding.gain_percent) == ("rank 1", 12.0)
    # The longest delay, in the rank's own time, with a quarter around it.
    command = "wavescope view rank1.json --start=1030000000 --end=1090000000"
    assert finding.suggestion.endswith(f"`{command}`")
    assert finding.numbers["cause"] == "slower_compute"
    assert finding.numbers["clock_mhz"] == 1500.0
    assert finding.numbers["ranks"] == "1"


def test_a_small_share_is_a_warning() -> None:
    found = _found(_quiet(), _accused(_culprit(share_percent=3.0)))

    assert found["straggler"].severity is Severity.WARNING


def test_a_slow_link_has_an_id_of_its_own() -> None:
    link = _culprit(kind=CulpritKind.LINK, places=(0, 1), name="a - b", cause=Cause.SLOW_LINK)

    found = _found(_quiet(), _accused(link))

    assert "straggler" not in found
    assert found["slow-link"].title.startswith("a - b has a slow link")


def test_rotating_ranks_are_told_as_such() -> None:
    rotating = _culprit(kind=CulpritKind.ROTATING, places=(0, 1), name="", phase="")

    finding = _found(_quiet(), _accused(rotating))["straggler"]

    assert finding.title.startswith("late ranks change from step to step")


@pytest.mark.parametrize("cause", Cause)
def test_every_cause_has_words_and_a_next_step(cause: Cause) -> None:
    found = _found(_quiet(), _accused(_culprit(cause=cause)))

    [finding] = found.values()
    assert finding.suggestion


def test_inconclusive_says_why() -> None:
    finding = _found(_quiet(), NO_REPORT)["inconclusive"]

    assert (finding.severity, finding.evidence) == (Severity.INFO, "not asked")


def test_collectives_that_do_not_match_are_told_once() -> None:
    mismatches = [
        Mismatch("size", 0, (1,), number, f"sentence {number}.") for number in range(1, 6)
    ]
    job = replace(_quiet(), mismatches=tuple(mismatches))

    finding = _found(job)["collective-mismatch"]

    assert finding.severity is Severity.PROBLEM
    assert finding.title == "15 collectives of 1 rank differ from the other ranks'"
    assert finding.evidence == (
        "sentence 5; sentence 4; sentence 3; and 2 more, see table `mismatches`"
    )
    assert finding.numbers["mismatch_count"] == 5


def test_what_could_not_be_matched_is_no_fault_of_the_program() -> None:
    mismatch = Mismatch("order", 0, (0, 1), 4, "nothing tells the order.")

    finding = _found(replace(_quiet(), mismatches=(mismatch,)))["collective-mismatch"]

    assert finding.severity is Severity.INFO
    assert finding.title == "4 collectives of 2 ranks could not be matched for certain"


def test_what_lies_outside_of_a_recording_is_no_mismatch() -> None:
    late = [[(0, 10), (20, 30), (40, 50)], [None, (20, 30), (40, 50)]]
    hole = [[(0, 10), (20, 30), (40, 50)], [(0, 10), None, (40, 50)]]
    mismatches = [Mismatch("missing", 0, (1,), 1, "rank 1 lacks one")]

    assert "collective-mismatch" not in _found(a_timed_job(late, mismatches=mismatches))  # type: ignore[arg-type]
    found = _found(a_timed_job(hole, mismatches=mismatches))["collective-mismatch"]  # type: ignore[arg-type]
    assert (found.severity, found.where) == (Severity.WARNING, "rank 1 (host0)")


def test_of_what_a_rank_lacks_only_holes_are_counted() -> None:
    whole = [(20 * place, 20 * place + 10) for place in range(6)]
    times = [whole, [None, whole[1], None, None, whole[4], None]]
    mismatches = [Mismatch("missing", 0, (1,), 4, "rank 1 lacks 4")]

    found = _found(a_timed_job(times, mismatches=mismatches))["collective-mismatch"]  # type: ignore[arg-type]

    assert found.title == "2 collectives of 1 rank differ from the other ranks'"


def test_clocks_that_cannot_be_compared_are_told_with_the_reason() -> None:
    job = replace(_quiet(3), clocks=(REFERENCE, UNKNOWN_CLOCK, UNKNOWN_CLOCK))

    finding = _found(job)["clocks-not-comparable"]

    assert finding.title == "the clocks of 2 of 3 ranks cannot be compared"
    assert finding.evidence == "ranks 1-2: nothing ties it to the others"


def test_ranks_that_were_not_given_are_listed() -> None:
    digests = [a_digest(rank=rank, world_size=8) for rank in (0, 2, 7)]
    job = job_of_parts(digests, numbers=[0, 2, 7])

    finding = _found(job)["ranks-missing"]

    assert finding.title == "5 of 8 ranks are missing"
    assert finding.evidence == "traces of 3 of 8 ranks were given; missing: 1, 3-6"


def test_a_huge_world_is_counted_and_not_listed() -> None:
    job = job_of_parts([a_digest(rank=0, world_size=1 << 40)])

    finding = _found(job)["ranks-missing"]

    assert finding.numbers["missing_count"] == (1 << 40) - 1
    assert finding.evidence.endswith("missing")


def test_absent_members_of_a_group_are_missing_ranks() -> None:
    mismatch = Mismatch("absent", 0, (), 5, "ranks 8 and 9 of group world were not given.")

    finding = _found(replace(_quiet(), mismatches=(mismatch,)))["ranks-missing"]

    assert finding.evidence == "ranks 8 and 9 of group world were not given"


def test_files_that_could_not_be_used_are_named() -> None:
    files = tuple(FileState(f"file{number}", None, "half written") for number in range(5))

    finding = _found(_quiet(), files=(*files, FileState("good", 0)))["files-unreadable"]

    assert finding.title == "5 of 6 files could not be used"
    assert finding.evidence.startswith("file0: half written; file1")
    assert finding.evidence.endswith("and 2 more, see table `files`")


def test_files_that_were_read_in_part_are_named() -> None:
    files = (
        FileState("a", 0, notes=("ops (of 9) have no launch record: 3",)),
        FileState("b", 1, notes=("ops (of 9) have no launch record: 3", "the end is cut off")),
    )

    finding = _found(_quiet(), files=files)["files-repaired"]

    assert finding.title == "1 of 2 files was read in part, or repaired"
    assert finding.evidence == "b: ops (of 9) have no launch record: 3, the end is cut off"
    assert "files-repaired" not in _found(_quiet(), files=files[:1])


def test_a_rank_of_several_files_is_opened_where_the_moment_is() -> None:
    job = _quiet()
    later = ((5_000_000, "second.db"), (9_000_000, "third.db"))
    job = replace(job, ranks=(replace(job.ranks[0], later_files=later), *job.ranks[1:]))
    measures = measured(job)
    context = RankContext(measures, job_rows(measures), ())

    def opened(start_ns: int, end_ns: int) -> str:
        return shlex.split(context.view_command(0, start_ns, end_ns))[2]

    assert opened(0, 9_000_000) == job.ranks[0].path
    assert opened(4_000_000, 6_000_000) == "second.db"
    assert opened(8_500_000, 20_000_000) == "third.db"


@pytest.mark.parametrize(
    ("exposed", "severity"),
    [(14, None), (15, Severity.WARNING), (39, Severity.WARNING), (40, Severity.PROBLEM)],
)
def test_exposed_communication_is_told_by_the_median_rank(
    exposed: int, severity: Severity | None
) -> None:
    job = _quiet(3)
    shares = (0, exposed, 90)
    ranks = tuple(
        replace(rank, bins=_bins(share)) for rank, share in zip(job.ranks, shares, strict=True)
    )

    finding = _found(replace(job, ranks=ranks)).get("exposed-communication")

    assert (finding.severity if finding else None) is severity
    if finding is not None:
        assert finding.numbers["exposed_percent"] == exposed
        assert finding.numbers["rank"] == 2


def test_waiting_for_late_ranks_is_arrival_skew() -> None:
    job = a_timed_job([[(0, 100)], [(20, 100)], [(80, 100)]])
    ranks = tuple(replace(rank, first_ns=0, last_ns=100) for rank in job.ranks)

    finding = _found(replace(job, ranks=ranks))["arrival-skew"]

    assert finding.severity is Severity.PROBLEM
    assert (
        finding.title
        == f"ranks stand still {100 * 140 / 300:.1f} % of their time until others arrive"
    )
    assert "rank 2 (host1) came last in 1 of 1" in finding.evidence
    assert "rank 0 (host0) waited longest, 80 ns" in finding.evidence
    assert finding.numbers["last_rank"] == 2


def test_little_waiting_is_not_told() -> None:
    job = a_timed_job([[(0, 100)], [(4, 100)]])
    ranks = tuple(replace(rank, first_ns=0, last_ns=100) for rank in job.ranks)

    assert "arrival-skew" not in _found(replace(job, ranks=ranks))


def _with_experts(values: list[list[int]]) -> Job:
    digests = [
        a_digest(
            steps=[
                Step(1_000_000 * step, 1_000_000 * step + 900_000, moe_ns=value)
                for step, value in enumerate(own)
            ],
            rank=rank,
            bins=_bins(0),
        )
        for rank, own in enumerate(values)
    ]
    return job_of_parts(digests)


def test_experts_whose_busiest_rank_changes_ask_for_the_router() -> None:
    finding = _found(_with_experts([[40, 10, 10], [10, 40, 10], [10, 10, 40]]))["expert-imbalance"]

    assert finding.title == "experts are uneven: the busiest rank has 2.00 times the mean"
    assert finding.where == ""
    assert finding.suggestion.startswith("the rank changes from step to step")


def test_the_same_busy_rank_is_placed_elsewhere() -> None:
    finding = _found(_with_experts([[40, 30, 50], [10, 10, 10]]))["expert-imbalance"]

    assert finding.title == "experts are uneven: the busiest rank has 1.60 times the mean"
    assert finding.where == "rank 0"
    assert finding.suggestion.startswith("the same rank has most")
    assert "wavescope view rank0.json --start=1775000 --end=3125000" in finding.suggestion
    assert finding.numbers["lost_ns"] == 15


def test_even_experts_and_too_few_steps_are_not_told() -> None:
    assert "expert-imbalance" not in _found(_with_experts([[11, 11, 11], [10, 10, 10]]))
    assert "expert-imbalance" not in _found(_with_experts([[40, 40], [10, 10]]))


def _piped(compute: tuple[int, int]) -> Job:
    digests = [
        a_digest(
            [Collective(10, 20, "send/recv", step=0)],
            [Step(0, 100, compute_ns=value, exposed_ns=0)],
            rank=rank,
            bins=_bins(0),
        )
        for rank, value in enumerate(compute)
    ]
    group = MatchedGroup(
        "p",
        "",
        np.arange(2, dtype=np.int32),
        2,
        (CollectiveUse("send/recv"),),
        np.zeros(1, np.int32),
        np.zeros((2, 1), np.int32),
        MatchedBy.ORDER,
        1.0,
    )
    return job_of_parts(digests, [group])


def test_bubbles_of_even_stages_ask_for_more_micro_batches() -> None:
    finding = _found(_piped((70, 70)))["pipeline-bubbles"]

    assert finding.title == "pipeline stages stand idle 30.0 % of each step"
    assert finding.suggestion.startswith("stages are even")


def test_bubbles_of_uneven_stages_name_the_slowest() -> None:
    finding = _found(_piped((40, 90)))["pipeline-bubbles"]

    assert finding.suggestion.startswith("move layers away")
    assert finding.numbers["slowest_stage"] == 1


def test_few_bubbles_are_not_told() -> None:
    assert "pipeline-bubbles" not in _found(_piped((85, 85)))


def test_outliers_are_told_by_rank() -> None:
    digests = [
        a_digest(
            steps=[
                Step(
                    0,
                    1_000_000,
                    compute_ns=900_000 if rank == 2 else 500_000,
                    kernel_count=20 if rank == 2 else 10,
                )
            ],
            rank=rank,
            bins=_bins(0),
        )
        for rank in range(5)
    ]

    finding = _found(job_of_parts(digests))["rank-outlier"]

    assert finding.title == "rank 2 differs from the other ranks"
    assert "compute per step 900.0 us against 500.0 us" in finding.evidence
    assert finding.numbers["metric_count"] == 2


@pytest.mark.parametrize(
    "path",
    [
        "rank 0.json",
        "a; rm -rf ~",
        "$(id).db",
        "`id`",
        "it's",
        "-rf",
        "a\nb",
        "--start=5",
        "\u202etxt",
    ],
)
def test_a_command_survives_any_path(path: str) -> None:
    words = shlex.split(view_command(path, -5, 10, 3))

    assert words[:2] == ["wavescope", "view"]
    assert words[2].removeprefix("./") == path
    assert not words[2].startswith("-")
    assert words[3:] == ["--start=-5", "--end=10", "--rank=3"]


def test_the_rank_is_named_where_one_file_holds_several() -> None:
    digests = [a_digest(steps=[Step(0, 100)], rank=rank, path="all.db") for rank in (0, 1)]
    measures = measured(job_of_parts(digests))

    context = RankContext(measures, job_rows(measures), ())

    assert context.view_step(1, 0) == "wavescope view all.db --start=-100000 --end=100100 --rank=1"
