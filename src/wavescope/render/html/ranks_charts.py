"""Small charts of a page of ranks: how long steps took, stages, how sure clocks are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ranks.job import Job
from wavescope.analyze.ranks.maps import RankStepMap
from wavescope.model.result import Result, Value
from wavescope.render.html.charts import BarRow, histogram, stacked_bars
from wavescope.render.html.markup import Html, element
from wavescope.units import counted, duration_text

_DISTRIBUTION_BINS = 48
_HALF_PX = 50
"""Above and below the line of the clocks' chart."""


def distribution_html(steps: RankStepMap) -> Html:
    """How long steps took, of all ranks together."""
    known = steps.step_ns[np.isfinite(steps.step_ns)]
    if known.size < 2 or known.min() <= 0:
        return Html("")
    edges, counts = distribution(known)
    median, slow = (float(value) for value in np.percentile(known, (50, 95)))
    what = (
        f"{counted(known.size, 'step')} of {counted(len(steps.step_ns), 'rank')}: median "
        f"{duration_text(median)}, 95 % within {duration_text(slow)}, from "
        f"{duration_text(known.min())} to {duration_text(known.max())}"
    )
    return element(
        "figure",
        element("h3", "How long steps took"),
        histogram(edges, counts, [median, slow], what),
        element(
            "figcaption",
            f"{what}. ",
            element("span", "median", class_="key0"),
            element("span", "95th percentile", class_="key1"),
        ),
    )


def distribution(known: npt.NDArray[np.float64]) -> tuple[Sequence[float], Sequence[int]]:
    """Edges that grow by equal factors, and how many values lie between each two."""
    low, high = float(known.min()), float(known.max())
    edges = np.geomspace(low, max(high, low * 1.001), _DISTRIBUTION_BINS + 1)
    places = np.clip(np.searchsorted(edges, known, side="right") - 1, 0, _DISTRIBUTION_BINS - 1)
    counts = np.bincount(places, minlength=_DISTRIBUTION_BINS)
    return edges.tolist(), counts.tolist()


def stages_html(result: Result) -> Html:
    """A bar for each stage of a pipeline: its compute, and its bubble."""
    table = next((table for table in result.tables if table.name == "stages"), None)
    if table is None or not table.rows:
        return Html("")
    rows = [BarRow(f"stage {row['stage']}", _stage_times(row)) for row in table.records()]
    if not any(sum(row.values) for row in rows):
        return Html("")
    what = "A step of each pipeline stage, the median rank's"
    labels = ["compute", "bubble", "other"]
    return element("div", element("h3", what), stacked_bars(rows, labels, what), class_="stages")


def _stage_times(row: Mapping[str, Value]) -> list[int]:
    """Compute, bubble, and the rest of the step, whose length the bubble's share tells."""
    compute_ns, bubble_ns = _time(row["compute_ns"]), _time(row["bubble_ns"])
    share = row.get("bubble_percent")
    step_ns = 100 * bubble_ns / share if isinstance(share, int | float) and share > 0 else 0
    return [compute_ns, bubble_ns, max(0, round(step_ns) - compute_ns - bubble_ns)]


def _time(value: Value) -> int:
    return max(0, int(value)) if isinstance(value, int | float) else 0


class _Interval(NamedTuple):
    """What causality leaves to a rank's offset, around the fitted one."""

    place: int
    low_ns: int
    high_ns: int


def clocks_html(job: Job) -> Html:
    """For each rank the certified interval of its clock's offset around what was fitted."""
    intervals = [
        _Interval(place, clock.low_ns - clock.offset_ns, clock.high_ns - clock.offset_ns)
        for place, clock in enumerate(job.clocks)
        if clock.is_comparable and clock.low_ns is not None and clock.high_ns is not None
    ]
    intervals = [each for each in intervals if each.high_ns > each.low_ns]
    if len(intervals) < 2:
        return Html("")
    reaches = [max(-each.low_ns, each.high_ns, 1) for each in intervals]
    most_ns = float(np.percentile(reaches, 98))
    widths = sorted(each.high_ns - each.low_ns for each in intervals)
    what = (
        f"How sure {counted(len(intervals), 'clock')} are: what causality leaves of each offset, "
        f"around the fitted one; {duration_text(widths[len(widths) // 2])} wide in the median, "
        f"{duration_text(widths[-1])} at most"
    )
    return element(
        "figure",
        element("h3", "How sure the clocks are"),
        element(
            "div",
            element("span", f"+{duration_text(most_ns)}"),
            element("span", "fitted"),
            element("span", f"\N{MINUS SIGN}{duration_text(most_ns)}"),
            _interval_lines(intervals, len(job), most_ns, what),
            class_="intervals",
        ),
        element("figcaption", f"{what}. A line for each rank, rank {job.numbers[0]} at the left."),
    )


def _interval_lines(
    intervals: Sequence[_Interval], rank_count: int, most_ns: float, what: str
) -> Html:
    def y(time_ns: int) -> float:
        return _HALF_PX - _HALF_PX * min(1.0, max(-1.0, time_ns / most_ns))

    lines = "".join(
        f"M{each.place + 0.5:g} {y(each.high_ns):.1f}V{y(each.low_ns):.1f}" for each in intervals
    )
    return element(
        "svg",
        element("path", d=lines, class_=_thickness(rank_count)),
        element("path", d=f"M0 {_HALF_PX}H{rank_count}", class_="fitted"),
        viewBox=f"0 0 {rank_count} {2 * _HALF_PX}",
        preserveAspectRatio="none",
        role="img",
        aria_label=what,
    )


def _thickness(rank_count: int) -> str:
    return "wide" if rank_count <= 64 else "middle" if rank_count <= 256 else "thin"
