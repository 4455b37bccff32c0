"""Writes the roofline plot as HTML, SVG, PNG or as its Vega-Lite description.

The plot is drawn by vl-convert, which carries Vega in its wheel: no browser and no network.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from wavescope.errors import MachineError, UsageError
from wavescope.model.result import Result
from wavescope.render.cells.columns import fact_label, fact_text
from wavescope.render.counters.counter_page import CounterWords, metric_table_html
from wavescope.render.counters.metric_tables import NumberStyle
from wavescope.render.counters.roofline_vega import NamedRoofline, roofline_spec
from wavescope.render.html.markup import Html, bounded, element, joined
from wavescope.render.html.page import Page, Section, write_page

SUFFIXES = (".html", ".svg", ".png", ".json")


def write_roofline(
    path: Path, runs: Sequence[NamedRoofline], suffix: str, results: Sequence[Result] = ()
) -> None:
    """Write the plot of `runs` to `path` in the format that `suffix` names.

    A page also shows the tables of `results`.
    """
    if suffix == ".json":
        path.write_text(json.dumps(roofline_spec(runs, interactive=True)), encoding="utf-8")
    elif suffix == ".html":
        library = str(_converter().javascript_bundle("window.vegaEmbed = vegaEmbed;"))
        page = roofline_page(roofline_spec(runs, interactive=True), results, library)
        with path.open("w", encoding="utf-8") as stream:
            write_page(page, stream)
    elif suffix == ".svg":
        spec = roofline_spec(runs, interactive=False)
        path.write_text(str(_converter().vegalite_to_svg(spec)), encoding="utf-8")
    elif suffix == ".png":
        spec = roofline_spec(runs, interactive=False)
        path.write_bytes(_converter().vegalite_to_png(spec, scale=2))
    else:
        raise UsageError(
            f"'{suffix}' is not a format for plots", hint=f"end the name with {', '.join(SUFFIXES)}"
        )


def _converter() -> ModuleType:
    try:
        import vl_convert  # noqa: PLC0415  optional, 30 MB
    except ImportError as error:
        raise MachineError(
            "plots need the package vl-convert-python",
            hint="pip install 'wavescope[plots]', or print the roofline as text without -o",
        ) from error
    return vl_convert


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
