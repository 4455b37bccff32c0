"""Draws the memory chart as SVG: boxes from the instructions to HBM, requests on the arrows."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import NamedTuple

from wavescope.analyze.counters.memory_chart import BOXES, FLOWS, NOT_AVAILABLE, ChartBox
from wavescope.render.html.markup import Html

_LINE = 17
_HEAD = 24
_BOX_WIDTH = 170
_FLOW_WIDTH = 110


class _Place(NamedTuple):
    x: int
    y: int
    color: str
    """Of a file; a page has its own for each part."""


_PLACES = {
    "kernel": _Place(10, 10, "#4c6a8a"),
    "waves": _Place(10, 150, "#4c6a8a"),
    "instructions": _Place(10, 256, "#4c6a8a"),
    "lds": _Place(200, 10, "#8a6d3b"),
    "vl1d": _Place(200, 105, "#2f7d6b"),
    "sl1d": _Place(200, 268, "#2f7d6b"),
    "l1i": _Place(200, 363, "#2f7d6b"),
    "l2": _Place(200 + _BOX_WIDTH + _FLOW_WIDTH, 165, "#6b4f8a"),
    "fabric": _Place(200 + 2 * (_BOX_WIDTH + _FLOW_WIDTH), 254, "#8a4f4f"),
    "hbm": _Place(200 + 3 * (_BOX_WIDTH + _FLOW_WIDTH) - 60, 262, "#555555"),
}
_SIZE = (200 + 3 * (_BOX_WIDTH + _FLOW_WIDTH) - 60 + _BOX_WIDTH + 10, 462)

_FRAME = f'viewBox="0 0 {_SIZE[0]} {_SIZE[1]}"'


def memory_chart_svg(values: Mapping[str, str]) -> str:
    """The whole drawing as a file: dark on white; texts are escaped."""
    width, height = _SIZE
    lines = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" {_FRAME} width="{width}" height="{height}" '
            'font-family="sans-serif" font-size="12" color="#222">'
        ),
        f'<rect width="{width}" height="{height}" fill="white"/>',
        *_parts(values),
        "</svg>\n",
    ]
    return "\n".join(lines)


def memory_chart_html(values: Mapping[str, str]) -> Html:
    """The drawing as part of a page, in the page's own colours."""
    lines = [f'<svg {_FRAME} class="memory-chart" role="img">', *_parts(values), "</svg>"]
    return Html("\n".join(lines))


def _parts(values: Mapping[str, str]) -> list[str]:
    return [
        "<title>Memory chart</title>",
        *(_box(box, values) for box in BOXES),
        *(_flow(key, values) for key in FLOWS),
        _arrow(_right_of("fabric"), _PLACES["hbm"].x, _middle("fabric")),
    ]


_TALL = {"l2": 262}
"""Boxes that are higher than their lines, so that every arrow meets them."""


def _height(key: str) -> int:
    if key in _TALL:
        return _TALL[key]
    box = next(box for box in BOXES if box.key == key)
    return _HEAD + _LINE * len(box.lines) + 8


def _middle(key: str) -> int:
    return _PLACES[key].y + _height(key) // 2


def _right_of(key: str) -> int:
    return _PLACES[key].x + _BOX_WIDTH


def _box(box: ChartBox, values: Mapping[str, str]) -> str:
    x, y, color = _PLACES[box.key]
    parts = [
        (
            f'<rect class="part {box.key}" x="{x}" y="{y}" width="{_BOX_WIDTH}" '
            f'height="{_height(box.key)}" rx="4" fill="{color}" fill-opacity="0.08" '
            f'stroke="{color}"/>'
        ),
        (
            f'<text class="part {box.key}" x="{x + 8}" y="{y + 17}" font-weight="bold" '
            f'fill="{color}">{escape(box.title)}</text>'
        ),
    ]
    for place, (label, row, unit) in enumerate(box.lines):
        at = y + _HEAD + _LINE * place + 13
        value = values.get(row, NOT_AVAILABLE)
        shown = f"{value} {unit}" if unit and value != NOT_AVAILABLE else value
        parts.append(f'<text x="{x + 8}" y="{at}" fill="currentColor">{escape(label)}</text>')
        parts.append(
            f'<text x="{x + _BOX_WIDTH - 8}" y="{at}" text-anchor="end" fill="currentColor">'
            f"{escape(shown)}</text>"
        )
    return "\n".join(parts)


def _flow(key: str, values: Mapping[str, str]) -> str:
    target = "fabric" if key == "l2" else "l2"
    start, end, y = _right_of(key), _PLACES[target].x, _middle(key)
    parts = [_arrow(start, end, y)]
    for place, (label, row) in enumerate(FLOWS[key]):
        text = f"{label} {values.get(row, NOT_AVAILABLE)}"
        at = y - 6 - 14 * (len(FLOWS[key]) - 1 - place)
        parts.append(
            f'<text x="{(start + end) // 2}" y="{at}" text-anchor="middle" font-size="11" '
            'fill="currentColor">'
            f"{escape(text)}</text>"
        )
    return "\n".join(parts)


def _arrow(start: int, end: int, y: int) -> str:
    return (
        f'<path d="M{start} {y}H{end - 6}" stroke="currentColor" fill="none"/>'
        f'<path d="M{end} {y}l-7 -4v8z" fill="currentColor"/>'
    )
