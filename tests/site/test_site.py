"""The built documentation: nothing comes from elsewhere, links hold, and the search finds pages."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.browser import Browser
from wavescope.cli.commands import COMMANDS

SITE = Path(os.environ.get("WAVESCOPE_SITE", "")).resolve()
LOADS = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
pytestmark = pytest.mark.skipif(
    "WAVESCOPE_SITE" not in os.environ, reason="the site is built and checked by `make site`"
)


class _Page(HTMLParser):
    """What a page loads, where it links to, and the anchors it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag in LOADS and LOADS[tag] in values:
            self.loaded.append(values[LOADS[tag]])
        if tag == "a" and "href" in values:
            self.links.append(values["href"])


@pytest.fixture(scope="module")
def pages() -> dict[Path, _Page]:
    return {path: _Page(path.read_text(encoding="utf-8")) for path in SITE.rglob("*.html")}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser.started() as started:
        yield started


def test_nothing_is_loaded_from_other_hosts(pages: dict[Path, _Page]) -> None:
    foreign = re.compile(r"(?:[a-z]+:)?//")
    loaded = {url for page in pages.values() for url in page.loaded}
    styles = "\n".join(path.read_text(encoding="utf-8") for path in SITE.rglob("*.css"))

    assert len(pages) > 60
    assert [url for url in loaded if foreign.match(url)] == []
    assert re.findall(r"url\(['\"]?(?:https?:)?//[^)]*|@import[^;]*", styles) == []


def test_every_link_leads_to_a_page_and_an_anchor(pages: dict[Path, _Page]) -> None:
    broken = []
    for path, page in pages.items():
        for link in page.links:
            target, _, anchor = unquote(link).partition("#")
            if "://" in target or path.name == "404.html":
                continue
            reached = (path.parent / target).resolve() if target and target != "." else path
            if not reached.exists() or (
                anchor and reached in pages and anchor not in pages[reached].anchors
            ):
                broken.append(f"{path.name}: {link}")

    assert broken == []


def test_every_command_has_a_page(pages: dict[Path, _Page]) -> None:
    names = {path.stem for path in pages if path.parent.name == "commands"}

    assert names == {entry.name.replace(" ", "-") for entry in COMMANDS}


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("occupancy", "Occupancy"),
        ("exit codes", "Exit codes"),
        ("flame", "wavescope flame"),
    ],
)
def test_the_search_finds_pages_without_a_server(browser: Browser, words: str, first: str) -> None:
    page = browser.page((SITE / "search.html").as_uri() + f"?q={words.replace(' ', '+')}")
    page.wait("document.querySelector('#mkdocs-search-results a') !== null")

    titles = page.value(
        "[...document.querySelectorAll('#mkdocs-search-results a')].map(a => a.textContent)"
    )
    links = page.value(
        "[...document.querySelectorAll('#mkdocs-search-results a')].map(a => a.href)"
    )

    assert first in titles[:3]
    assert all(
        Path(unquote(link.removeprefix("file://").partition("#")[0])).is_file() for link in links
    )


def test_a_search_for_what_is_nowhere_says_so(browser: Browser) -> None:
    page = browser.page((SITE / "search.html").as_uri() + "?q=nosuchwordanywhere")
    page.wait("document.querySelector('#mkdocs-search-results p') !== null")

    text = page.value("document.getElementById('mkdocs-search-results').textContent")

    assert text == "Nothing was found."
