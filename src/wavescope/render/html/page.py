"""The shell of every page: one file that needs nothing else and runs nothing but its own scripts.

The content security policy names the page's scripts and styles by their hashes and forbids the
rest: markup that slipped in from a trace could neither run nor load anything.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TextIO

from wavescope.errors import MachineError
from wavescope.package_files import package_file
from wavescope.render.html.markup import Html, bounded, element, joined
from wavescope.render.html.modules import joined_script
from wavescope.render.results.json_text import json_bytes, json_for_pages
from wavescope.units import fit_for_pages
from wavescope.version import __version__

ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E"
    "%3Crect width='16' height='16' rx='3' fill='%233d6fb4'/%3E"
    "%3Cpath d='M2 10l3-5 3 7 3-9 3 6' fill='none' stroke='white' stroke-width='1.6'/%3E%3C/svg%3E"
)


class Section(NamedTuple):
    """A part of a page that its navigation leads to."""

    id: str
    title: str
    body: Html
    short_title: str = ""
    """For the navigation, where the title is long."""
    is_bare: bool = False
    """Whether its parts have frames of their own."""


@dataclass(frozen=True)
class Page:
    """A page: what stands at its top, its sections, and the data its scripts read."""

    title: str
    header: Html
    sections: Sequence[Section]
    data: Mapping[str, Any] = field(default_factory=dict)
    """By the id of the element that carries it as JSON."""
    scripts: Sequence[str] = ("page", "tables")
    """Modules that run in this order; those they import come along."""
    styles: Sequence[str] = ("page",)
    library: str = ""
    """A script that others need, such as one that draws plots."""


def write_page(page: Page, stream: TextIO) -> None:
    """Write the whole page to `stream`."""
    early = _static("early.js")
    late = joined_script([f"{name}.js" for name in page.scripts], _static)
    library = page.library.replace("</script", "<\\/script")
    style = "\n".join(_static(f"{name}.css") for name in page.styles)
    head = joined(
        [
            element("meta", charset="utf-8"),
            _policy([early, late], style, library),
            element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            element("meta", name="generator", content=f"wavescope {__version__}"),
            element("title", fit_for_pages(page.title)),
            element("link", rel="icon", href=ICON),
            element("style", Html(style)),
            element("script", Html(early)),
        ]
    )
    stream.write(f'<!DOCTYPE html>\n<html lang="en">\n<head>{head}</head>\n<body>\n')
    # Here once for all, whoever made the markup: no page holds control characters.
    stream.write(fit_for_pages(_top(page)))
    stream.write('<main id="main">\n')
    for section in page.sections:
        stream.write(fit_for_pages(_section(section)))
    stream.write("</main>\n")
    for name, value in page.data.items():
        stream.write(_data(name, value))
    if library:
        stream.write(element("script", Html(library)))
    stream.write(element("script", Html(late)))
    stream.write("\n</body>\n</html>\n")


def _policy(scripts: Sequence[str], style: str, library: str) -> Html:
    allowed = " ".join(_hash(script) for script in (*scripts, library) if script)
    rules = [
        "default-src 'none'",
        f"script-src {allowed}",
        f"style-src {_hash(style)}",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    if not library:  # those that draw set markup of their own
        rules += ["require-trusted-types-for 'script'", "trusted-types 'none'"]
    return element("meta", http_equiv="Content-Security-Policy", content="; ".join(rules))


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _top(page: Page) -> Html:
    links = [
        element("a", section.short_title or section.title, href=f"#{section.id}")
        for section in page.sections
        if section.title
    ]
    theme = element(
        "button",
        "Theme",
        type="button",
        id="theme",
        title="Light, dark or as the system says",
        aria_live="polite",
    )
    return joined(
        [
            element("a", "Skip to the content", href="#main", class_="skip"),
            element("header", page.header, class_="top"),
            element("nav", element("div", *links, class_="links"), theme, aria_label="Sections"),
        ]
    )


def _section(section: Section) -> Html:
    heading = element("h2", section.title, id=f"{section.id}-title") if section.title else None
    return element(
        "section",
        heading,
        section.body,
        id=section.id,
        class_="bare" if section.is_bare else None,
        aria_labelledby=f"{section.id}-title" if section.title else None,
    )


def _data(name: str, value: Any) -> Html:
    """JSON that cannot end the element it stands in, nor hold what pages do not show."""
    text = json_for_pages(json_bytes(value)).decode().replace("<", "\\u003c")
    return element("script", Html(text), type="application/json", id=name)


def _static(name: str) -> str:
    path = package_file("render", "html", "static", *name.split("/"))
    if path is None:
        raise MachineError(
            f"the package's file render/html/static/{name} is missing",
            hint="install wavescope again",
        )
    return path.read_text(encoding="utf-8").strip()


class Card(NamedTuple):
    """A figure, what it is, and a remark."""

    title: str
    value: str
    remark: str = ""
    tone: str = ""
    """`good`, `warning` or `problem` where the figure is one."""


def cards_html(cards: Sequence[Card]) -> Html:
    """The cards in one row, as a description list."""
    items = [
        element(
            "div",
            element("dt", card.title),
            element("dd", bounded(card.value, 60), class_="value"),
            element("dd", bounded(card.remark, 120), class_="remark") if card.remark else None,
            class_=f"card {card.tone}".strip(),
        )
        for card in cards
    ]
    return element("dl", *items, class_="cards")
