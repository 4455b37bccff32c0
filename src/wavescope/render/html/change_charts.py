"""Charts of change: a metric from trace to trace, and what a difference is made of."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from wavescope.render.html.markup import Html, bounded, element
from wavescope.units import duration_text


def trend_lines(
    labels: Sequence[str], values: Sequence[float | None], texts: Sequence[str]
) -> Html:
    """Values of successive traces as joined points, each with its text; the axis starts at zero."""
    known = [value for value in values if value is not None]
    largest = max(known, default=0.0) or 1.0
    width = 100 / len(labels)
    points = [
        None if value is None else (width * (place + 0.5), 74 - 58 * value / largest)
        for place, value in enumerate(values)
    ]
    lines = [
        _segment(start, end)
        for start, end in pairwise(points)
        if start is not None and end is not None
    ]
    marks = [
        element(
            "g",
            element("circle", cx=f"{point[0]:.2f}%", cy=f"{point[1]:.2f}%", r="4"),
            element("text", text, x=f"{point[0]:.2f}%", y=f"{point[1] - 7:.2f}%", class_="point"),
        )
        for point, text in zip(points, texts, strict=True)
        if point is not None
    ]
    fits = max(6, 60 // len(labels))
    names = [
        element("text", bounded(label, fits), x=f"{width * (place + 0.5):.2f}%", y="90%")
        for place, label in enumerate(labels)
    ]
    baseline = element("line", x1="0%", x2="100%", y1="74%", y2="74%", class_="axis")
    described = ", ".join(
        f"{bounded(label, 60)}: {text}" for label, text in zip(labels, texts, strict=True)
    )
    return element(
        "svg", baseline, *lines, *marks, *names, class_="trend", role="img", aria_label=described
    )


def _segment(start: tuple[float, float], end: tuple[float, float]) -> Html:
    return element(
        "line",
        x1=f"{start[0]:.2f}%",
        y1=f"{start[1]:.2f}%",
        x2=f"{end[0]:.2f}%",
        y2=f"{end[1]:.2f}%",
    )


class WaterfallStep(NamedTuple):
    """A part of a difference: the sum before it and with it."""

    label: str
    before_ns: int
    after_ns: int
    is_total: bool = False


def waterfall(steps: Sequence[WaterfallStep], what: str) -> Html:
    """From one total to another, part by part; the axis shows only where the sums move."""
    edges = [edge for step in steps for edge in (step.before_ns, step.after_ns) if edge]
    high, low = max(edges, default=1), min(edges, default=0)
    floor = max(0, low - (high - low) // 2)
    rows = [_waterfall_row(step, floor, max(1, high - floor)) for step in steps]
    scale = element("figcaption", f"The scale begins at {duration_text(floor)}.") if floor else None
    return element("figure", *rows, scale, class_="waterfall", aria_label=what)


def _waterfall_row(step: WaterfallStep, floor_ns: int, range_ns: int) -> Html:
    low, high = sorted((step.before_ns, step.after_ns))
    left = 100 * max(0, low - floor_ns) / range_ns
    right = 100 * (high - floor_ns) / range_ns
    delta_ns = step.after_ns - step.before_ns
    kind = "all" if step.is_total else "more" if delta_ns > 0 else "less"
    text = (
        duration_text(high)
        if step.is_total
        else f"{'+' if delta_ns > 0 else ''}{duration_text(delta_ns)}"
    )
    bar = element(
        "rect",
        x=f"{left:.3f}%",
        width=f"{max(0.15, right - left):.3f}%",
        height="100%",
        class_=kind,
    )
    return element(
        "div",
        element("span", bounded(step.label, 60), class_="label"),
        element("svg", bar, aria_hidden="true"),
        element("span", text, class_=f"total {kind}"),
        class_="stack",
    )
