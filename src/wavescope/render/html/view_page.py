"""The page of `wavescope view`: a shell whose scripts and styles lie beside it on its server.

Nothing in it comes from a trace; what the page shows it asks its server for.
"""

from __future__ import annotations

from pathlib import Path

from wavescope.errors import MachineError
from wavescope.package_files import package_file
from wavescope.render.html.markup import Html, element, joined
from wavescope.render.html.modules import needed_modules
from wavescope.render.html.page import ICON
from wavescope.version import __version__

_STATIC = ("render", "html", "static")
_MAIN = "view/main.js"
_BUTTONS = (
    ("zoom-in", "+", "Zoom in (W)"),
    ("zoom-out", "-", "Zoom out (S)"),
    ("zoom-all", "All", "Show everything (Home)"),
    ("zoom-selected", "Selected", "Zoom to what is selected (F)"),
)
_TIMELINE = (
    "Timeline: W and S zoom, A and D move, comma and full stop go from box to box, J and K from row"
    " to row, the question mark lists all keys"
)
_DRAGS = (("pan", "move"), ("range", "range"), ("zoom", "zoom"))


def view_page_html() -> str:
    """The page; addresses in it are relative to its own, which ends with a slash."""
    head = joined(
        [
            element("meta", charset="utf-8"),
            element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            element("meta", name="generator", content=f"wavescope {__version__}"),
            element("title", "wavescope"),
            element("link", rel="icon", href=ICON),
            *(element("link", rel="stylesheet", href=address) for address in _styles()),
            element("script", src="static/early.js"),
            # At once: otherwise each is found when the one that imports it has come.
            *(element("link", rel="modulepreload", href=f"static/{path}") for path in _modules()),
            element("script", type="module", src=f"static/{_MAIN}"),
        ]
    )
    body = joined([_bar(), _notices(), _work(), _help()])
    page = element("html", element("head", head), element("body", body, class_="viewer"), lang="en")
    return f"<!DOCTYPE html>\n{page}\n"


def _styles() -> list[str]:
    """Those of all pages, the viewer's, and of each panel that has one."""
    panels = sorted(path.name for path in _static("view/view.css").parent.glob("panel_*.css"))
    return ["static/page.css", *(f"static/view/{name}" for name in ("view.css", *panels))]


def _modules() -> list[str]:
    return needed_modules(_MAIN, lambda path: _static(path).read_text(encoding="utf-8"))


def _static(name: str) -> Path:
    found = package_file(*_STATIC, *name.split("/"))
    if found is None:
        raise MachineError(
            f"the package's file render/html/static/{name} is missing",
            hint="install wavescope again",
        )
    return found


def _bar() -> Html:
    zooms = [
        element("button", text, type="button", id=name, title=title)
        for name, text, title in _BUTTONS
    ]
    drags = [element("option", f"Drag: {does}", value=mode) for mode, does in _DRAGS]
    return element(
        "header",
        element("strong", "wavescope", class_="brand"),
        element("h1", element("bdi", id="traces")),
        element(
            "span",
            element("progress", max=1, value=0, aria_label="How much of the trace was read"),
            element("span"),
            id="progress",
            hidden=True,
        ),
        element("output", id="window", title="What is shown: from, to, how long"),
        element("span", *zooms, class_="group", role="group", aria_label="Zoom"),
        element("select", *drags, id="drag-mode", title="What dragging does (M)"),
        element("label", "Colour by ", element("select", id="colour-by", title="Colour by (C)")),
        element(
            "input",
            type="search",
            id="row-filter",
            placeholder="Find rows",
            aria_label="Find rows",
            title="Show only rows with these words (G)",
        ),
        element("details", element("summary", "Rows"), id="row-menu"),
        element(
            "button", "Theme", type="button", id="theme", title="Light, dark or as the system says"
        ),
        element("button", "?", type="button", id="show-help", title="Keys (?)", aria_label="Keys"),
        class_="view-bar",
    )


def _notices() -> Html:
    return joined(
        [
            element("p", id="banner", role="alert", hidden=True),
            element("ul", id="notes", aria_label="Notes on the traces", hidden=True),
        ]
    )


def _work() -> Html:
    timeline = element(
        "figure",
        element(
            "div",
            element("canvas", tabindex=0, role="application", aria_label=_TIMELINE),
            element("div", id="labels", role="tree", aria_label="Rows"),
            class_="stage",
        ),
        id="timeline",
        class_="timeline waiting",
    )
    legend = element("ul", id="legend", class_="legend", aria_label="What colours mean")
    splitter = element(
        "div",
        id="splitter",
        role="separator",
        tabindex=0,
        aria_label="Size of the panels",
        aria_orientation="horizontal",
        hidden=True,
    )
    return element(
        "main",
        element("div", timeline, legend, class_="picture"),
        splitter,
        element("aside", id="dock", aria_label="Panels"),
        element("output", id="said", aria_live="polite"),
        element("output", id="heard", aria_live="polite"),
        id="main",
        class_="work",
    )


def _help() -> Html:
    return element(
        "dialog",
        element("h2", "Keys", id="help-title"),
        element("dl", id="keys", class_="keys"),
        element("button", "Close", type="button", id="close-help"),
        id="help",
        aria_labelledby="help-title",
    )
