"""The roofline as a Vega-Lite plot: log axes, ceilings, points sized by time, zoom and hover."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from wavescope.analyze.counters.roofline import Ceiling, Roofline, RoofPoint, rate_lines
from wavescope.render.escape import shortened, visible

_LEAST_X, _GREATEST_X = 0.01, 1000.0
_LEVELS = ("HBM", "L2", "vL1D", "LDS")
_COLORS = ("#c44e52", "#4c72b0", "#55a868", "#8172b2")
_LONGEST_NAME = 60

Spec = dict[str, Any]
NamedRoofline = tuple[str, Roofline]


def roofline_spec(runs: Sequence[NamedRoofline], *, interactive: bool) -> Spec:
    """The plot of one or more runs; with `interactive` it can be zoomed and moved."""
    points = [row for name, run in runs for row in _point_rows(name, run)]
    lines = [row for name, run in runs for row in _ceiling_rows(name, run)]
    least_y = min([row["performance"] for row in points] + [1e3]) / 5
    spec: Spec = {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "title": {
            "text": "Roofline",
            "subtitle": [f"{visible(name)} ({run.chip})" for name, run in runs],
        },
        "width": 820,
        "height": 480,
        "background": "white",
        "layer": [
            _line_layer(lines, least_y),
            _label_layer(lines),
            _point_layer(points, len(runs) > 1),
        ],
        "resolve": {"scale": {"color": "shared", "size": "independent"}},
    }
    if interactive:
        spec["layer"][2]["params"] = [{"name": "view", "select": "interval", "bind": "scales"}]
    return spec


def _point_rows(run: str, roofline: Roofline) -> Iterator[Spec]:
    for point in roofline.points:
        for level, intensity in point.intensity.items():
            if intensity > 0 and point.performance > 0:
                yield _point_row(run, point, level.value, intensity)


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


def _ceiling_rows(run: str, roofline: Roofline) -> Iterator[Spec]:
    """Two points for each line: a bandwidth rises to the highest peak, a rate is level."""
    rates = rate_lines(roofline)
    top = max((ceiling.value for ceiling in rates), default=1e6)
    slopes = [ceiling for ceiling in roofline.ceilings if ceiling.is_bandwidth]
    steepest = max((ceiling.value for ceiling in slopes), default=1.0)
    for ceiling in (*slopes, *rates):
        start, end = (
            (_LEAST_X, top / ceiling.value)
            if ceiling.is_bandwidth
            else (max(ceiling.value / steepest, _LEAST_X), _GREATEST_X)
        )
        for x in (start, end):
            y = ceiling.value * x if ceiling.is_bandwidth else ceiling.value
            yield {
                "run": visible(run),
                "line": f"{visible(run)}: {ceiling.name}",
                "level": ceiling.name if ceiling.is_bandwidth else "rate",
                "intensity": x,
                "performance": y,
                "label": _label(ceiling),
                "is_end": x == end,
                "source": "benchmark" if ceiling.measured else "computed from clocks",
            }


def _label(ceiling: Ceiling) -> str:
    unit = "GB/s" if ceiling.is_bandwidth else "GFLOP/s"
    unit = "GIOP/s" if ceiling.data_type.startswith("I") else unit
    return f"{ceiling.name} {ceiling.value:,.0f} {unit}"


def _axes(*, titled: bool = True) -> Spec:
    return {
        "x": {
            "field": "intensity",
            "type": "quantitative",
            "scale": {"type": "log"},
            "title": "operations for each byte (FLOP/B)" if titled else None,
        },
        "y": {
            "field": "performance",
            "type": "quantitative",
            "scale": {"type": "log"},
            "title": "performance (GFLOP/s)" if titled else None,
        },
    }


def _color() -> Spec:
    return {
        "field": "level",
        "type": "nominal",
        "title": "memory level",
        "scale": {"domain": [*_LEVELS, "rate"], "range": [*_COLORS, "#555555"]},
    }


def _line_layer(rows: Sequence[Spec], least_y: float) -> Spec:
    kept = [row for row in rows if math.isfinite(row["performance"])]
    encoding = _axes() | {
        "color": _color(),
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
        "data": {"values": [row for row in rows if row["is_end"] and row["level"] == "rate"]},
        "mark": {"type": "text", "align": "right", "dy": -6, "fontSize": 10, "clip": True},
        "encoding": _axes() | {"text": {"field": "label"}},
    }


def _point_layer(rows: Sequence[Spec], several: bool) -> Spec:
    encoding = _axes() | {
        "color": _color(),
        "size": {
            "field": "time_us",
            "type": "quantitative",
            "title": "time (us)",
            "scale": {"range": [60, 600]},
        },
        "tooltip": [
            {"field": "name", "title": "kernel"},
            {"field": "run"},
            {"field": "level"},
            {"field": "intensity", "format": ".4g"},
            {"field": "performance", "title": "GFLOP/s", "format": ".4g"},
            {"field": "calls"},
            {"field": "time_us", "title": "time (us)", "format": ",.1f"},
        ],
    }
    if several:
        encoding["shape"] = {"field": "run", "type": "nominal"}
    return {
        "data": {"values": list(rows)},
        "mark": {"type": "point", "filled": True, "opacity": 0.8, "clip": True},
        "encoding": encoding,
    }
