"""The table `outliers`: ranks that differ from the rest, in any figure that all ranks have.

The distance of a rank is |value - median| / scale, over its peers: ranks of the same pipeline stage
where stages are visible, else all. The scale is 1.4826 times the median absolute deviation (the
standard deviation, if values were normal), but at least a share of the median and a number of
units, so that ranks which agree almost perfectly have no outliers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ranks.digest import UNKNOWN
from wavescope.analyze.ranks.measures.job_measures import JobMeasures
from wavescope.analyze.ranks.measures.ranks_table import RankRow
from wavescope.analyze.ranks.measures.stages_table import StageRow
from wavescope.arrays.intervals import Times
from wavescope.model.result import ColumnOf, ResultColumn, ResultTable, Unit, table_of
from wavescope.units import value_text

LEAST_RANKS = 4
"""With fewer peers nobody can say who is the odd one."""
LEAST_DISTANCE = 5.0
"""From here on a rank differs from the rest."""
NORMAL_SCALE = 1.4826
"""Standard deviation / median absolute deviation of normal values."""
USUAL_SHARE = 2 / 3
"""A model that so many ranks have is what the others differ from."""


class Metric(NamedTuple):
    """A figure of a rank."""

    name: str
    unit: Unit
    least_share: float
    """The scale is at least this share of the median."""
    least: float
    """And at least so many units."""
    value: Callable[[_Rank], float | None]


class OutlierRow(NamedTuple):
    """One figure of one rank that lies apart."""

    place: int
    metric: str
    unit: str
    value: float | None
    median: float | None
    distance: float | None
    shown: str
    peer_count: int

    @property
    def difference_percent(self) -> float | None:
        if self.value is None or not self.median or self.unit == Unit.PERCENT.value:
            return None
        return 100 * (self.value - self.median) / self.median


class _Rank(NamedTuple):
    """What metrics are taken from."""

    row: RankRow
    steps: dict[str, float | None]
    """The median over its steps of columns of `StepRows`."""


def outlier_rows(
    measures: JobMeasures, ranks: Sequence[RankRow], stages: Sequence[StageRow]
) -> list[OutlierRow]:
    """The furthest first; other GPU models than most before all."""
    medians = _step_medians(measures)
    described = [_Rank(row, medians[row.place]) for row in ranks if row.digest.op_count]
    found: list[OutlierRow] = []
    for peers in _peers(described, stages):
        if len(peers) < LEAST_RANKS:
            continue
        for metric in (*_METRICS, *_monitor_metrics(peers)):
            found += _outliers(metric, peers)
    if len(described) >= LEAST_RANKS:
        found += _other_models(described)
    return sorted(
        found,
        key=lambda row: (row.distance is not None, -(row.distance or 0), row.place, row.metric),
    )


def outliers_table(measures: JobMeasures, rows: Sequence[OutlierRow]) -> ResultTable:
    """The table of these figures."""
    job = measures.job
    columns: tuple[ColumnOf[OutlierRow], ...] = (
        ResultColumn("rank", "Rank", Unit.NONE, "global rank").of(
            lambda row: job.numbers[row.place]
        ),
        ResultColumn("host", "Host", Unit.NAME, "machine it ran on").of(
            lambda row: job.ranks[row.place].identity.host or None
        ),
        *_COLUMNS,
    )
    return table_of("outliers", "Ranks that differ from the rest", columns, rows)


def _step_medians(measures: JobMeasures) -> list[dict[str, float | None]]:
    """For each place the medians over its matched steps."""
    found: list[dict[str, float | None]] = [{} for _ in range(len(measures.job))]
    for name in ("compute_ns", "host_late_ns", "kernel_count", "work_items"):
        columns = measures.job.step_column(name, UNKNOWN)
        for place, medians in enumerate(found):
            medians[name] = _median(columns[place])
    return found


def _median(values: Times) -> float | None:
    known = values[values != UNKNOWN]
    return float(np.median(known)) if len(known) else None


def _peers(ranks: Sequence[_Rank], stages: Sequence[StageRow]) -> Iterable[list[_Rank]]:
    """Ranks that should be alike."""
    if not stages:
        return [list(ranks)]
    of_place = {place: stage.stage for stage in stages for place in stage.places}
    peers: dict[int, list[_Rank]] = {}
    for rank in ranks:
        peers.setdefault(of_place.get(rank.row.place, UNKNOWN), []).append(rank)
    return peers.values()


def _outliers(metric: Metric, peers: Sequence[_Rank]) -> list[OutlierRow]:
    known = [(rank, value) for rank in peers if (value := metric.value(rank)) is not None]
    if len(known) < LEAST_RANKS:
        return []
    values = np.array([value for _, value in known], np.float64)
    median, distances = robust_distances(values, metric.least_share, metric.least)
    return [
        OutlierRow(
            place=rank.row.place,
            metric=metric.name,
            unit=metric.unit.value,
            value=value,
            median=median,
            distance=float(distance),
            shown=f"{_shown(value, metric.unit)} against {_shown(median, metric.unit)}",
            peer_count=len(known),
        )
        for (rank, value), distance in zip(known, distances.tolist(), strict=True)
        if distance >= LEAST_DISTANCE
    ]


def robust_distances(
    values: npt.NDArray[np.float64], least_share: float, least: float
) -> tuple[float, npt.NDArray[np.float64]]:
    """The median, and how many robust deviations each value lies from it."""
    median = float(np.median(values))
    apart = np.abs(values - median)
    scale = max(NORMAL_SCALE * float(np.median(apart)), least_share * abs(median), least)
    return median, apart / scale if scale > 0 else np.where(apart > 0, np.inf, 0.0)


def _shown(value: float, unit: Unit) -> str:
    text = value_text(round(value) if unit is Unit.COUNT else value, unit.value)
    return f"{text} %" if unit is Unit.PERCENT else text


def _other_models(ranks: Sequence[_Rank]) -> list[OutlierRow]:
    """Ranks with another GPU than most."""
    models = Counter(rank.row.gpu for rank in ranks if rank.row.gpu)
    if not models:
        return []
    usual, count = models.most_common(1)[0]
    if count < USUAL_SHARE * models.total():
        return []
    return [
        OutlierRow(
            place=rank.row.place,
            metric="GPU model",
            unit="",
            value=None,
            median=None,
            distance=None,
            shown=f"{rank.row.gpu} against {usual}",
            peer_count=models.total(),
        )
        for rank in ranks
        if rank.row.gpu not in ("", usual)
    ]


def _monitor_metrics(peers: Sequence[_Rank]) -> list[Metric]:
    """What was sampled on all of these ranks, such as clocks."""
    names = Counter(name for rank in peers for name in dict(rank.row.digest.monitors))
    return [
        Metric(f"mean of {name}", Unit.NONE, 0.02, 0.01, _monitor(name))
        for name, count in sorted(names.items())
        if count == len(peers)
    ]


def _monitor(name: str) -> Callable[[_Rank], float | None]:
    def value(rank: _Rank) -> float | None:
        found = dict(rank.row.digest.monitors).get(name)
        return found if found is not None and np.isfinite(found) else None

    return value


def _lost_percent(rank: _Rank) -> float | None:
    digest = rank.row.digest
    whole = digest.op_count + max(digest.lost_ops, 0)
    return 100 * max(digest.lost_ops, 0) / whole if whole else None


_METRICS = (
    Metric("busy", Unit.PERCENT, 0.0, 1.0, lambda rank: rank.row.busy_percent),
    Metric("exposed", Unit.PERCENT, 0.0, 1.0, lambda rank: rank.row.exposed_percent),
    Metric("step", Unit.NS, 0.01, 1_000, lambda rank: rank.row.median_step_ns),
    Metric("compute per step", Unit.NS, 0.01, 1_000, lambda rank: rank.steps["compute_ns"]),
    Metric("host late per step", Unit.NS, 0.1, 20_000, lambda rank: rank.steps["host_late_ns"]),
    Metric("kernels per step", Unit.COUNT, 0.01, 0.2, lambda rank: rank.steps["kernel_count"]),
    Metric("launch size per step", Unit.COUNT, 0.01, 0.2, lambda rank: rank.steps["work_items"]),
    Metric("clock residual", Unit.NS, 0.5, 1_000, lambda rank: rank.row.clock.residual_ns),
    Metric("lost ops", Unit.PERCENT, 0.0, 0.1, _lost_percent),
)
_COLUMNS: tuple[ColumnOf[OutlierRow], ...] = (
    ResultColumn("metric", "What", Unit.NAME, "in which figure it differs").of(
        lambda row: row.metric
    ),
    ResultColumn("shown", "Value", Unit.NAME, "its value against the median").of(
        lambda row: row.shown
    ),
    ResultColumn("difference_percent", "Difference %", Unit.PERCENT, "value / median - 1").of(
        lambda row: row.difference_percent
    ),
    ResultColumn("distance", "Distance", Unit.NONE, "in robust deviations of its peers").of(
        lambda row: row.distance
    ),
    ResultColumn("peer_count", "Peers", Unit.COUNT, "ranks it is compared with, and itself").of(
        lambda row: row.peer_count
    ),
    ResultColumn("value", "Number", Unit.NONE, "its value in `unit`").of(lambda row: row.value),
    ResultColumn("median", "Median", Unit.NONE, "of its peers in `unit`").of(
        lambda row: row.median
    ),
    ResultColumn("unit", "Unit", Unit.NAME, "of value and median").of(lambda row: row.unit or None),
)
