"""Exchanges of one kind together: how far arrivals were apart, who waited, how fast data moved."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wavescope.analyze.ranks.job import MISSING, MatchedGroup
from wavescope.analyze.ranks.measures.all_exchanges import AllExchanges, CollectiveKind
from wavescope.analyze.ranks.measures.exchange_times import LEAST_CONFIDENCE
from wavescope.analyze.ranks.measures.job_measures import JobMeasures
from wavescope.arrays import Array
from wavescope.arrays.groups import group_statistics, group_sums
from wavescope.arrays.intervals import Times
from wavescope.units import counted, percent_of

TRANSFER_MOST = 0.4
"""Waiting makes at most this share of the time: it is the transfer that takes it."""
SKEW_LEAST = 0.6
"""Waiting makes at least this share: ranks arrive apart."""
MIXED = (0.2, 0.8)
"""The share is surely between these: both."""
ERROR_RESIDUALS = 2.0
"""An arrival may be off by so many times the residual of its clock."""

_UNBOUNDED = np.iinfo(np.int64).max


class Nature(str, enum.Enum):
    """What most of the time of exchanges goes to."""

    TRANSFER = "transfer"
    ARRIVAL_SKEW = "arrival skew"
    MIXED = "mixed"
    INCONCLUSIVE = "inconclusive"


def nature_of(least_share: float, greatest_share: float) -> Nature:
    """What exchanges are whose waiting makes a share between these of their time."""
    if greatest_share <= TRANSFER_MOST:
        return Nature.TRANSFER
    if least_share >= SKEW_LEAST:
        return Nature.ARRIVAL_SKEW
    if least_share >= MIXED[0] and greatest_share <= MIXED[1]:
        return Nature.MIXED
    return Nature.INCONCLUSIVE


@dataclass(frozen=True)
class CollectiveRow:
    """Exchanges of one kind, of one step where `step` is not None."""

    kind: CollectiveKind
    group: str
    group_size: int
    member_count: int
    step: int | None
    exchange_count: int
    timed_count: int
    size_bytes: int | None
    skew_median_ns: int | None
    skew_p95_ns: int | None
    skew_most_ns: int | None
    skew_high_ns: int | None
    """The median of upper bounds; None where nothing bounds most of them."""
    wait_ns: int | None
    wait_low_ns: int
    wait_high_ns: int | None
    timed_duration_ns: int
    """Over members, of timed exchanges: what `wait_ns` is a part of."""
    duration_ns: int
    exposed_ns: int
    transfer_median_ns: int | None
    transfer_low_ns: int
    transfer_high_ns: int
    shortest_ns: int
    spread_ns: int
    algorithm_gb_per_s: float | None
    bus_gb_per_s: float | None
    bus_low_gb_per_s: float | None
    bus_high_gb_per_s: float | None
    last_place: int | None
    last_count: int
    nature: Nature
    certified: Nature
    basis: str

    @property
    def wait_percent(self) -> float | None:
        return None if self.wait_ns is None else percent_of(self.wait_ns, self.timed_duration_ns)

    @property
    def exposed_percent(self) -> float | None:
        return percent_of(self.exposed_ns, self.duration_ns)


def collective_rows(measures: JobMeasures, exchanges: AllExchanges) -> list[CollectiveRow]:
    """By group, operation, type and size class, the most waiting first."""
    rows = _rows(measures, exchanges, np.arange(len(exchanges)), exchanges.kind)
    return sorted(rows, key=_by_waiting)


def collective_rows_by_step(
    measures: JobMeasures, exchanges: AllExchanges, most_rows: int
) -> tuple[list[CollectiveRow], int]:
    """The same for each step, in order of steps; of very many those with most waiting, and how
    many there are."""
    known = np.flatnonzero(exchanges.step != MISSING)
    width = max(1, len(exchanges.kinds))
    distinct, code = np.unique(
        exchanges.step[known] * width + exchanges.kind[known], return_inverse=True
    )
    if len(distinct) > most_rows:
        waited = np.array(group_sums(code, exchanges.column("wait_ns")[known], len(distinct)))
        is_kept = np.zeros(len(distinct), np.bool_)
        is_kept[np.argsort(-waited, kind="stable")[:most_rows]] = True
        known = known[is_kept[code]]
    codes = exchanges.step[known] * width + exchanges.kind[known]
    rows = _rows(measures, exchanges, known, codes, has_steps=True)
    return sorted(rows, key=lambda row: (row.step or 0, *_by_waiting(row))), len(distinct)


def _by_waiting(row: CollectiveRow) -> tuple[int, int, CollectiveKind]:
    plain = row.kind._replace(size_class_bytes=row.kind.size_class_bytes or 0)
    return -(row.wait_ns or 0), -row.duration_ns, plain


def _rows(
    measures: JobMeasures,
    exchanges: AllExchanges,
    chosen: Times,
    codes: Times,
    has_steps: bool = False,
) -> list[CollectiveRow]:
    """One row for each distinct code; `codes` are of the `chosen` exchanges."""
    distinct, numbers = np.unique(codes, return_inverse=True)
    statistics = _Statistics(exchanges, chosen, numbers.astype(np.int64), len(distinct))
    errors = _clock_errors(measures)
    width = max(1, len(exchanges.kinds))
    bases: dict[tuple[int, int, int, int], str] = {}
    columns = statistics.columns()
    rows = []
    for index, code in enumerate(distinct.tolist()):
        kind = exchanges.kinds[code % width]
        group = measures.job.groups[kind.group]
        figures = {name: values[index] for name, values in columns.items()}
        error_ns = errors[kind.group] * figures.pop("timed_arrivals")
        certified = _certified(figures, figures.pop("certified_count"))
        counted_ones = figures["timed_count"], figures["exchange_count"]
        key = (kind.group, *counted_ones, figures.pop("partial_count"))
        if key not in bases:
            bases[key] = _basis(measures, *key)
        rows.append(
            CollectiveRow(
                kind=kind,
                group=measures.group_text(kind.group),
                group_size=group.size,
                member_count=len(group.members),
                step=code // width if has_steps else None,
                nature=_nature(figures, error_ns),
                certified=certified,
                basis=bases[key],
                **figures,
            )
        )
    return rows


class _Statistics:
    """Figures of exchanges by number, each as a list with None where nothing can be said."""

    def __init__(self, exchanges: AllExchanges, chosen: Times, numbers: Times, count: int) -> None:
        self._exchanges = exchanges
        self._chosen = chosen
        self._numbers = numbers
        self._count = count
        self._timed = exchanges.column("is_timed")[chosen].astype(np.bool_)

    def columns(self) -> dict[str, list[Any]]:
        """Fields of `CollectiveRow` and what others of them are made of."""
        timed = self._timed
        size = self._exchanges.size_bytes[self._chosen]
        factor = self._exchanges.bus_factor[self._chosen]
        transfer = self._column("transfer_ns")
        last_place, last_count = self._came_last()
        timed_count = self._sums(timed.astype(np.int64))
        # Bounds are of the same exchanges as estimates, of all where there are none.
        told = timed | (np.array(timed_count, np.int64) == 0)[self._numbers]
        waits = self._sums(self._column("wait_ns"))
        return {
            "exchange_count": self._sums(np.ones(len(self._chosen), np.int64)),
            "timed_count": timed_count,
            "certified_count": self._sums(self._column("is_certified").astype(np.int64)),
            "timed_arrivals": self._sums(np.where(timed, self._column("member_count"), 0)),
            "partial_count": self._sums((timed & self._is_partial()).astype(np.int64)),
            "size_bytes": self._percentile(size, 50, size > 0),
            "skew_median_ns": self._percentile(self._column("skew_ns"), 50, timed),
            "skew_p95_ns": self._percentile(self._column("skew_ns"), 95, timed),
            "skew_most_ns": self._percentile(self._column("skew_ns"), 100, timed),
            "skew_high_ns": [
                None if bound == _UNBOUNDED else bound
                for bound in self._percentile(self._column("skew_high_ns"), 50, told)
            ],
            "wait_ns": [
                wait if count else None for wait, count in zip(waits, timed_count, strict=True)
            ],
            "wait_low_ns": self._sums(np.where(told, self._column("wait_low_ns"), 0)),
            "wait_high_ns": self._bounded_sums(np.where(told, self._column("wait_high_ns"), 0)),
            "timed_duration_ns": self._sums(np.where(timed, self._column("duration_ns"), 0)),
            "duration_ns": self._sums(self._column("duration_ns")),
            "exposed_ns": self._sums(self._exchanges.exposed_ns[self._chosen]),
            "transfer_median_ns": self._percentile(transfer, 50, timed),
            "transfer_low_ns": self._percentile(self._column("transfer_low_ns"), 50, told),
            "transfer_high_ns": self._percentile(self._column("transfer_high_ns"), 50, told),
            "shortest_ns": self._percentile(self._column("shortest_ns"), 50),
            "spread_ns": self._percentile(
                self._column("longest_ns") - self._column("shortest_ns"), 50
            ),
            "algorithm_gb_per_s": self._speed(size, transfer, np.ones(len(size)), timed),
            "bus_gb_per_s": self._speed(size, transfer, factor, timed),
            "bus_low_gb_per_s": self._speed(size, self._column("transfer_high_ns"), factor, told),
            "bus_high_gb_per_s": self._speed(size, self._column("transfer_low_ns"), factor, told),
            "last_place": last_place,
            "last_count": last_count,
        }

    def _is_partial(self) -> Array:
        """Which exchanges not all given members took part in."""
        given = self._exchanges.given_count[self._chosen]
        partial: Array = self._column("member_count") < given
        return partial

    def _column(self, name: str) -> Array:
        return self._exchanges.column(name)[self._chosen]

    def _sums(self, values: Array) -> list[int]:
        return group_sums(self._numbers, np.maximum(values, 0), self._count) if len(values) else []

    def _bounded_sums(self, values: Array) -> list[int | None]:
        open_count = self._sums((values == _UNBOUNDED).astype(np.int64))
        sums = self._sums(np.where(values == _UNBOUNDED, 0, values))
        return [None if without else total for total, without in zip(sums, open_count, strict=True)]

    def _percentile(
        self, values: Array, percent: int, among: Array | None = None, sign: int = 1
    ) -> list[int | None]:
        found: list[int | None] = [None] * self._count
        kept = np.arange(len(values)) if among is None else np.flatnonzero(among)
        if not len(kept):
            return found
        statistics = group_statistics(
            self._numbers[kept], np.ascontiguousarray(values[kept], np.int64), self._count
        )
        for number, value in zip(
            statistics.groups.tolist(), statistics.percentiles(percent).tolist(), strict=True
        ):
            found[number] = sign * value
        return found

    def _speed(
        self, size: Array, time_ns: Array, factor: Array, among: Array | None = None
    ) -> list[float | None]:
        """The nearest-rank median of size / time x factor, in GB/s of 10^9 bytes."""
        known = (size > 0) & (time_ns > 0) & (factor > 0)
        rows = np.flatnonzero(known if among is None else known & among)
        found: list[float | None] = [None] * self._count
        if not len(rows):
            return found
        numbers = self._numbers[rows]
        speed = size[rows] / time_ns[rows] * factor[rows]
        ordered = speed[np.lexsort((speed, numbers))]
        counts = np.bincount(numbers, minlength=self._count)
        middles = np.cumsum(counts) - counts + np.maximum(counts - 1, 0) // 2
        for number in np.flatnonzero(counts).tolist():
            found[number] = float(ordered[middles[number]])
        return found

    def _came_last(self) -> tuple[list[int | None], list[int]]:
        """For each number who came last most often (of several the first), and how often."""
        last = self._exchanges.last_place[self._chosen]
        rows = np.flatnonzero(last != MISSING)
        places: list[int | None] = [None] * self._count
        most = [0] * self._count
        if not len(rows):
            return places, most
        width = int(last[rows].max()) + 1
        pairs, counts = np.unique(self._numbers[rows] * width + last[rows], return_counts=True)
        for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True):
            number, place = divmod(pair, width)
            if count > most[number]:
                places[number], most[number] = place, count
        return places, most


def _clock_errors(measures: JobMeasures) -> list[float]:
    """For each group how far an arrival of its members may be off, by the residuals of clocks."""
    clocks = measures.job.clocks
    return [
        ERROR_RESIDUALS
        * max((clocks[place].residual_ns or 0 for place in group.members.tolist()), default=0)
        for group in measures.job.groups
    ]


def _nature(figures: dict[str, Any], error_ns: float) -> Nature:
    whole, wait = figures["timed_duration_ns"], figures["wait_ns"]
    if not whole or wait is None:
        return Nature.INCONCLUSIVE
    # Arrivals of all members are off, and so is what each waited.
    return nature_of((wait - error_ns) / whole, (wait + error_ns) / whole)


def _certified(figures: dict[str, Any], certified_count: int) -> Nature:
    """What follows from bounds alone."""
    names = ("timed_duration_ns", "wait_low_ns", "wait_high_ns")
    whole, low, high = (figures[name] for name in names)
    if not whole or high is None or certified_count != figures["timed_count"]:
        return Nature.INCONCLUSIVE
    return nature_of(low / whole, high / whole)


def _basis(measures: JobMeasures, place: int, timed: int, exchange_count: int, partial: int) -> str:
    """What the figures rest on, for people."""
    group = measures.job.groups[place]
    given = len(group.members)
    if given < 2:
        return "one member was given: durations only"
    words: list[str] = []
    if timed < exchange_count:
        words.append(f"{timed:,} timed" if timed else "no arrivals are compared")
        words += _why_untimed(measures, group)
    if timed and given < group.size:
        words.append(f"{given} of {counted(group.size, 'member')} given")
    if partial:
        words.append(f"{partial:,} lack members")
    if timed and (partial or given < group.size):
        words.append("skew and wait are lower bounds, transfer is an upper bound")
    return "; ".join(words) or "all members"


def _why_untimed(measures: JobMeasures, group: MatchedGroup) -> list[str]:
    if group.confidence < LEAST_CONFIDENCE:
        return [f"matching is not sure ({group.confidence:.2f})"]
    unlike = [place for place in group.members.tolist() if not measures.is_comparable[place]]
    if not unlike:
        return []
    return [f"clock{'' if len(unlike) == 1 else 's'} of {_ranks(measures, unlike)} not comparable"]


def _ranks(measures: JobMeasures, places: Sequence[int]) -> str:
    return f"rank{'' if len(places) == 1 else 's'} {measures.rank_text(places)}"
