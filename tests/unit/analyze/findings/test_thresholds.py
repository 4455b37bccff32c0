"""The table of thresholds and the page that shows it."""

from __future__ import annotations

from pathlib import Path

from wavescope.analyze.findings import FINDING_IDS
from wavescope.analyze.quick_findings.thresholds import threshold_rows

PAGE = Path(__file__).parents[4] / "docs" / "findings.md"


def test_the_page_shows_every_threshold_as_it_is() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    shown = lines[lines.index("| finding | threshold | value | unit | meaning |") + 2 :]

    assert shown == [
        f"| {row.finding} | `{row.name}` | {row.value:.10g} | {row.unit} | {row.meaning} |"
        for row in threshold_rows()
    ]


def test_the_page_explains_every_finding() -> None:
    text = PAGE.read_text(encoding="utf-8")

    assert [each for each in FINDING_IDS if f"| `{each}` |" not in text] == []
    named = {row.finding for row in threshold_rows()}
    assert named <= {*FINDING_IDS, "small-gaps", "all on gaps", "all on GPU time"}
