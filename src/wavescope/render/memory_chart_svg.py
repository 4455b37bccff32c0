"""Draws the memory chart as SVG: boxes from the instructions to HBM, requests on the arrows."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import NamedTuple

from wavescope.analyze.counters.memory_chart import BOXES, FLOWS, NOT_AVAILABLE, ChartBox

_LINE = 17
_HEAD = 24
_BOX_WIDTH = 170
_FLOW_WIDTH = 110


class _Place(NamedTuple):
    x: int
    y: int
    color: str


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


def memory_chart_svg(values: Mapping[str, str]) -> str:
    """The whole drawing; texts are escaped."""
    width, height = _SIZE
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" font-family="sans-serif" font-size="12">'
        ),
        "<title>Memory chart</title>",
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    parts += [_box(box, values) for box in BOXES]
    parts += [_flow(key, values) for key in FLOWS]
    parts.append(_arrow(_right_of("fabric"), _PLACES["hbm"].x, _middle("fabric")))
    return "\n".join([*parts, "</svg>\n"])


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
            f'<rect x="{x}" y="{y}" width="{_BOX_WIDTH}" height="{_height(box.key)}" rx="4" '
            f'fill="{color}" fill-opacity="0.08" stroke="{color}"/>'
        ),
        (
            f'<text x="{x + 8}" y="{y + 17}" font-weight="bold" fill="{color}">'
            f"{escape(box.title)}</text>"
        ),
    ]
    for place, (label, row, unit) in enumerate(box.lines):
        at = y + _HEAD + _LINE * place + 13
        value = values.get(row, NOT_AVAILABLE)
        shown = f"{value} {unit}" if unit and value != NOT_AVAILABLE else value
        parts.append(f'<text x="{x + 8}" y="{at}">{escape(label)}</text>')
        parts.append(
            f'<text x="{x + _BOX_WIDTH - 8}" y="{at}" text-anchor="end">{escape(shown)}</text>'
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
            f'<text x="{(start + end) // 2}" y="{at}" text-anchor="middle" font-size="11">'
            f"{escape(text)}</text>"
        )
    return "\n".join(parts)


def _arrow(start: int, end: int, y: int) -> str:
    return (
        f'<path d="M{start} {y}H{end - 6}" stroke="#333" fill="none"/>'
        f'<path d="M{end} {y}l-7 -4v8z" fill="#333"/>'
    )
