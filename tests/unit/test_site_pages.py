"""What the documentation site is built from: every page once, in the navigation, with whole links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wavescope
from tools.site.generate import (
    REFERENCE,
    Site,
    adapted,
    collected_site,
    command_place,
    navigation,
    write_site,
)
from tools.site.github_anchors import anchor
from wavescope.cli.commands import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)]*))?\)")


@pytest.fixture(scope="module")
def site() -> Site:
    return collected_site()


@pytest.fixture(scope="module")
def written(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    write_site(site, folder)
    return folder / "pages"


def places(listed: object) -> Iterator[str]:
    """The pages of a navigation."""
    for value in listed if isinstance(listed, list) else [listed]:
        if isinstance(value, str):
            yield value
        else:
            yield from (place for each in value.values() for place in places(each))


def test_every_page_of_the_documentation_is_in_the_navigation_once(site: Site) -> None:
    listed = list(places(navigation(site)))
    documents = {str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")}

    assert sorted(listed) == sorted(site.pages)
    assert documents <= set(listed)
    assert {"README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "CHANGELOG.md"} <= set(listed)


def test_groups_are_those_of_the_readme(site: Site) -> None:
    groups = [name for each in navigation(site) for name in each]

    assert groups == ["wavescope", "Tutorials", "Use", "Understand", "Build", "Commands"]


def test_every_command_has_a_page_with_its_options(site: Site) -> None:
    for entry in COMMANDS:
        text = site.pages[command_place(entry)]
        assert text.startswith(f"# wavescope {entry.name}\n")
        assert "**examples**" in text
    assert "- `--softgpu`" in site.pages["docs/commands/trace.md"]
    assert "## wavescope trace" not in site.pages["docs/commands.md"]


def test_every_public_name_is_in_the_reference(site: Site) -> None:
    listed = re.findall(r"^## (\w+)$", site.pages[REFERENCE], re.MULTILINE)

    assert listed == [name for name in wavescope.__all__ if not name.startswith("_")]
    assert "open(" in site.pages[REFERENCE]


def test_links_of_the_site_lead_to_pages_and_headings(site: Site, written: Path) -> None:
    broken = []
    for place, text in site.pages.items():
        for target, heading in LINK.findall(text):
            path = written / place if not target else written / Path(place).parent / target
            if "://" in target:
                continue
            if not path.exists() or (heading and heading not in headings(path)):
                broken.append(f"{place}: {target}#{heading}")

    assert broken == []


def headings(page: Path) -> set[str]:
    return set(map(anchor, re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.M)))


@pytest.mark.parametrize(
    ("place", "text", "expected"),
    [
        ("docs/view.md", "[a](commands.md#wavescope-view)", "[a](../docs/commands/view.md)"),
        ("docs/view.md", "[a](commands.md#exit-codes)", "[a](commands.md#exit-codes)"),
        ("docs/commands.md", "[a](#wavescope-info)", "[a](../docs/commands/info.md)"),
        ("docs/commands/view.md", "[a](install.md#x)", "[a](../../docs/install.md#x)"),
        ("docs/view.md", "[a](https://example.org/b)", "[a](https://example.org/b)"),
        ("CHANGELOG.md", "- a\n\n  | b |", "- a\n\n    | b |"),
    ],
)
def test_links_to_commands_lead_to_their_pages(place: str, text: str, expected: str) -> None:
    assert adapted(place, text) == expected


def test_anchors_are_those_of_forges() -> None:
    cases: dict[str, Any] = {"`a` and b": "a-and-b", "A / B": "a--b", "What? (this)": "what-this"}

    assert {heading: anchor(heading) for heading in cases} == cases
