"""A pattern of somebody else's cannot make reading a session slow."""

from __future__ import annotations

import re

import pytest

from wavescope.formats.session.reading import bounded_match
from wavescope.formats.session.reading.kernels import kernel_filter
from wavescope.model.progress import Notes

NAMES = ("gemm_bf16", "attention \u00e4\n", "")


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("gemm", [True, False, False]),
        ("(?i)GEMM|^att", [True, True, False]),
        (r"^[a-z]+_\w{2,}$", [True, False, False]),
        (".*", [True, True, True]),
    ],
)
def test_names_match_as_in_python(pattern: str, expected: list[bool]) -> None:
    assert bounded_match.matches(re.compile(pattern), NAMES) == expected


def test_a_pattern_that_takes_for_ever_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_match, "LONGEST_S", 0.5)

    assert bounded_match.matches(re.compile("(a+)+$"), ["a" * 200 + "b"]) is None


def test_all_kernels_are_kept_then_with_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_match, "LONGEST_S", 0.5)
    notes = Notes()
    kernel = {"name": "a" * 200 + "b"}

    assert kernel_filter(re.compile("(a+)+$"), [kernel], notes) is None
    assert list(notes) == [("the pattern of kernels takes too long to match: all are shown", 1)]
    assert kernel_filter(None, [kernel], notes) is None
