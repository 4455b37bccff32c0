"""docs/versioning.md states the numbers of the code, and a number promises what it has."""

from __future__ import annotations

import re
from pathlib import Path

from wavescope.formats.perfetto import writer as perfetto
from wavescope.formats.results.overhead_runs import RUNS_SCHEMA
from wavescope.formats.session import layout
from wavescope.formats.wavescope import schema
from wavescope.model.result import RESULT_SCHEMA
from wavescope.render.counters import metric_database
from wavescope.version import __version__

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "versioning.md").read_text(encoding="utf-8")
GOLDEN = ROOT / "tests" / "golden" / "trace_file_columns.tsv"


def test_the_page_states_the_numbers_of_files() -> None:
    section = PAGE.split("## The numbers of files")[1].split("\n## ")[0]
    stated = re.findall(r"^\| (?!file |---)(.*?) \|.*\| `?(\S+?)`? \|$", section, re.MULTILINE)

    assert stated == [
        ("trace file: tables `wavescope_*`", str(schema.SCHEMA_VERSION)),
        ("trace file: the rocpd dialect", schema.ROCPD_SCHEMA_VERSION),
        ("JSON output", RESULT_SCHEMA),
        ("measurements of `overhead --save`", RUNS_SCHEMA),
        ("counters as SQLite (`counters -o FILE.db`)", metric_database.SCHEMA_VERSION),
        ("Perfetto files of `convert`", str(perfetto.FORMAT_VERSION)),
        ("session folders of running recordings", str(layout.VERSION)),
    ]


def test_the_page_on_json_shows_the_schema_of_the_code() -> None:
    page = (ROOT / "docs" / "json.md").read_text(encoding="utf-8")

    assert re.findall(r'"schema": "(.*?)"', page) == [RESULT_SCHEMA]


def test_the_changelog_begins_with_this_version() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")

    assert re.search(r"^## (\S+)", changelog, re.MULTILINE)[1] == __version__


def test_a_schema_version_of_trace_files_keeps_its_columns() -> None:
    """A column that goes away or changes its type needs a new SCHEMA_VERSION; a new one, its row."""
    have = {
        f"{table}\t{column}\t{kind}"
        for table, columns in schema.file_tables().items()
        for column, kind in columns.items()
    }
    version, *promised = GOLDEN.read_text(encoding="utf-8").splitlines()

    assert version == f"schema version\t{schema.SCHEMA_VERSION}"
    assert sorted(set(promised) - have) == []
    assert sorted(have - set(promised)) == []
