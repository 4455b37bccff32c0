"""The table `steps`: how long each step took on the whole, and how ranks differ in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from wavescope.analyze.ranks.digest import UNKNOWN
from wavescope.analyze.ranks.job import MISSING, NO_TIME
from wavescope.analyze.ranks.measures.exchange_times import Flags
from wavescope.analyze.ranks.measures.job_measures import JobMeasures
from wavescope.arrays.groups import nearest_rank
from wavescope.model.result import ColumnOf, ResultColumn, ResultTable, Unit, table_of


class StepRow(NamedTuple):
    """One step of the job."""

    step: int
    label: int | None
    rank_count: int
    compared_count: int
    """Ranks of it whose clocks can be compared."""
    start_ns: int | None
    """Of its first rank, from the job's start."""
    actual_ns: int | None
    path_ns: int | None
    """The critical path over ranks."""
    ideal_ns: int | None
    delay_ns: int | None
    median_ns: int
    slowest: int
    """By place."""
    slowest_ns: int
    fastest: int
    fastest_ns: int
    start_skew_ns: int | None
    end_skew_ns: int | None
    exposed_ns: int | None
    """The median over ranks."""
    exposed_percent: float | None
    """The median over ranks of exposed / own duration."""
    wait_ns: int | None


def step_rows(measures: JobMeasures) -> list[StepRow]:
    """All steps that any rank has, in order."""
    there = measures.has_step.any(axis=0) if len(measures.job) else np.zeros(0, np.bool_)
    accounts = {account.step: account for account in measures.report.steps}
    exposed = measures.job.step_column("exposed_ns", UNKNOWN)
    labels = measures.job.step_column("label", UNKNOWN)
    waits = _waits(measures)
    rows = []
    for step in np.flatnonzero(there).tolist():
        has = measures.has_step[:, step]
        places = np.flatnonzero(has)
        durations = measures.step_durations[places, step]
        account = accounts.get(step)
        own_exposed = exposed[places, step]
        known = (own_exposed != UNKNOWN) & (durations > 0)
        label = labels[places, step].max()
        rows.append(
            StepRow(
                step=step,
                label=None if label == UNKNOWN else int(label),
                rank_count=len(places),
                compared_count=int((has & measures.is_comparable).sum()),
                path_ns=account.actual_ns if account else None,
                ideal_ns=account.ideal_ns if account else None,
                delay_ns=account.actual_ns - account.ideal_ns if account else None,
                median_ns=nearest_rank(durations, 50),
                slowest=int(places[durations.argmax()]),
                slowest_ns=int(durations.max()),
                fastest=int(places[durations.argmin()]),
                fastest_ns=int(durations.min()),
                exposed_ns=nearest_rank(own_exposed[known], 50) if known.any() else None,
                exposed_percent=float(np.median(100 * own_exposed[known] / durations[known]))
                if known.any()
                else None,
                wait_ns=waits.get(step),
                **_of_span(measures, step, has & measures.is_comparable),
            )
        )
    return rows


def steps_table(measures: JobMeasures, rows: Sequence[StepRow]) -> ResultTable:
    """The table of these steps."""
    numbers = measures.job.numbers
    slowest: ColumnOf[StepRow] = ResultColumn(
        "slowest_rank", "Slowest", Unit.NONE, "rank whose step is longest"
    ).of(lambda row: numbers[row.slowest])
    fastest: ColumnOf[StepRow] = ResultColumn(
        "fastest_rank", "Fastest", Unit.NONE, "rank whose step is shortest"
    ).of(lambda row: numbers[row.fastest])
    columns = (*_FIRST_COLUMNS, slowest, *_SLOWEST_COLUMNS, fastest, *_LAST_COLUMNS)
    return table_of("steps", "Steps of the job", columns, rows)


def _of_span(measures: JobMeasures, step: int, compared: Flags) -> dict[str, int | None]:
    """What needs a common clock."""
    first, last = (int(times[step]) for times in measures.step_spans)
    if first == NO_TIME or measures.first_ns is None:
        return dict.fromkeys(("start_ns", "actual_ns", "start_skew_ns", "end_skew_ns"))
    starts = measures.job.step_starts[compared, step]
    ends = measures.job.step_ends[compared, step]
    is_one = len(starts) < 2
    return {
        "start_ns": first - measures.first_ns,
        "actual_ns": last - first,
        "start_skew_ns": None if is_one else int(starts.max()) - first,
        "end_skew_ns": None if is_one else last - int(ends.min()),
    }


def _waits(measures: JobMeasures) -> dict[int, int]:
    """By step how long ranks waited for others, summed over its timed exchanges."""
    sums: dict[int, int] = {}
    for steps, times in zip(measures.steps_of_exchanges, measures.exchanges, strict=True):
        chosen = times.is_timed & (steps != MISSING)
        found, numbers = np.unique(steps[chosen], return_inverse=True)
        of_step = np.zeros(len(found), np.int64)
        np.add.at(of_step, numbers, times.wait_ns[chosen])
        for step, wait_ns in zip(found.tolist(), of_step.tolist(), strict=True):
            sums[step] = sums.get(step, 0) + wait_ns
    return sums


_FIRST_COLUMNS: tuple[ColumnOf[StepRow], ...] = (
    ResultColumn("step", "Step", Unit.NONE, "number among the steps that ranks have in common").of(
        lambda row: row.step
    ),
    ResultColumn("label", "Label", Unit.NONE, "number in its marker's name").of(
        lambda row: row.label
    ),
    ResultColumn("rank_count", "Ranks", Unit.COUNT, "ranks that have it").of(
        lambda row: row.rank_count
    ),
    ResultColumn("actual_ns", "Actual", Unit.NS, "first start to last end over ranks").of(
        lambda row: row.actual_ns
    ),
    ResultColumn("path_ns", "Path", Unit.NS, "critical path over ranks: ideal + delay").of(
        lambda row: row.path_ns
    ),
    ResultColumn(
        "ideal_ns", "Ideal", Unit.NS, "critical path if each piece took its usual time"
    ).of(lambda row: row.ideal_ns),
    ResultColumn("delay_ns", "Delay", Unit.NS, "critical path - ideal: `delays` adds up to it").of(
        lambda row: row.delay_ns
    ),
    ResultColumn("median_ns", "Median", Unit.NS, "median over ranks of end - start").of(
        lambda row: row.median_ns
    ),
)
_SLOWEST_COLUMNS: tuple[ColumnOf[StepRow], ...] = (
    ResultColumn("slowest_ns", "Longest", Unit.NS, "its end - start").of(
        lambda row: row.slowest_ns
    ),
)
_LAST_COLUMNS: tuple[ColumnOf[StepRow], ...] = (
    ResultColumn("fastest_ns", "Shortest", Unit.NS, "its end - start").of(
        lambda row: row.fastest_ns
    ),
    ResultColumn("exposed_ns", "Exposed", Unit.NS, "collectives without compute, median").of(
        lambda row: row.exposed_ns
    ),
    ResultColumn("exposed_percent", "Exposed %", Unit.PERCENT, "of the rank's step, median").of(
        lambda row: row.exposed_percent
    ),
    ResultColumn("start_skew_ns", "Start skew", Unit.NS, "last start - first start").of(
        lambda row: row.start_skew_ns
    ),
    ResultColumn("end_skew_ns", "End skew", Unit.NS, "last end - first end").of(
        lambda row: row.end_skew_ns
    ),
    ResultColumn("wait_ns", "Wait", Unit.NS, "waiting in its timed exchanges, over ranks").of(
        lambda row: row.wait_ns
    ),
    ResultColumn("start_ns", "Start", Unit.NS, "after the job's first op, common time").of(
        lambda row: row.start_ns
    ),
    ResultColumn("compared_count", "Compared", Unit.COUNT, "ranks with comparable clocks").of(
        lambda row: row.compared_count
    ),
)
