"""Draws the memory chart with characters, downwards: it fits narrow terminals too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wavescope.analyze.counters.memory_chart import BOXES, FLOWS, NOT_AVAILABLE

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
            _box(key, [*_items(key, values), *_sent(key, values)], _NARROW_WIDTH)
            for key in keys[start : start + across]
        ]
        lines += _side_by_side(boxes, _NARROW_WIDTH)
    return lines


def _levels(values: Mapping[str, str], box_width: int) -> list[str]:
    whole = len(_FIRST_LEVEL) * (box_width + 1) - 1
    launch_width = min((whole + 1) // len(_LAUNCH) - 1, _GREATEST_WIDTH)
    lines: list[str] = []
    for keys, width in ((_LAUNCH, launch_width), (_FIRST_LEVEL, box_width)):
        boxes = [_box(key, _items(key, values), width) for key in keys]
        lines += _side_by_side(boxes, width)
    arrows = [_arrow(key, values, box_width) for key in _FIRST_LEVEL]
    lines += _side_by_side(arrows, box_width)
    indent = " " * (box_width + 1)
    below_width = whole - box_width - 1
    for key in _BELOW:
        lines += [indent + line for line in _wide_box(key, _items(key, values), below_width)]
        lines += [(indent + line).rstrip() for line in _arrow(key, values, below_width)]
    return lines


def _items(key: str, values: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Label, value and unit of each line of a box."""
    box = next(box for box in BOXES if box.key == key)
    return [(label, values.get(row, NOT_AVAILABLE), unit) for label, row, unit in box.lines]


def _sent(key: str, values: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """What goes from a box to the next level, as lines of the box."""
    return [(f"sends {label}", values.get(row, NOT_AVAILABLE), "") for label, row in _flow(key)]


def _flow(key: str) -> tuple[tuple[str, str], ...]:
    return FLOWS.get(key, ())


def _item_text(item: tuple[str, str, str], width: int) -> str:
    """A label and its value at the two ends; the unit is there where it fits."""
    label, value, unit = item
    shown = f"{value} {unit}" if unit and value != NOT_AVAILABLE else value
    if len(label) + 1 + len(shown) > width:
        shown = value
    label = label[: width - 1 - len(shown)]
    return label + shown.rjust(width - len(label))


def _box(key: str, items: Sequence[tuple[str, str, str]], width: int) -> list[str]:
    return _framed(key, [_item_text(item, width - 4) for item in items], width)


def _wide_box(key: str, items: Sequence[tuple[str, str, str]], width: int) -> list[str]:
    """A box with several items in a line, one below the other in their columns."""
    rows = -(-len(items) // _ITEMS_ABREAST)
    cell = (width - 4 - 3 * (_ITEMS_ABREAST - 1)) // _ITEMS_ABREAST
    texts = ["   ".join(_item_text(item, cell) for item in items[row::rows]) for row in range(rows)]
    return _framed(key, texts, width)


def _framed(key: str, texts: Sequence[str], width: int) -> list[str]:
    title = next(box.title for box in BOXES if box.key == key)
    return [
        "┌─ " + title + " " + "─" * (width - 5 - len(title)) + "┐",
        *(f"│ {text.ljust(width - 4)} │" for text in texts),
        "└" + "─" * (width - 2) + "┘",
    ]


def _arrow(key: str, values: Mapping[str, str], width: int) -> list[str]:
    """The requests that go down from a box, beside an arrow."""
    lines = [
        f"   │ {label} {values.get(row, NOT_AVAILABLE)}".ljust(width) for label, row in _flow(key)
    ]
    if key == "fabric":
        lines = ["   │".ljust(width)]
    return [*lines, "   ▼".ljust(width)] if lines else []


def _side_by_side(columns: Sequence[list[str]], width: int) -> list[str]:
    height = max(len(column) for column in columns)
    blank = " " * width
    padded = [column + [blank] * (height - len(column)) for column in columns]
    return [" ".join(cells).rstrip() for cells in zip(*padded, strict=True)]
