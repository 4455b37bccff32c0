"""The viewer's page in a browser for tests: served, opened, and read as a reader sees it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tests.browser import Browser, PageView
from tests.builders import TraceMaker
from wavescope.render.html.view_page import view_page_html
from wavescope.view.opening import TraceView, loaded_view
from wavescope.view.server import ViewServer

WHOLE = "document.documentElement.dataset.whole"
DRAWN = "document.documentElement.dataset.drawn"
BOXES = "document.querySelector('#timeline').dataset.boxes"
WINDOW = "(({from, to}) => [Number(from), Number(to)])(document.querySelector('#timeline').dataset)"
ROWS = "[...document.querySelectorAll('#labels .label')].map((label) => label.dataset.row)"


def views_of(*makers: TraceMaker) -> list[TraceView]:
    """The traces, read to their end."""
    return [
        loaded_view(maker.build(), number=number, label=f"trace {number}")
        for number, maker in enumerate(makers)
    ]


@contextmanager
def viewing(*views: TraceView) -> Iterator[ViewServer]:
    """A server of the viewer's page; a question that fails as it never should fails the test."""
    bugs: list[object] = []
    with ViewServer(views, view_page_html(), on_bug=lambda *bug: bugs.append(bug)) as server:
        yield server
    assert bugs == []


def looked_at(browser: Browser, server: ViewServer, link: str = "", **how: Any) -> PageView:
    """The page when everything in its window is there."""
    page = browser.page(server.address + link, **how)
    page.becomes(WHOLE, "true")
    return page


def settled(page: PageView, window: Sequence[float] | None = None) -> None:
    """Return when the window (and all in it) is drawn."""
    if window is not None:
        page.becomes(WINDOW, list(window))
    page.becomes(WHOLE, "true")


def label(row: str) -> str:
    """The selector of a row's label."""
    return f"[data-row={json.dumps(row)}]"


def share(ranges: Sequence[tuple[int, int]], scale: float, pixel: int) -> int:
    """By the definition: of 255 parts of a pixel those in which one of the ranges ran."""
    begin = math.floor(pixel * scale)
    end = max(math.floor((pixel + 1) * scale), begin + 1)
    time = sum(max(0, min(stop, end) - max(start, begin)) for start, stop in ranges)
    return max(1, round(255 * time / (end - begin))) if time else 0


def decoded_tile(page: PageView, row: str, scale: float, first: int, count: int) -> dict[str, Any]:
    """What the page's own decoder makes of a tile: shares by label, and boxes."""
    found: dict[str, Any] = page.value(
        f"""(async () => {{
          const {{ decodeTiles }} = await import("./static/view/tile_decoder.js");
          const answer = await fetch("api/tiles?trace=0&rows={row}&scale={scale}&first={first}&count={count}&by=category");
          const tile = decodeTiles(await answer.arrayBuffer(), {count}).tiles.get({json.dumps(row)});
          const {{ labels }} = await (await fetch("api/colouring?trace=0&by=category")).json();
          const shares = tile.classes.map((c, i) => [labels[c], [...tile.shares.slice(i * {count}, (i + 1) * {count})]]);
          const boxes = [...tile.boxes.start].map((start, i) => [start, tile.boxes.duration[i]]);
          return {{ shares: Object.fromEntries(shares), boxes }};
        }})()"""
    )
    return found
