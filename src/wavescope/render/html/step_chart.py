"""A quantity over time as bars, with a dashed line for what it could be at most."""

from __future__ import annotations

from collections.abc import Sequence

from wavescope.render.html.markup import Html, element
from wavescope.units import count_text

_WIDTH, _HEIGHT = 800, 120


def step_chart(values: Sequence[float], limit: float | None, span_cycles: int, what: str) -> Html:
    """Bars of equal pieces of time; the scale ends at the limit or the largest value."""
    largest = max([*values, limit or 0.0, 0.001])
    width = _WIDTH / max(len(values), 1)
    piece = span_cycles / max(len(values), 1)
    bars = [
        element(
            "rect",
            element("title", f"{value:.2f} from {count_text(round(number * piece))} cycles"),
            x=f"{number * width:.1f}",
            y=f"{_HEIGHT * (1 - value / largest):.1f}",
            width=f"{max(width - 1, 0.5):.1f}",
            height=f"{_HEIGHT * value / largest:.1f}",
            class_="bar",
        )
        for number, value in enumerate(values)
    ]
    marks = [element("text", "0", x="0", y=f"{_HEIGHT + 14}")]
    marks.append(
        element(
            "text", f"{count_text(span_cycles)} cycles", x=f"{_WIDTH - 110}", y=f"{_HEIGHT + 14}"
        )
    )
    if limit is not None:
        y = f"{_HEIGHT * (1 - limit / largest):.1f}"
        marks.append(element("line", x1="0", x2=str(_WIDTH), y1=y, y2=y, class_="limit"))
    fits = f"; the dashed line is what fits: {limit:g}" if limit is not None else ""
    return element(
        "figure",
        element(
            "svg",
            *bars,
            *marks,
            viewBox=f"0 0 {_WIDTH} {_HEIGHT + 18}",
            preserveAspectRatio="none",
            class_="steps",
            role="img",
            aria_label=what,
        ),
        element("figcaption", f"{what}, largest {max([*values, 0.0]):.2f}{fits}"),
    )
