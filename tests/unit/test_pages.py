"""Links between pages lead somewhere, and pictures show only themselves."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files_that_are_there(page: Path) -> None:
    targets = [link for link in LINK.findall(page.read_text(encoding="utf-8")) if "://" not in link]

    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize(
    "picture", sorted((ROOT / "docs" / "images").glob("*.svg")), ids=lambda p: p.name
)
def test_pictures_refer_to_nothing_outside(picture: Path) -> None:
    text = picture.read_text(encoding="utf-8")
    tags = {element.tag.rpartition("}")[2] for element in ElementTree.fromstring(text).iter()}

    assert tags <= {"svg", "g", "rect", "path", "circle", "text"}
    assert re.findall(r"https?://[^\"]+", text) == ["http://www.w3.org/2000/svg"]
    assert "url(" not in text
