"""Draws the memory chart: boxes from the instructions to HBM, requests on the arrows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

from wavescope.analyze.counters.metrics import ChartBox, chart_boxes
from wavescope.render.counters.metric_tables import NOT_AVAILABLE
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
        *(_box(box, values) for box in chart_boxes().values()),
        *(_flow(box, values) for box in chart_boxes().values() if box.sends),
        _arrow(_right_of("fabric"), _PLACES["hbm"].x, _middle("fabric")),
    ]


_TALL = {"l2": 262}
"""Boxes that are higher than their lines, so that every arrow meets them."""


def _height(key: str) -> int:
    if key in _TALL:
        return _TALL[key]
    return _HEAD + _LINE * len(chart_boxes()[key].lines) + 8


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


def _flow(box: ChartBox, values: Mapping[str, str]) -> str:
    target = "fabric" if box.key == "l2" else "l2"
    start, end, y = _right_of(box.key), _PLACES[target].x, _middle(box.key)
    parts = [_arrow(start, end, y)]
    for place, (label, row) in enumerate(box.sends):
        text = f"{label} {values.get(row, NOT_AVAILABLE)}"
        at = y - 6 - 14 * (len(box.sends) - 1 - place)
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


_LEAST_WIDTH = 19
_GREATEST_WIDTH = 25
_NARROW_WIDTH = 23
_LAUNCH = ("kernel", "waves", "instructions")
_FIRST_LEVEL = ("lds", "vl1d", "sl1d", "l1i")
_BELOW = ("l2", "fabric", "hbm")
_ITEMS_ABREAST = 3


def memory_chart_lines(values: Mapping[str, str], width: int) -> list[str]:
    """The chart in lines of at most `width` cells (at least 23).

    Where all parts of the first level fit beside each other, arrows lead from them to the L2 below;
    elsewhere boxes follow each other and say themselves what they send down.
    """
    box_width = min((width + 1) // len(_FIRST_LEVEL) - 1, _GREATEST_WIDTH)
    if box_width >= _LEAST_WIDTH:
        return _levels(values, box_width)
    across = max((width + 1) // (_NARROW_WIDTH + 1), 1)
    keys = (*_LAUNCH, *_FIRST_LEVEL, *_BELOW)
    lines: list[str] = []
    for start in range(0, len(keys), across):
        boxes = [
            _text_box(key, [*_items(key, values), *_sent(key, values)], _NARROW_WIDTH)
            for key in keys[start : start + across]
        ]
        lines += _side_by_side(boxes, _NARROW_WIDTH)
    return lines


def _levels(values: Mapping[str, str], box_width: int) -> list[str]:
    whole = len(_FIRST_LEVEL) * (box_width + 1) - 1
    launch_width = min((whole + 1) // len(_LAUNCH) - 1, _GREATEST_WIDTH)
    lines: list[str] = []
    for keys, width in ((_LAUNCH, launch_width), (_FIRST_LEVEL, box_width)):
        boxes = [_text_box(key, _items(key, values), width) for key in keys]
        lines += _side_by_side(boxes, width)
    arrows = [_text_arrow(key, values, box_width) for key in _FIRST_LEVEL]
    lines += _side_by_side(arrows, box_width)
    indent = " " * (box_width + 1)
    below_width = whole - box_width - 1
    for key in _BELOW:
        lines += [indent + line for line in _wide_box(key, _items(key, values), below_width)]
        lines += [(indent + line).rstrip() for line in _text_arrow(key, values, below_width)]
    return lines


def _items(key: str, values: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Label, value and unit of each line of a box."""
    lines = chart_boxes()[key].lines
    return [(label, values.get(row, NOT_AVAILABLE), unit) for label, row, unit in lines]


def _sent(key: str, values: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """What goes from a box to the next level, as lines of the box."""
    sends = chart_boxes()[key].sends
    return [(f"sends {label}", values.get(row, NOT_AVAILABLE), "") for label, row in sends]


def _item_text(item: tuple[str, str, str], width: int) -> str:
    """A label and its value at the two ends; the unit is there where it fits."""
    label, value, unit = item
    shown = f"{value} {unit}" if unit and value != NOT_AVAILABLE else value
    if len(label) + 1 + len(shown) > width:
        shown = value
    label = label[: width - 1 - len(shown)]
    return label + shown.rjust(width - len(label))


def _text_box(key: str, items: Sequence[tuple[str, str, str]], width: int) -> list[str]:
    return _framed(key, [_item_text(item, width - 4) for item in items], width)


def _wide_box(key: str, items: Sequence[tuple[str, str, str]], width: int) -> list[str]:
    """A box with several items in a line, one below the other in their columns."""
    rows = -(-len(items) // _ITEMS_ABREAST)
    cell = (width - 4 - 3 * (_ITEMS_ABREAST - 1)) // _ITEMS_ABREAST
    texts = ["   ".join(_item_text(item, cell) for item in items[row::rows]) for row in range(rows)]
    return _framed(key, texts, width)


def _framed(key: str, texts: Sequence[str], width: int) -> list[str]:
    title = chart_boxes()[key].title
    return [
        "┌─ " + title + " " + "─" * (width - 5 - len(title)) + "┐",
        *(f"│ {text.ljust(width - 4)} │" for text in texts),
        "└" + "─" * (width - 2) + "┘",
    ]


def _text_arrow(key: str, values: Mapping[str, str], width: int) -> list[str]:
    """The requests that go down from a box, beside an arrow."""
    lines = [
        f"   │ {label} {values.get(row, NOT_AVAILABLE)}".ljust(width)
        for label, row in chart_boxes()[key].sends
    ]
    if key == "fabric":
        lines = ["   │".ljust(width)]
    return [*lines, "   ▼".ljust(width)] if lines else []


def _side_by_side(columns: Sequence[list[str]], width: int) -> list[str]:
    height = max(len(column) for column in columns)
    blank = " " * width
    padded = [column + [blank] * (height - len(column)) for column in columns]
    return [" ".join(cells).rstrip() for cells in zip(*padded, strict=True)]
