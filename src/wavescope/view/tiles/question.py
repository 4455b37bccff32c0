"""The questions that a page asks most: what to draw, and what the names in it are."""

from __future__ import annotations

import json

from wavescope.errors import UsageError
from wavescope.names.kernel_names import short_name
from wavescope.view.answers import BINARY, Answer, Asked
from wavescope.view.colouring import colouring_of
from wavescope.view.opening import Loaded
from wavescope.view.rows import Row
from wavescope.view.tiles.drawing import Drawing
from wavescope.view.tiles.encoding import encoded
from wavescope.view.tiles.pixels import Pixels
from wavescope.view.tiles.row_tile import row_tile

MOST_ROWS = 256
MOST_NAMES = 2000
LONGEST_NAME = 4096
"""Characters of a name that is sent; the details of a range have all of them."""


def tiles(asked: Asked) -> Answer:
    """`count` pixels of the rows `rows` from pixel `first` on, coloured by `by`.

    Pixel 0 begins `offset` ns before the first event: traces that are aligned share their pixels.
    """
    view = asked.view
    loaded = view.loaded
    rows = _rows(loaded, asked.text("rows"))
    origin_ns = loaded.first_ns - asked.integer("offset", 0)
    pixels = Pixels.of(
        asked.real("scale"), asked.integer("first"), asked.integer("count"), origin_ns
    )
    colouring = colouring_of(asked.text("by", "category"))
    drawing = Drawing(view, loaded, colouring, pixels, rows)
    return Answer(encoded(loaded.version, (row_tile(drawing, row) for row in rows)), BINARY)


def names(asked: Asked) -> Answer:
    """The texts of the string codes `codes`; ranges of the host (`table`) have no short names."""
    codes = asked.text("codes").split(",")
    if len(codes) > MOST_NAMES:
        raise UsageError(f"at most {MOST_NAMES} names can be asked for at once")
    strings = asked.view.trace.strings
    are_ops = asked.text("table", "ops") == "ops"
    found = {}
    for code in codes:
        whole = strings[_code(code, len(strings))]
        short = short_name(whole) if are_ops else whole
        found[code] = {"short": _cut(short), "whole": _cut(whole)}
    return Answer(json.dumps({"names": found}).encode())


def _rows(loaded: Loaded, listed: str) -> list[Row]:
    ids = listed.split(",") if listed else []
    if len(ids) > MOST_ROWS:
        raise UsageError(f"a tile has at most {MOST_ROWS} rows")
    for row_id in ids:
        if row_id not in loaded.row_by_id:
            raise UsageError(f"there is no row '{row_id[:100]}'")
    return [loaded.row_by_id[row_id] for row_id in ids]


def _code(text: str, count: int) -> int:
    try:
        code = int(text)
    except ValueError:
        raise UsageError(f"'{text[:100]}' is no code of a name") from None
    if not -1 <= code < count:
        raise UsageError(f"there is no name with the code {text[:100]}")
    return code


def _cut(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}…"
