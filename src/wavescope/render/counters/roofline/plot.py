"""The roofline as a Vega-Lite plot: log axes, ceilings, points sized by time, zoom and hover.

It is written as HTML, SVG, PNG or as its description. vl-convert draws it, which carries Vega in
its wheel: no browser and no network.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from wavescope.analyze.counters.roofline import Ceiling, Roofline, RoofPoint
from wavescope.errors import MachineError, UsageError
from wavescope.model.result import Result
from wavescope.render.cells.columns import fact_label, fact_text
from wavescope.render.cells.escape import shortened, visible
from wavescope.render.counters.metric_tables import NumberStyle
from wavescope.render.counters.page import CounterWords, metric_table_html
from wavescope.render.html.markup import Html, bounded, element, joined
from wavescope.render.html.page import Page, Section, write_page

_LEAST_X, _GREATEST_X = 0.01, 1000.0
_LEVELS = ("HBM", "L2", "vL1D", "LDS")
_COLORS = ("#c44e52", "#4c72b0", "#55a868", "#8172b2")
_RATE, _RATE_COLOR = "rate", "#777777"
_LONGEST_NAME = 60
_MOST_NAMES = 10
"""Kernels that are named above a picture; a page has a table of all."""
_LABEL_APART = 1.35
"""Rates that are nearer to each other than this have one label."""

SUFFIXES = (".html", ".svg", ".png", ".json")

Spec = dict[str, Any]
NamedRoofline = tuple[str, Roofline]


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


def roofline_spec(runs: Sequence[NamedRoofline], *, interactive: bool) -> Spec:
    """The plot of one or more runs; with `interactive` it can be zoomed and moved."""
    points = [row for name, run in runs for row in _point_rows(name, run)]
    ends = _ends([row["intensity"] for row in points])
    lines = [row for name, run in runs for row in _ceiling_rows(name, run, ends)]
    labels = list(_rate_labels([run for _, run in runs], ends[1]))
    least_y = min([row["performance"] for row in points] + [1e3]) / 5
    point_layer = _point_layer(points, len(runs) > 1)
    if interactive:
        point_layer["params"] = [{"name": "view", "select": "interval", "bind": "scales"}]
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "title": {
            "text": "Roofline",
            "subtitle": [
                line for name, run in runs for line in _subtitle(name, run, named=not interactive)
            ],
        },
        "width": "container" if interactive else 820,
        "height": 480,
        "background": "white",
        "layer": [
            _line_layer(lines, least_y, _legend_labels(runs)),
            _label_layer(labels),
            point_layer,
            _number_layer(points),
        ],
        "resolve": {"scale": {"color": "shared", "size": "independent"}},
    }


def _subtitle(name: str, run: Roofline, *, named: bool) -> list[str]:
    """The run; for pictures also its kernels by the numbers that stand in their points."""
    kernels = [
        f"{place}  {shortened(visible(point.name), 2 * _LONGEST_NAME)}"
        for place, point in enumerate(run.points[:_MOST_NAMES])
        if point.performance > 0
    ]
    reason = [visible(run.not_drawn)] if run.not_drawn else []
    return [f"{visible(name)} ({run.chip})", *reason, *(kernels if named else ())]


def _ends(intensities: Sequence[float]) -> tuple[float, float]:
    """Where lines begin and end: around all points, with room for labels at the right."""
    powers = [math.floor(math.log10(intensity)) for intensity in intensities]
    least = min([math.log10(_LEAST_X), *powers])
    greatest = max([math.log10(_GREATEST_X), *(power + 2 for power in powers)])
    return 10.0**least, 10.0**greatest


def _legend_labels(runs: Sequence[NamedRoofline]) -> dict[str, str]:
    """What the legend calls a memory level: with its bandwidth, where there is but one."""
    if len(runs) > 1:
        return {}
    ((_, run),) = runs
    return {each.name: _label([each]) for each in run.ceilings if each.is_bandwidth}


def _point_rows(run: str, roofline: Roofline) -> Iterator[Spec]:
    for place, point in enumerate(roofline.points):
        for level, intensity in point.intensity.items():
            if intensity > 0 and point.performance > 0:
                yield _point_row(run, point, level.value, intensity) | {"number": place}


def _point_row(run: str, point: RoofPoint, level: str, intensity: float) -> Spec:
    name = visible(point.name)
    return {
        "run": visible(run),
        "kernel": shortened(name, _LONGEST_NAME),
        "name": name,
        "level": level,
        "intensity": intensity,
        "performance": point.performance,
        "calls": point.calls,
        "time_us": point.time_ns * point.calls / 1000,
    }


def _ceiling_rows(run: str, roofline: Roofline, ends: tuple[float, float]) -> Iterator[Spec]:
    """Two points for each line: a bandwidth rises to the highest peak, a rate is level."""
    rates = roofline.rate_lines()
    top = max((ceiling.value for ceiling in rates), default=1e6)
    slopes = [ceiling for ceiling in roofline.ceilings if ceiling.is_bandwidth]
    steepest = max((ceiling.value for ceiling in slopes), default=1.0)
    for ceiling in (*slopes, *rates):
        start, end = (
            (ends[0], top / ceiling.value)
            if ceiling.is_bandwidth
            else (max(ceiling.value / steepest, ends[0]), ends[1])
        )
        for x in (start, end):
            y = ceiling.value * x if ceiling.is_bandwidth else ceiling.value
            yield {
                "run": visible(run),
                "line": f"{visible(run)}: {ceiling.name}",
                "level": ceiling.name if ceiling.is_bandwidth else _RATE,
                "intensity": x,
                "performance": y,
                "label": _label([ceiling]),
                "source": "benchmark" if ceiling.measured else "computed from clocks",
            }


def _rate_labels(rooflines: Sequence[Roofline], right: float) -> Iterator[Spec]:
    """One label for rates that are so near to each other that two would cover each other."""
    rates = sorted(
        (each for run in rooflines for each in run.ceilings if not each.is_bandwidth),
        key=lambda ceiling: -ceiling.value,
    )
    while rates:
        together = [each for each in rates if each.value * _LABEL_APART >= rates[0].value]
        yield {
            "intensity": right,
            "performance": rates[0].value,
            "label": _label(together),
        }
        rates = rates[len(together) :]


def _label(ceilings: Sequence[Ceiling]) -> str:
    """`MFMA FP16/BF16 165,537 to 171,150 GFLOP/s`."""
    by_unit: dict[str, dict[str, None]] = {}
    for ceiling in ceilings:
        unit, _, data_type = ceiling.name.partition(" ")
        by_unit.setdefault(unit, {})[data_type] = None
    names = ", ".join(f"{unit} {'/'.join(types)}".strip() for unit, types in by_unit.items())
    texts = dict.fromkeys(f"{each.value:,.0f}" for each in reversed(ceilings))
    ends = list(texts)[:: max(len(texts) - 1, 1)]
    units = {each.unit for each in ceilings}
    return f"{names} {' to '.join(ends)} {units.pop() if len(units) == 1 else 'GOP/s'}"


_POWERS = [10.0**power for power in range(-9, 13)]


def _axes(*, titled: bool = True) -> Spec:
    return {
        "x": {
            "field": "intensity",
            "type": "quantitative",
            "scale": {"type": "log"},
            "axis": {"values": _POWERS},
            "title": "operations for each byte (FLOP/B)" if titled else None,
        },
        "y": {
            "field": "performance",
            "type": "quantitative",
            "scale": {"type": "log"},
            "axis": {"values": _POWERS},
            "title": "performance (GFLOP/s)" if titled else None,
        },
    }


def _color() -> Spec:
    return {
        "field": "level",
        "type": "nominal",
        "title": "memory level",
        "scale": {"domain": [*_LEVELS, _RATE], "range": [*_COLORS, _RATE_COLOR]},
    }


def _line_layer(rows: Sequence[Spec], least_y: float, legend: dict[str, str]) -> Spec:
    kept = [row for row in rows if math.isfinite(row["performance"])]
    color = _color()
    if legend:
        named = json.dumps(legend)
        color["legend"] = {"labelExpr": f"{named}[datum.label] || datum.label", "labelLimit": 220}
    encoding = _axes() | {
        "color": color,
        "detail": {"field": "line"},
        "tooltip": [{"field": name} for name in ("run", "label", "source")],
    }
    encoding["y"]["scale"] |= {"domainMin": least_y}
    return {
        "data": {"values": kept},
        "mark": {"type": "line", "strokeWidth": 1.5, "clip": True},
        "encoding": encoding,
    }


def _label_layer(rows: Sequence[Spec]) -> Spec:
    return {
        "data": {"values": list(rows)},
        "mark": {"type": "text", "align": "right", "dy": -6, "fontSize": 10, "clip": True},
        "encoding": _axes() | {"text": {"field": "label"}},
    }


_TOLD = [
    {"field": "number"},
    {"field": "name", "title": "kernel"},
    {"field": "run"},
    {"field": "level"},
    {"field": "intensity", "format": ".4g"},
    {"field": "performance", "title": "GFLOP/s", "format": ".4g"},
    {"field": "calls"},
    {"field": "time_us", "title": "time (us)", "format": ",.1f"},
]
"""What a point tells where the pointer rests on it."""


def _number_layer(points: Sequence[Spec]) -> Spec:
    """In each point the number of its kernel, which is its row in table 4.2."""
    return {
        "data": {"values": list(points)},
        "mark": {
            "type": "text",
            "fontSize": 9,
            "fontWeight": "bold",
            "color": "white",
            "clip": True,
        },
        "encoding": _axes() | {"text": {"field": "number"}, "tooltip": _TOLD},
    }


def _point_layer(rows: Sequence[Spec], several: bool) -> Spec:
    encoding = _axes() | {
        "color": _color(),
        "size": {
            "field": "time_us",
            "type": "quantitative",
            "title": "time (us)",
            "scale": {"range": [110, 620]},
        },
        "tooltip": _TOLD,
    }
    if several:
        encoding["shape"] = {"field": "run", "type": "nominal"}
    return {
        "data": {"values": list(rows)},
        "mark": {"type": "point", "filled": True, "opacity": 0.8, "clip": True},
        "encoding": encoding,
    }


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
