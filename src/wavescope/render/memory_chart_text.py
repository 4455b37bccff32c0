"""Draws the memory chart with characters, downwards: it fits narrow terminals too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wavescope.analyze.counters.memory_chart import BOXES, FLOWS, NOT_AVAILABLE

_LEAST_WIDTH = 23
_GREATEST_WIDTH = 25
_ROWS = (
    ("kernel", "waves", "instructions"),
    ("lds", "vl1d", "sl1d", "l1i"),
    ("l2",),
    ("fabric",),
    ("hbm",),
)
_MIDDLE = 1
"""The place in a row above which the next level is drawn."""


def memory_chart_lines(values: Mapping[str, str], width: int) -> list[str]:
    """The chart in lines of at most `width` cells (at least 23)."""
    across = max(min(4, (width + 1) // (_LEAST_WIDTH + 1)), 1)
    box_width = max(min((width + 1) // across - 1, _GREATEST_WIDTH), _LEAST_WIDTH)
    indent = " " * ((box_width + 1) * (_MIDDLE if across > 2 else 0))
    lines: list[str] = []
    for keys in _ROWS:
        for start in range(0, len(keys), across):
            part = keys[start : start + across]
            prefix = indent if len(keys) == 1 else ""
            boxes = [_box(key, values, box_width) for key in part]
            lines += [prefix + line for line in _side_by_side(boxes, box_width)]
            flows = [_flow(key, values, box_width) for key in part]
            lines += [(prefix + line).rstrip() for line in _side_by_side(flows, box_width)]
    return lines


def _box(key: str, values: Mapping[str, str], width: int) -> list[str]:
    box = next(box for box in BOXES if box.key == key)
    inner = width - 4
    lines = ["┌─ " + box.title + " " + "─" * (width - 5 - len(box.title)) + "┐"]
    for label, row, unit in box.lines:
        value = values.get(row, NOT_AVAILABLE)
        shown = f"{value} {unit}" if unit and value != NOT_AVAILABLE else value
        if len(label) + 1 + len(shown) > inner:
            shown = value
        lines.append("│ " + label + shown.rjust(inner - len(label)) + " │")
    return [*lines, "└" + "─" * (width - 2) + "┘"]


def _flow(key: str, values: Mapping[str, str], width: int) -> list[str]:
    """The requests that go down from a box, beside an arrow."""
    lines = [
        f"   │ {label} {values.get(row, NOT_AVAILABLE)}".ljust(width)
        for label, row in FLOWS.get(key, ())
    ]
    if key == "fabric":
        lines = ["   │".ljust(width)]
    return [*lines, "   ▼".ljust(width)] if lines else []


def _side_by_side(columns: Sequence[list[str]], width: int) -> list[str]:
    height = max((len(column) for column in columns), default=0)
    if not height:
        return []
    blank = " " * width
    padded = [column + [blank] * (height - len(column)) for column in columns]
    return [" ".join(cells).rstrip() for cells in zip(*padded, strict=True)]
