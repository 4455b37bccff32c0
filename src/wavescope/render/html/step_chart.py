"""A quantity over time as bars, with a dashed line for what it could be at most."""

from __future__ import annotations

from collections.abc import Sequence

from wavescope.render.html.markup import Html, element
from wavescope.units import count_text

_BASE_PERCENT = 86.0
"""Where the bars stand; the span of time is written below."""


def step_chart(values: Sequence[float], limit: float | None, span_cycles: int, what: str) -> Html:
    """Bars of equal pieces of time; the scale ends at the limit or the largest value."""
    largest = max([*values, limit or 0.0, 0.001])
    width = 100 / max(len(values), 1)
    piece = span_cycles / max(len(values), 1)
    bars = [
        element(
            "rect",
            element("title", f"{value:.2f} from {count_text(round(number * piece))} cycles"),
            x=f"{number * width:.3f}%",
            y=f"{_BASE_PERCENT * (1 - value / largest):.2f}%",
            width=f"{0.97 * width:.3f}%",
            height=f"{_BASE_PERCENT * value / largest:.2f}%",
            class_="bar",
        )
        for number, value in enumerate(values)
    ]
    marks = [
        element("text", "0", x="0", y="98%"),
        element("text", f"{count_text(span_cycles)} cycles", x="100%", y="98%", text_anchor="end"),
    ]
    if limit is not None:
        y = f"{_BASE_PERCENT * (1 - limit / largest):.2f}%"
        marks.append(element("line", x1="0%", x2="100%", y1=y, y2=y, class_="limit"))
    fits = f"; the dashed line is what fits: {limit:g}" if limit is not None else ""
    return element(
        "figure",
        element("svg", *bars, *marks, class_="steps", role="img", aria_label=what),
        element("figcaption", f"{what}, largest {max([*values, 0.0]):.2f}{fits}"),
    )
