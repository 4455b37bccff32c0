"""Links between pages lead somewhere, tables are complete, and pictures show only themselves."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

import wavescope
from wavescope.cli.commands import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)]*))?\)")
FOR_DEVELOPERS = {"ARCHITECTURE.md", "CONTRIBUTING.md"}
FOR_USERS = [page for page in PAGES if page.name not in FOR_DEVELOPERS]


def headings(page: Path) -> set[str]:
    """What links can point at within a page: headings in small letters, without punctuation."""
    found = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in found}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_pages_and_headings_that_are_there(page: Path) -> None:
    broken = []
    for target, heading in LINK.findall(page.read_text(encoding="utf-8")):
        if "://" not in target:
            path = page.parent / target if target else page
            if not path.exists() or (heading and heading not in headings(path)):
                broken.append(f"{target}#{heading}")

    assert broken == []


def test_every_page_is_reached_from_the_readme() -> None:
    reached: set[Path] = set()
    ahead = [ROOT / "README.md"]
    while ahead:
        page = ahead.pop()
        if page.suffix == ".md" and page not in reached:
            reached.add(page)
            links = LINK.findall(page.read_text(encoding="utf-8"))
            ahead += [
                (page.parent / target).resolve()
                for target, _ in links
                if target and "://" not in target
            ]

    assert [page.name for page in PAGES if page not in reached] == []


def test_the_reference_lists_every_command_once() -> None:
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| \[`(.*?)`\]", page, re.M)

    assert sorted(listed) == sorted(entry.name for entry in COMMANDS)


def test_the_readme_is_short_and_shows_only_commands_that_are_there() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    names = {word for entry in COMMANDS for word in (entry.name, *entry.aliases)}
    shown = set(re.findall(r"^wavescope ([a-z-]+)", text, re.M))
    shown |= set(re.findall(r"`wavescope ([a-z]+)`", text))

    assert len(text.splitlines()) <= 60
    assert shown
    assert shown <= names


@pytest.mark.parametrize("page", FOR_USERS, ids=lambda page: page.name)
def test_pages_for_users_name_no_module_behind_the_package(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    packages = {path.name for path in (ROOT / "src" / "wavescope").iterdir() if path.is_dir()}
    # A function may be called as a package is: `wavescope.names(...)` is no path.
    dotted = re.findall(r"\bwavescope\.(\w+)\.\w", text)

    assert [name for name in dotted if name in packages] == []
    assert "src/wavescope" not in text


def test_the_page_on_python_lists_every_public_name_once() -> None:
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\| (`.*?) \|", page, re.M)
    listed = [name for cell in cells for name in re.findall(r"`(\w+)(?:\(.*?\))?`", cell)]
    earlier = re.findall(r"`(\w+)` is its earlier name", page)

    assert sorted(listed + earlier) == sorted(wavescope.__all__)


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "docs/install.md"])
def test_make_has_every_target_that_pages_tell_of(page: str) -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    told = re.findall(r"(?:`|^)make ([a-z-]+)", (ROOT / page).read_text(encoding="utf-8"), re.M)

    assert told
    assert set(told) <= set(targets)


def test_contributors_are_sent_to_files_that_are_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    package = ROOT / "src" / "wavescope"
    paths = re.findall(r"`([\w.]+/[\w./]*)`", text)
    # What lies beside the repository need not be there.
    named = [path for path in paths if "NAME" not in path and not path.startswith("../")]

    assert len(named) > 20
    folders = (ROOT, ROOT / "src", package)
    assert [name for name in named if not any((each / name).exists() for each in folders)] == []


@pytest.mark.parametrize(
    "picture", sorted((ROOT / "docs" / "images").glob("*.svg")), ids=lambda p: p.name
)
def test_pictures_refer_to_nothing_outside(picture: Path) -> None:
    text = picture.read_text(encoding="utf-8")
    tags = {element.tag.rpartition("}")[2] for element in ElementTree.fromstring(text).iter()}

    assert tags <= {"svg", "g", "rect", "path", "circle", "text"}
    assert re.findall(r"https?://[^\"]+", text) == ["http://www.w3.org/2000/svg"]
    assert "url(" not in text
