"""Charts as SVG: positions are percentages of the width, so that they fit any page unscripted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from wavescope.render.html.markup import Html, bounded, element
from wavescope.units import count_text, duration_text

_LABEL_FROM_PERCENT = 7.0
_LONGEST_LABEL = 60


class BarRow(NamedTuple):
    """One stacked bar: the value of each class."""

    label: str
    values: Sequence[int]


def legend(labels: Sequence[str]) -> Html:
    """The colours and what they stand for."""
    items = [
        element("li", element("span", class_=f"swatch s{number}"), bounded(label, _LONGEST_LABEL))
        for label, number in zip(labels, series_of(labels), strict=True)
    ]
    return element("ul", *items, class_="legend")


def stacked_bars(
    rows: Sequence[BarRow],
    labels: Sequence[str],
    what: str,
    spelled: Callable[[int], str] = duration_text,
) -> Html:
    """For each row a bar of its classes' shares and the total; `what` names the values."""
    colours = series_of(labels)
    lines = [
        element(
            "div",
            element("span", bounded(row.label, 40), class_="label"),
            _stacked_bar(row, labels, colours, spelled),
            element("span", spelled(sum(row.values)), class_="total"),
            class_="stack",
        )
        for row in rows
    ]
    return element("figure", *lines, legend(labels), class_="stacks", aria_label=what)


def _stacked_bar(
    row: BarRow, labels: Sequence[str], colours: Sequence[int], spelled: Callable[[int], str]
) -> Html:
    total, at, parts = sum(row.values), 0.0, []
    described = []
    for label, colour, value in zip(labels, colours, row.values, strict=True):
        if not value:
            continue
        share = 100 * value / total
        words = f"{bounded(label, _LONGEST_LABEL)} {share:.1f} %"
        described.append(words)
        hint = element("title", f"{words}, {spelled(value)}")
        parts.append(
            element(
                "rect",
                hint,
                x=f"{at:.3f}%",
                width=f"{share:.3f}%",
                height="100%",
                class_=f"s{colour}",
            )
        )
        if share >= _LABEL_FROM_PERCENT:
            shown = words if share >= 2.2 * _LABEL_FROM_PERCENT else f"{share:.0f} %"
            parts.append(
                element("text", shown, x=f"{at + share / 2:.3f}%", y="50%", class_=f"on s{colour}")
            )
        at += share
    return element(
        "svg",
        *parts,
        class_="stackbar",
        role="img",
        aria_label=", ".join(described) or "nothing",
    )


def histogram(
    edges_ns: Sequence[float], counts: Sequence[int], marks_ns: Sequence[float], what: str
) -> Html:
    """Counts over durations in logarithmic bins of equal width on the page, with lines at marks."""
    width = 100 / max(1, len(counts))
    largest = max(counts, default=0)
    bars = [
        _bar(place * width, width, count / largest, _bin_text(edges_ns, place, count))
        for place, count in enumerate(counts)
        if count
    ]
    lines = [
        _mark(_place(edges_ns, value_ns) * width, number)
        for number, value_ns in enumerate(marks_ns)
    ]
    return element(
        "svg",
        *bars,
        *lines,
        *_axis(edges_ns, width),
        class_="histogram",
        role="img",
        aria_label=what,
    )


def sparkline(counts: Sequence[int], what: str) -> Html:
    """A histogram small enough for a table's cell."""
    width = 100 / max(1, len(counts))
    largest = max(counts, default=0)
    bars = [
        element(
            "rect",
            x=f"{place * width:.2f}%",
            width=f"{width * 0.9:.2f}%",
            y=f"{100 - 100 * _height(count, largest):.1f}%",
            height=f"{100 * _height(count, largest):.1f}%",
        )
        for place, count in enumerate(counts)
        if count
    ]
    return element("svg", *bars, class_="spark", role="img", aria_label=what)


def _height(count: int, largest: int) -> float:
    """A bar's height: a single op among many is still seen."""
    return max(0.06, count / largest)


def _bar(x: float, width: float, height: float, hint: str) -> Html:
    shape = element(
        "rect",
        x=f"{x:.3f}%",
        width=f"{width * 0.92:.3f}%",
        y=f"{82 - 76 * max(height, 0.012):.2f}%",
        height=f"{76 * max(height, 0.012):.2f}%",
        class_="bar",
    )
    return element("g", shape, element("title", hint))


def _bin_text(edges_ns: Sequence[float], place: int, count: int) -> str:
    low, high = duration_text(edges_ns[place]), duration_text(edges_ns[place + 1])
    return f"{count_text(count)} from {low} to {high}"


def _mark(x: float, number: int) -> Html:
    kind = f"mark mark{number}"
    return element("line", x1=f"{x:.3f}%", x2=f"{x:.3f}%", y1="0%", y2="82%", class_=kind)


def _axis(edges_ns: Sequence[float], width: float) -> list[Html]:
    """A line and the durations at powers of two or ten that leave room for their text."""
    baseline = element("line", x1="0%", x2="100%", y1="82%", y2="82%", class_="axis")
    places = [place for place, edge in enumerate(edges_ns) if edge > 0]
    step = max(1, -(-len(places) // 4))
    texts = []
    for number, place in enumerate(places[::step]):
        anchor = "start" if number == 0 else "end" if place * width > 92 else "middle"
        texts.append(
            element(
                "text",
                duration_text(edges_ns[place]),
                x=f"{place * width:.3f}%",
                y="97%",
                text_anchor=anchor,
                class_="axistext",
            )
        )
    return [baseline, *texts]


def _place(edges_ns: Sequence[float], value_ns: float) -> float:
    """Where a value lies among the edges, in bins."""
    for place in range(len(edges_ns) - 1):
        low, high = edges_ns[place], edges_ns[place + 1]
        if value_ns < high:
            return place + max(0.0, (value_ns - low) / (high - low))
    return float(len(edges_ns) - 1)


_KNOWN = {
    "GEMM": 0,
    "attention": 1,
    "MoE": 2,
    "normalization": 3,
    "elementwise": 4,
    "reduction": 5,
    "quantization": 6,
    "sampling": 7,
    "copy/fill": 8,
    "communication": 9,
    "other": 10,
    "convolution": 11,
    "softmax": 12,
    "embedding": 13,
    "prefill": 1,
    "decode": 0,
    "mixed": 2,
    "unclassified": 10,
    "outside": 10,
    "all ops": 0,
    "timed": 3,
    "skipped": 10,
    "lost": 7,
    "not accounted for": 11,
    "operator": 5,
    "Python": 6,
    "runtime API": 11,
    "other host call": 10,
    "step marker": 3,
    "marker": 12,
    "other kernels": 10,
    "host": 8,
    "only here": 2,
    "slower": 7,
    "faster": 3,
    "same": 10,
    "odd steps": 0,
    "even steps": 5,
    "outside any step": 10,
}
_FREE = (11, 12, 13, 4, 5, 6, 7, 2, 3, 0, 1, 9)


def series_of(labels: Sequence[str]) -> list[int]:
    """The number of the colour of each label; unknown ones take turns with what is left."""
    taken = {_KNOWN[label] for label in labels if label in _KNOWN}
    free = [number for number in _FREE if number not in taken] or list(_FREE)
    unknown = [label for label in labels if label not in _KNOWN]
    given = {label: free[place % len(free)] for place, label in enumerate(unknown)}
    return [_KNOWN.get(label, given.get(label, 10)) for label in labels]


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
