"""The page of a roofline: the plot, and the tables behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wavescope.model.result import Result
from wavescope.render.cells.columns import fact_label, fact_text
from wavescope.render.html.counter_page import CounterWords, metric_table_html
from wavescope.render.html.markup import Html, bounded, element, joined
from wavescope.render.html.page import Page, Section
from wavescope.render.metric_tables import NumberStyle

_HINT = (
    "The number in a point is the kernel's in table 4.2. Scroll to zoom, drag to move, "
    "double-click to see all again; hover over a point or a line."
)


def roofline_page(spec: Mapping[str, Any], results: Sequence[Result], library: str) -> Page:
    """The page of a plot, drawn by `library`, and of the tables of each run."""
    drawn = {key: value for key, value in spec.items() if key not in {"title", "background"}}
    plot = element(
        "figure", element("div", id="roofline", role="img"), element("figcaption", _HINT)
    )
    sections = [Section("plot", "Plot", plot)]
    for number, result in enumerate(results, 1):
        tables = [
            metric_table_html(table, NumberStyle(), CounterWords()) for table in result.tables
        ]
        title = "Rates and points" if len(results) == 1 else f"Run {number}: rates and points"
        body = element("div", _facts(result), *tables, class_="blocks")
        sections.append(Section(f"run-{number}", title, body))
    lines = [element("span", bounded(text, 300)) for text in spec["title"]["subtitle"]]
    header = joined([element("h1", "Roofline"), element("div", *lines, class_="facts")])
    scripts = ("page", "tables", "roofline")
    styles = ("page", "roofline")
    return Page("Roofline", header, sections, {"roofline-spec": drawn}, scripts, styles, library)


def _facts(result: Result) -> Html:
    texts = [
        (fact_label(key), bounded(fact_text(key, value)))
        for key, value in result.facts.items()
        if value is not None
    ]
    facts = [element("div", element("dt", name), element("dd", text)) for name, text in texts]
    return element("dl", *facts, class_="numbers")
