"""Charts as SVG: positions are percentages of the width, so that they fit any page unscripted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from wavescope.render.html.markup import Html, bounded, element
from wavescope.render.html.series import series_of
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
