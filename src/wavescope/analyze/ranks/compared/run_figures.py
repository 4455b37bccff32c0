"""Figures that two runs of a job are compared by: of the job, its collectives, culprits, ranks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from wavescope.analyze.ranks.compared.figures import Figure, Part
from wavescope.analyze.ranks.measures import JobMeasures, JobRows
from wavescope.arrays import Array
from wavescope.arrays.groups import nearest_rank
from wavescope.arrays.intervals import Times
from wavescope.model.result import Unit
from wavescope.units import bytes_text, percent_of


def step_times_of(base: JobRows, new: JobRows) -> tuple[Times, Times]:
    """The times of steps in both runs, by one definition: that which both can tell."""
    if base.has_common_steps and new.has_common_steps:
        return base.actual_step_times, new.actual_step_times
    return base.median_step_times, new.median_step_times


def job_figures(base: JobRows, new: JobRows) -> list[Figure]:
    """Of the whole job."""
    times = step_times_of(base, new)

    def step(share: int) -> list[float | None]:
        return [nearest_rank(each, share) if len(each) else None for each in times]

    rows = [
        ("median step", Unit.NS, step(50)),
        ("p95 step", Unit.NS, step(95)),
        ("exposed communication, median rank", Unit.PERCENT, [_exposed(base), _exposed(new)]),
        ("waiting for others", Unit.PERCENT, [_waiting(base), _waiting(new)]),
        ("arrival skew, median", Unit.NS, [_skew(base, 50), _skew(new, 50)]),
        ("arrival skew, p95", Unit.NS, [_skew(base, 95), _skew(new, 95)]),
        ("delay per step", Unit.NS, [_delay(base), _delay(new)]),
    ]
    return [
        Figure(Part.JOB, "", metric, unit, *values)
        for metric, unit, values in rows
        if any(value is not None for value in values)
    ]


class _Key(NamedTuple):
    """Collectives that are alike in both runs, whatever their groups are called."""

    operation: str
    dtype: str
    size_class_bytes: int
    group_size: int

    @property
    def words(self) -> str:
        size = f" from {bytes_text(self.size_class_bytes)}" if self.size_class_bytes else ""
        kind = f" of {self.dtype}" if self.dtype else ""
        return f"{self.operation or 'unknown'}{kind}{size} over {self.group_size} ranks"


def collective_figures(base: JobRows, new: JobRows) -> list[Figure]:
    """Bus bandwidth by operation, type, size class and number of ranks; the greatest change
    first."""
    before, after = _bus(base), _bus(new)
    figures = [
        Figure(
            Part.COLLECTIVE,
            key.words,
            "bus bandwidth, median",
            Unit.GB_PER_S,
            before.get(key),
            after.get(key),
        )
        for key in sorted({*before, *after})
    ]
    return sorted(figures, key=lambda figure: -abs(figure.change_percent or 0.0))


def culprit_figures(base: JobMeasures, new: JobMeasures) -> list[Figure]:
    """By culprit the share of the job's time that it costs; 0 where a run does not name it."""
    before, after = _culprits(base), _culprits(new)
    figures = [
        Figure(
            Part.CULPRIT,
            name,
            "share of the time",
            Unit.PERCENT,
            before.get(name, 0.0),
            after.get(name, 0.0),
        )
        for name in dict.fromkeys((*after, *before))
    ]
    return sorted(figures, key=lambda figure: -figure.weight)


def rank_figures(
    base: JobMeasures, base_rows: JobRows, new: JobMeasures, new_rows: JobRows
) -> list[Figure]:
    """Of each rank that both runs have, by number; the greatest change of each metric first."""
    before = {row.number: row for row in base_rows.ranks}
    after = {row.number: row for row in new_rows.ranks}
    compute = _compute_per_step(base), _compute_per_step(new)
    figures: list[Figure] = []
    for number in sorted(before.keys() & after.keys()):
        rows = before[number], after[number]
        of_rank: list[tuple[str, Unit, list[float | None]]] = [
            ("median step", Unit.NS, [row.median_step_ns for row in rows]),
            (
                "compute per step",
                Unit.NS,
                [each[row.place] for each, row in zip(compute, rows, strict=True)],
            ),
            ("busy", Unit.PERCENT, [row.busy_percent for row in rows]),
            ("exposed communication", Unit.PERCENT, [row.exposed_percent for row in rows]),
            (
                "waiting for others",
                Unit.PERCENT,
                [row.exposed_wait_percent for row in rows],
            ),
        ]
        figures += [
            Figure(Part.RANK, f"rank {number}", metric, unit, *values)
            for metric, unit, values in of_rank
            if any(value is not None for value in values)
        ]
    order = {metric: place for place, metric in enumerate(_RANK_METRICS)}
    return sorted(figures, key=lambda figure: (order[figure.metric], -figure.weight))


_RANK_METRICS = (
    "median step",
    "compute per step",
    "waiting for others",
    "exposed communication",
    "busy",
)


def _exposed(rows: JobRows) -> float | None:
    shares = [row.exposed_percent for row in rows.ranks if row.exposed_percent is not None]
    return float(np.median(shares)) if shares else None


def _waiting(rows: JobRows) -> float | None:
    """Of all ranks' time, what they waited for others with nothing to compute."""
    timed = [row for row in rows.ranks if row.exposed_wait_ns is not None]
    waited_ns = sum(row.exposed_wait_ns or 0 for row in timed)
    return percent_of(waited_ns, sum(row.span_ns for row in timed))


def _skew(rows: JobRows, share: int) -> float | None:
    chosen = rows.exchanges.column("is_timed").astype(np.bool_)
    skews = rows.exchanges.column("skew_ns")[chosen]
    return nearest_rank(skews, share) if len(skews) else None


def _delay(rows: JobRows) -> float | None:
    """The mean over steps of critical path - ideal."""
    delays = [row.delay_ns for row in rows.steps if row.delay_ns is not None]
    return sum(delays) / len(delays) if delays else None


def _bus(rows: JobRows) -> dict[_Key, float]:
    exchanges = rows.exchanges
    speeds: dict[_Key, list[Array]] = {}
    for number, kind in enumerate(exchanges.kinds):
        chosen = exchanges.kind == number
        known = exchanges.bus_gb_per_s[chosen]
        known = known[np.isfinite(known)]
        if len(known):
            size = int(exchanges.group_size[chosen][0])
            key = _Key(kind.operation, kind.dtype, kind.size_class_bytes or 0, size)
            speeds.setdefault(key, []).append(known)
    return {key: float(np.median(np.concatenate(found))) for key, found in speeds.items()}


def _culprits(measures: JobMeasures) -> dict[str, float]:
    shares: dict[str, float] = {}
    for culprit in measures.report.culprits:
        name = culprit.name or f"ranks {measures.rank_text(culprit.places)}"
        shares[name] = shares.get(name, 0.0) + culprit.share_percent
    return shares


def _compute_per_step(measures: JobMeasures) -> list[float | None]:
    compute = measures.job.step_column("compute_ns", -1)
    found: list[float | None] = []
    for place in range(len(measures.job)):
        known = compute[place][compute[place] >= 0]
        found.append(float(np.median(known)) if len(known) else None)
    return found
