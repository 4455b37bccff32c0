"""Coverage in one sentence."""

from __future__ import annotations

import pytest

from tests.builders import TraceMaker, a_trace
from wavescope.analyze.ops.coverage import coverage_sentence

GRAPHS = "replayed from graphs, which only full mode records: use --mode full"


@pytest.mark.parametrize(
    ("maker", "expected"),
    [
        (a_trace(), "the recorder counted no dispatches"),
        (a_trace().with_coverage(0, 0), "the program dispatched no kernels"),
        (a_trace().with_coverage(7, 7).with_coverage(1234, 1234), "timed all 1,241 dispatches"),
        (
            a_trace()
            .with_coverage(100, 4, skipped=90, lost=0, reason=GRAPHS)
            .with_coverage(0, 0, skipped=1, lost=0, reason="while recording was paused")
            .with_coverage(0, 0, skipped=5, lost=0, reason=GRAPHS),
            f"timed 4.0 % of 100 dispatches: 95 {GRAPHS}; 1 while recording was paused",
        ),
        (
            a_trace().with_coverage(10, 5),
            "timed 50.0 % of 10 dispatches; the others are not accounted for",
        ),
        (
            a_trace().with_coverage(100_000, 99_999, skipped=0, lost=1, reason="late"),
            "timed over 99.9 % of 100,000 dispatches: 1 late",
        ),
    ],
)
def test_sentences(maker: TraceMaker, expected: str) -> None:
    assert coverage_sentence(maker.build()) == expected
