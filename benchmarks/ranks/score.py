"""Verdicts of `wavescope ranks` against simulated jobs whose culprits are known.

    python benchmarks/ranks/score.py                        # 3 jobs of each fault, 240 clean ones
    python benchmarks/ranks/score.py --failed               # and each job that is not right
    python benchmarks/ranks/score.py --only 'TENSOR late'   # those whose title matches
    python benchmarks/ranks/score.py --repeats 10 --seed 77 --workers 8

Jobs are those of tests/rank_jobs/cases.py: the same seed gives the same jobs. A culprit is right when
everybody who is named has the fault, and everybody who has it is named (of rotating ones several, of
a link its group at least). What a fault costs is known from the same job without it; faults that cost
less than 1 % of the time are summed up by themselves, where saying nothing is right as well. Clocks
are compared with the simulated ones at the beginning, in the middle and at the end of each rank's
trace, against the first comparable rank; clocks that jump are left out.
"""

from __future__ import annotations

import argparse
import itertools
import re
import sys
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import numpy as np

from tests.rank_jobs import Label, SimulatedJob
from tests.rank_jobs.cases import Case, clean_cases, labelled_cases, spoiled_cases
from tests.rank_jobs.true_job import with_true_clocks
from wavescope.analyze.ranks.job import MISSING, Job
from wavescope.analyze.ranks.joining import job_of
from wavescope.analyze.ranks.stragglers import Culprit, StragglerReport, Verdict, stragglers_of

LEAST_DELAY_PERCENT = 1.0
RIGHT, MORE, WRONG = "right", "and others", "somebody else"
INCONCLUSIVE, NOBODY, FAILED = "unsure", "nobody", "failed"
OUTCOMES = (RIGHT, MORE, WRONG, INCONCLUSIVE, NOBODY, FAILED)
"""`MORE`: the first of the named culprits is right, but there are others."""


class Score(NamedTuple):
    """What came of one job."""

    case: Case
    outcome: str
    is_cause_right: bool
    delay_percent: float
    told_percent: float
    """What the named culprits cost, as told."""
    clock_errors_ns: tuple[float, ...]
    missed_intervals: int
    uncompared_clocks: int
    is_noticed: bool
    """Whether what is wrong with a file is told: a mismatch, or a clock that is not compared."""
    matched: tuple[int, int] = (0, 0)
    """Exchanges with several members, and how many of them are really several exchanges."""
    words: str = ""


def main() -> None:
    options = _arguments()
    cases = [
        *labelled_cases(options.repeats, options.seed),
        *clean_cases(options.clean, options.seed),
        *spoiled_cases(options.spoiled, options.seed),
    ]
    if options.only:
        cases = [case for case in cases if re.search(options.only, case.title)]
    began = time.perf_counter()
    scores = _scores(cases, options.workers, options.true_clocks)
    spoiled = [score for score in scores if len(score.case.faults) > 1]
    labelled = [score for score in scores if len(score.case.faults) == 1]
    clean = [score for score in scores if not score.case.faults]
    counted = [each for each in labelled if each.delay_percent >= LEAST_DELAY_PERCENT]
    small = [each for each in labelled if each.delay_percent < LEAST_DELAY_PERCENT]
    _print_table("fault", counted, lambda score: score.case.name)
    _print_table("topology", counted, lambda score: score.case.topology.name)
    if small:
        print(f"faults that cost less than {LEAST_DELAY_PERCENT:g} % of the time")
        _print_table("fault", small, lambda score: score.case.name)
    _print_spoiled(spoiled)
    _print_clean(clean)
    _print_matching(scores)
    _print_clocks(scores)
    print(f"{len(scores)} jobs in {time.perf_counter() - began:.0f} s, seed {options.seed}")
    if options.failed:
        _print_failed(scores)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3, help="jobs of each fault and topology")
    parser.add_argument("--clean", type=int, default=240, help="jobs without a fault")
    parser.add_argument("--spoiled", type=int, default=1, help="jobs of each spoiled file")
    parser.add_argument("--only", default="", help="a regular expression for titles of jobs")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--true-clocks", action="store_true", help="as if all clocks were known")
    parser.add_argument("--failed", action="store_true", help="list the jobs that are not right")
    return parser.parse_args()


def _scores(cases: Sequence[Case], workers: int, true_clocks: bool) -> list[Score]:
    known = itertools.repeat(true_clocks)
    if workers <= 1:
        return [*map(score_of, cases, known)]
    with ProcessPoolExecutor(workers) as pool:
        return list(pool.map(score_of, cases, known, chunksize=4))


def score_of(case: Case, true_clocks: bool = False) -> Score:
    """What is said of one job, and whether it is right."""
    simulated = case.job()
    try:
        job = job_of(simulated.digests(), simulated.numbers)
        job = with_true_clocks(job, simulated.truth) if true_clocks else job
        report = stragglers_of(job)
    except Exception:  # noqa: BLE001  one job that fails is one row
        words = traceback.format_exc(limit=-2)
        return Score(
            case, FAILED, False, simulated.truth.delay_percent, 0.0, (), 0, 0, False, words=words
        )
    label = simulated.truth.label
    errors, missed, uncompared = clock_errors(simulated, job)
    return Score(
        case,
        outcome_of(report, label, job.numbers),
        any(culprit.cause.value == label.cause for culprit in report.culprits[:1]),
        simulated.truth.delay_percent,
        sum(culprit.share_percent for culprit in report.culprits),
        errors,
        missed,
        uncompared,
        is_noticed(simulated, job),
        matched_exchanges(simulated, job),
        _words(report, label, job.numbers),
    )


def outcome_of(report: StragglerReport, label: Label, numbers: Sequence[int]) -> str:
    """Whether the report names whom the label names."""
    if report.verdict is Verdict.INCONCLUSIVE:
        return INCONCLUSIVE
    if report.verdict is Verdict.NOBODY or not report.culprits:
        return RIGHT if label.kind == "nobody" else NOBODY
    if label.kind == "rotating":
        named = {numbers[place] for culprit in report.culprits for place in culprit.places}
        return RIGHT if len(named) > 1 and named <= set(label.ranks) else WRONG
    right = [_is_right(culprit, label, numbers) for culprit in report.culprits]
    return RIGHT if all(right) else MORE if right[0] else WRONG


def _is_right(culprit: Culprit, label: Label, numbers: Sequence[int]) -> bool:
    named = {numbers[place] for place in culprit.places}
    if label.kind == "nobody" or not named:
        return False
    if label.kind == "link":
        # All members of a group are slow together: who of them has the bad link is told by others.
        return culprit.cause.value == "slow_link" and (
            set(label.ranks) <= named or named <= set(label.ranks)
        )
    return named == set(label.ranks)


def clock_errors(simulated: SimulatedJob, job: Job) -> tuple[tuple[float, ...], int, int]:
    """Errors of each aligned rank in ns, how many intervals miss the truth, how many ranks have
    no comparable clock."""
    comparable = [place for place, clock in enumerate(job.clocks) if clock.is_comparable]
    if not comparable:
        return (), 0, len(job)
    reference = comparable[0]
    true_reference = simulated.truth.clocks[job.numbers[reference]]
    errors, missed = [], 0
    for place in comparable[1:]:
        clock, true = job.clocks[place], simulated.truth.clocks[job.numbers[place]]
        if true.jump_at_ns is not None or true_reference.jump_at_ns is not None:
            continue
        own = np.linspace(job.ranks[place].first_ns, job.ranks[place].last_ns, 3).astype(np.int64)
        right = job.clocks[reference].to_common(true_reference.own(true.true(own)))
        errors.append(float(np.abs(clock.to_common(own) - right).max()))
        if clock.low_ns is not None and clock.high_ns is not None:
            origin = np.array([clock.origin_ns])
            moment = true_reference.own(true.true(origin))
            offset_ns = int(job.clocks[reference].to_common(moment)[0]) - clock.origin_ns
            missed += not clock.low_ns <= offset_ns <= clock.high_ns
    return tuple(errors), missed, len(job) - len(comparable)


def matched_exchanges(simulated: SimulatedJob, job: Job) -> tuple[int, int]:
    """How many exchanges with several members were matched, and how many of these wrongly."""
    total = wrong = 0
    for group in job.groups:
        true = np.full(group.rows.shape, -1, np.int64)
        for member, place in enumerate(group.members.tolist()):
            rows = group.rows[member]
            exchange = simulated.truth.exchanges[job.numbers[place]].exchange
            true[member, rows != MISSING] = exchange[rows[rows != MISSING]]
        known = np.where(true < 0, true.max(axis=0), true)
        several = (true >= 0).sum(axis=0) > 1
        total += int(several.sum())
        wrong += int((several & (known != known.max(axis=0)).any(axis=0)).sum())
    return total, wrong


def is_noticed(simulated: SimulatedJob, job: Job) -> bool:
    """Whether the job tells what is wrong with files; true where nothing is."""
    truth = simulated.truth
    differing = {job.numbers[place] for each in job.mismatches for place in each.places}
    compared = {job.numbers[place] for place, clock in enumerate(job.clocks) if clock.is_comparable}
    absent = any(mismatch.kind == "absent" for mismatch in job.mismatches)
    has_arguments = simulated.detail.arguments and any(rank.groups for rank in job.ranks)
    return (
        set(truth.mismatched_ranks) <= differing
        and not set(truth.jumped_ranks) & compared
        # Only arguments tell who should be there.
        and (absent or not truth.missing_ranks or not has_arguments)
    )


def _words(report: StragglerReport, label: Label, numbers: Sequence[int]) -> str:
    told = "; ".join(
        f"{culprit.kind.value} {[numbers[place] for place in culprit.places]}"
        f" {culprit.cause.value} {culprit.share_percent:.1f} %"
        for culprit in report.culprits
    )
    wanted = f"{label.kind} {list(label.ranks)} {label.cause}"
    return f"{wanted} -> {report.verdict.value}: {told or report.reason}"


def _print_table(title: str, scores: Iterable[Score], key) -> None:
    by_row: dict[str, list[Score]] = defaultdict(list)
    for score in scores:
        by_row[key(score)].append(score)
    rows = [*by_row.items()]
    if not rows:
        return
    rows.append(("all", [score for _, group in rows for score in group]))
    print(f"{title:36}" + "".join(f"{each:>15}" for each in (*OUTCOMES, "cause right", "delay %")))
    for name, group in rows:
        counts = Counter(score.outcome for score in group)
        right = [score for score in group if score.outcome == RIGHT]
        causes = f"{sum(score.is_cause_right for score in right)}/{len(right)}"
        delay = f"{np.median([score.delay_percent for score in group]):.1f}"
        cells = "".join(f"{counts[outcome]:>15}" for outcome in OUTCOMES)
        print(f"{name:36}{cells}{causes:>15}{delay:>15}")
    everything = rows[-1][1]
    share = 100 * sum(score.outcome == RIGHT for score in everything) / len(everything)
    print(f"right: {share:.1f} % of {len(everything)}\n")


def _print_spoiled(scores: Sequence[Score]) -> None:
    if not scores:
        return
    print("a rank 20 % slower, and the file of another one spoiled")
    _print_table("spoiled", scores, lambda score: score.case.name)
    by_name: dict[str, list[bool]] = defaultdict(list)
    for score in scores:
        by_name[score.case.name].append(score.is_noticed)
    told = (f"{name} {sum(each)}/{len(each)}" for name, each in by_name.items())
    print(f"noticed: {', '.join(told)}\n")


def _print_clean(scores: Sequence[Score]) -> None:
    if not scores:
        return
    counts = Counter(score.outcome for score in scores)
    print(
        f"clean jobs: {len(scores)}, culprits named in {counts[WRONG]}, nobody in"
        f" {counts[RIGHT]}, unsure {counts[INCONCLUSIVE]}, failed {counts[FAILED]}\n"
    )


def _print_clocks(scores: Sequence[Score]) -> None:
    errors = np.array([error for score in scores for error in score.clock_errors_ns])
    if not len(errors):
        return
    print(
        f"clocks: {len(errors)} ranks, error median {np.median(errors) / 1000:.2f} us,"
        f" 99th percentile {np.percentile(errors, 99) / 1000:.2f} us,"
        f" worst {errors.max() / 1000:.2f} us,"
        f" intervals that miss the truth {sum(score.missed_intervals for score in scores)},"
        f" ranks that are not compared {sum(score.uncompared_clocks for score in scores)}\n"
    )


def _print_matching(scores: Sequence[Score]) -> None:
    by_row: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for score in scores:
        told = "with arguments" if score.case.settings.get("arguments") else "names only"
        by_row[f"{score.case.topology.name}, {told}"].append(score.matched)
    print(f"{'matched exchanges':36}{'exchanges':>15}{'wrong':>15}{'jobs with wrong':>17}")
    for name, counts in sorted(by_row.items()):
        total, wrong = np.sum(counts, axis=0)
        jobs = f"{sum(each[1] > 0 for each in counts)}/{len(counts)}"
        print(f"{name:36}{total:>15}{wrong:>15}{jobs:>17}")
    print()


def _print_failed(scores: Sequence[Score]) -> None:
    for score in scores:
        is_right = score.outcome == RIGHT and (score.is_cause_right or not score.case.faults)
        if not is_right or not score.is_noticed:
            case = score.case
            print(
                f"{case.title} ranks {case.ranks} {case.settings}"
                f" delay {score.delay_percent:.1f} %\n    {score.outcome}: {score.words}"
            )


if __name__ == "__main__":
    main()
