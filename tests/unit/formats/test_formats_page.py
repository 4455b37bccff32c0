"""docs/formats.md names the formats as the commands do."""

from __future__ import annotations

import re
from pathlib import Path

from wavescope.cli.convert import FORMATS
from wavescope.formats import exporters, importers

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "formats.md").read_text()
READ, WRITTEN = PAGE.split("## Written")


def test_every_written_format_stands_with_its_suffixes() -> None:
    rows = re.findall(r"^\| `([\w-]+)` \| (.*?) \|", WRITTEN, re.MULTILINE)

    listed = {name: tuple(re.findall(r"`(\S+?)`", suffixes)) for name, suffixes in rows}

    assert listed == {exporter.name: exporter.suffixes for exporter in exporters()}


def test_every_read_format_stands_in_the_table() -> None:
    names = re.findall(r"^\| (.*?) \|", READ, re.MULTILINE)

    for importer in importers():
        assert any(importer.name in name for name in names), importer.name


def test_the_help_of_convert_names_the_formats() -> None:
    assert tuple(exporter.name for exporter in exporters()) == FORMATS
