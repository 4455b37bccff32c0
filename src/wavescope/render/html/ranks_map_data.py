"""What the heat maps of a page of ranks show, as small numbers that the page's script reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ranks.findings import view_command
from wavescope.analyze.ranks.job import MISSING, Job
from wavescope.analyze.ranks.maps import RankMap, RankStepMap
from wavescope.analyze.ranks.stragglers import PathKind, StragglerReport
from wavescope.render.cells.escape import visible
from wavescope.render.html.markup import bounded
from wavescope.render.html.timelines import packed
from wavescope.units import counted, duration_text

Reals = npt.NDArray[np.float64]

DATA_ID = "ranks-maps"
MOST_CELLS = 120_000
"""Of a map of steps: with more, each column is several steps."""
_LEAST_COLUMNS = 40
_SHARE_CODES, _TIME_CODES = 255, 65_535
"""Shares are told to 1/254, times to 1/65,534 of the longest."""
_LONGEST_PATH = 600


class Measure(NamedTuple):
    """What a map can show: a matrix of ranks and columns, NaN where there is nothing."""

    title: str
    meaning: str
    values: Reals
    is_share: bool = False
    from_zero: bool = True
    """Whether the colours begin at 0 rather than at the least value."""
    notable: float = 0.0
    """The last colour stands for at least this: less is noise."""


class DrawnMap(NamedTuple):
    """One of the maps: what it can show and what its columns are."""

    kind: str
    measures: Sequence[Measure]
    columns: dict[str, Any]
    note: str

    @property
    def column_count(self) -> int:
        return int(self.measures[0].values.shape[1])


def time_map(found: RankMap, steps: RankStepMap) -> DrawnMap:
    """Ranks by time; the steps say what is much."""
    measures = [
        Measure(
            "Exposed communication",
            "share of the time with collectives and no compute",
            found.exposed,
            is_share=True,
        ),
        Measure(
            "Arrival skew",
            "how long after the first rank it came to its collectives, the mean of those in a cell",
            found.lateness_ns,
            notable=_notable(steps),
        ),
        Measure("Compute", "share of the time with compute", found.compute, is_share=True),
        Measure("Busy", "share of the time with any work on the GPU", found.busy, is_share=True),
    ]
    told = [
        f"A column is {duration_text(found.width_ns)} of common time.",
        _error_words(found),
    ]
    foreign = int(found.is_own_clock.sum())
    if foreign:
        told.append(
            f"{counted(foreign, 'rank')} with a clock that cannot be compared: drawn from its own "
            "start on, marked * beside its number."
        )
    shown = [measure for measure in measures if np.isfinite(measure.values).any()]
    return DrawnMap("time", shown, {"width": found.width_ns}, " ".join(filter(None, told)))


def _error_words(found: RankMap) -> str:
    """How far shares can be off, in bins that were recorded from start to end."""
    is_whole = found.recorded_ns >= 0.99 * found.width_ns * found.own_rate[:, None]
    known = found.error[is_whole & np.isfinite(found.error)]
    if not known.size or not known.any():
        return ""
    return (
        "Where work lies within the bins of a rank's digest is not known: a share can be off by "
        f"{100 * float(np.median(known)):.0f} points in the median cell, by "
        f"{100 * known.max():.0f} at most; sums over time are exact."
    )


def step_map(job: Job, found: RankStepMap, report: StragglerReport, time: RankMap) -> DrawnMap:
    """Ranks by step; several steps in a column where there are very many."""
    each = _steps_per_column(*found.step_ns.shape)
    notable = _notable(found)
    measures = [
        Measure(
            "Arrival skew",
            "how long after the first rank it came to its collectives, the mean of the step",
            found.lateness_ns,
            notable=notable,
        ),
        Measure(
            "Delay caused",
            "what its own work on the critical path took beyond the typical time",
            caused_delays(report, found.step_ns.shape),
            notable=notable,
        ),
        Measure("Compute", "time with compute", found.compute_ns, from_zero=False),
        Measure(
            "Exposed communication",
            "collectives and no compute",
            found.exposed_ns,
            notable=notable,
        ),
        Measure("Step time", "first op to last op", found.step_ns, from_zero=False),
        Measure(
            "Host late",
            "idle with the next op not launched yet",
            found.host_late_ns,
            notable=notable,
        ),
    ]
    shown = [
        measure._replace(values=_columns_of(measure.values, each))
        for measure in measures
        if (np.isfinite(measure.values) & (measure.values > 0)).any()
    ]
    labels = [
        str(number) if label in {MISSING, number} else f"{number} (#{label})"
        for number, label in enumerate(found.labels.tolist())
    ]
    columns = {
        "labels": [
            _range_text(labels[first : first + each]) for first in range(0, len(labels), each)
        ],
        **_own_windows(job, time, each),
    }
    note = f"A column is {each} steps, and has the largest value of them." if each > 1 else ""
    return DrawnMap("step", shown, columns, note)


def _notable(steps: RankStepMap) -> float:
    """A fiftieth of a step: what is less than that costs nobody much."""
    known = steps.step_ns[np.isfinite(steps.step_ns)]
    return float(np.median(known)) / 50 if known.size else 0.0


def _steps_per_column(rank_count: int, step_count: int) -> int:
    most = max(_LEAST_COLUMNS, MOST_CELLS // max(1, rank_count))
    return max(1, -(-step_count // most))


def _range_text(labels: Sequence[str]) -> str:
    return labels[0] if len(labels) == 1 else f"{labels[0]} to {labels[-1]}"


def _columns_of(values: Reals, each: int) -> Reals:
    """The largest of every `each` columns; NaN where all are."""
    if each == 1:
        return values
    rank_count, step_count = values.shape
    padded = np.full((rank_count, -(-step_count // each) * each), -np.inf)
    padded[:, :step_count] = np.where(np.isnan(values), -np.inf, values)
    largest = padded.reshape(rank_count, -1, each).max(axis=2)
    return np.where(np.isneginf(largest), np.nan, largest)


def caused_delays(report: StragglerReport, shape: tuple[int, ...]) -> Reals:
    """[place, step]: the excess of a rank's own work on the path; NaN where it was not on it."""
    delays: Reals = np.full(shape, np.nan)
    for account in report.steps:
        for part in account.parts:
            if part.kind is PathKind.LOCAL and part.place < shape[0] and account.step < shape[1]:
                before = delays[part.place, account.step]
                total = (0 if np.isnan(before) else before) + part.excess_ns
                delays[part.place, account.step] = total
    delays[delays < 0] = 0
    return delays


def _own_windows(job: Job, time: RankMap, each: int) -> dict[str, Any]:
    """Of each cell the rank's own time, in microseconds since its left edge; length 0: none."""
    starts, ends = job.step_column("start_ns"), job.step_column("end_ns")
    is_there = job.steps != MISSING
    since = time.own_first_ns[:, None]
    start_us = np.where(is_there, np.maximum(0, starts - since) // 1000, -1)
    end_us = np.where(is_there, -(-np.maximum(0, ends - since) // 1000), -1)
    last = _columns_of(np.where(is_there, end_us, np.nan).astype(np.float64), each)
    first = -_columns_of(-np.where(is_there, start_us, np.nan).astype(np.float64), each)
    first, last = np.nan_to_num(first), np.nan_to_num(last)
    return {
        "starts": packed(first.astype(np.uint64).ravel()),
        "lengths": packed(np.maximum(0, last - first).astype(np.uint64).ravel()),
    }


def maps_data(
    job: Job, time: RankMap, report: StragglerReport, maps: Sequence[DrawnMap]
) -> dict[str, Any]:
    """What the page's script reads: the ranks, and each map by its kind."""
    late = {place for culprit in report.culprits for place in culprit.places}
    return {
        "ranks": _ranks(job, time, late),
        "maps": {drawn.kind: _map_data(drawn) for drawn in maps},
    }


def _map_data(drawn: DrawnMap) -> dict[str, Any]:
    return {
        "kind": drawn.kind,
        "columns": drawn.column_count,
        **drawn.columns,
        "measures": [_measure_data(measure) for measure in drawn.measures],
    }


def _measure_data(measure: Measure) -> dict[str, Any]:
    codes = _SHARE_CODES if measure.is_share else _TIME_CODES
    values = np.maximum(measure.values, 0)
    known = values[np.isfinite(values)]
    largest = 1.0 if measure.is_share else float(known.max(initial=0.0)) or 1.0
    scaled = np.rint(np.where(np.isfinite(values), values, 0) / largest * (codes - 1)) + 1
    coded = np.where(np.isfinite(values), scaled, 0).astype(np.uint16)
    low, high = colour_range(measure)
    return {
        "title": measure.title,
        "unit": "%" if measure.is_share else "ns",
        "low": low,
        "high": high,
        "largest": largest,
        "codes": codes,
        "data": packed(coded.ravel()),
    }


def colour_range(measure: Measure) -> tuple[float, float]:
    """The values of the first and the last colour: what lies beyond has theirs.

    Not wider than nearly all cells need, or any rank or column most of the time, so that one slow
    rank of a thousand is seen and one wild cell hides nothing; and not so narrow that the noise of
    a calm run looks like something.
    """
    known = measure.values[np.isfinite(measure.values)]
    if not known.size:
        return 0.0, 1.0
    least, most = (float(value) for value in np.percentile(known, (1, 99.5)))
    most = max(most, _largest_usual(measure.values, 1), _largest_usual(measure.values, 0))
    if measure.is_share:
        low = min(0.8, float(np.floor(10 * least)) / 10)
        return low, max(low + 0.2, float(np.ceil(10 * most)) / 10)
    if measure.from_zero:
        return 0.0, max(most, measure.notable, 1_000.0)
    middle = float(np.median(known))
    return min(least, 0.97 * middle), max(most, 1.03 * middle)


def _largest_usual(values: Reals, axis: int) -> float:
    """Of all rows or columns that have any values the greatest upper quartile."""
    has_any = np.isfinite(values).any(axis=axis)
    shown = values[has_any] if axis == 1 else values[:, has_any]
    return float(np.nanpercentile(shown, 75, axis=axis).max(initial=0.0))


def _ranks(job: Job, time: RankMap, late: Collection[int]) -> list[dict[str, Any]]:
    shared = Counter(path for rank in job.ranks for path in rank.paths)
    return [
        {
            "label": f"Rank {number}",
            "number": f"{number}{'*' if time.is_own_clock[place] else ''}",
            "host": bounded(rank.identity.host, 16),
            "place": place_text(job, place),
            "commands": [
                open_command(path, number if shared[path] > 1 else None) for path in rank.paths
            ],
            "later": [str(first_ns) for first_ns, _ in rank.later_files],
            "left": str(int(time.own_first_ns[place])),
            "rate": float(time.own_rate[place]),
            "isLate": place in late,
            "clock": _clock_words(job, place) if time.is_own_clock[place] else "",
        }
        for place, (number, rank) in enumerate(zip(job.numbers, job.ranks, strict=True))
    ]


def _clock_words(job: Job, place: int) -> str:
    reason = bounded(job.clocks[place].reason, 160)
    return f"Its own clock, not comparable{f': {reason}' if reason else ''}"


def place_text(job: Job, place: int) -> str:
    """Where a rank ran: host, GPU and its model."""
    identity = job.ranks[place].identity
    words = [
        bounded(identity.host, 60),
        f"GPU {identity.gpu}" if identity.gpu >= 0 else "",
        bounded(identity.gpu_model or identity.chip, 60),
    ]
    return " · ".join(word for word in words if word)


def open_command(path: str, rank: int | None) -> tuple[str, str]:
    """The command that opens a rank's trace, before and after its times.

    Nothing where the path holds what a terminal would not take as it is shown: names of files are
    not to be trusted, and this is made to be pasted.
    """
    if not path or len(path) > _LONGEST_PATH or visible(path) != path:
        return "", ""
    before, _, after = view_command(path, 0, 0, rank).rpartition(" --start=0 --end=0")
    return before, after
