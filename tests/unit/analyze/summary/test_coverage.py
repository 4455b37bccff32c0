"""What a trace says of its own completeness."""

from __future__ import annotations

import pytest

from tests.builders import TraceMaker, a_trace
from wavescope.analyze.ops.coverage import UNKNOWN_COVERAGE, coverage


def test_a_trace_that_says_nothing_has_unknown_coverage() -> None:
    result = coverage(a_trace().with_kernel("k", 0, 1).build())

    assert result.facts == {"coverage": UNKNOWN_COVERAGE}
    assert result.tables == []


@pytest.mark.parametrize(
    ("maker", "sentence"),
    [
        (a_trace().with_coverage(4, 4), "4 of 4 dispatches timed (100.0 %)"),
        (
            a_trace().with_coverage(1000, 10, skipped=990),
            "10 of 1,000 dispatches timed (1.0 %), 990 skipped",
        ),
        (
            a_trace().with_coverage(10, 5, skipped=2, lost=1).with_coverage(10, 10),
            "15 of 20 dispatches timed (75.0 %), 2 skipped, 1 lost, 2 unaccounted for",
        ),
        (a_trace().with_coverage(0, 3), "3 dispatches timed; the recorder counted none"),
    ],
)
def test_the_sentence_adds_up_all_rows(maker: TraceMaker, sentence: str) -> None:
    assert coverage(maker.build()).facts["coverage"] == sentence


def test_unknown_numbers_stay_unknown_in_the_table() -> None:
    (table,) = coverage(a_trace().with_coverage(2, 1, gpu=3, reason="graph").build()).tables

    assert table.records() == [
        {
            "process": None,
            "gpu": 3,
            "queue": None,
            "mode": "",
            "seen": 2,
            "timed": 1,
            "skipped": None,
            "lost": None,
            "reason": "graph",
        }
    ]
