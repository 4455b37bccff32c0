"""What rocprofv3 would not understand is refused before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest

import wavescope

GOOD = ["gemm", "(?:a|b)", "a(?=b)", "a(?!b)", "[(?i]", r"\(?i", r"operator\(\)", r"[\w]+", "^x.*$"]


@pytest.mark.parametrize("pattern", GOOD)
def test_expressions_of_both_are_taken(pattern: str) -> None:
    assert wavescope.CollectOptions(command=("./app",), kernel=pattern).kernel == pattern
    assert wavescope.CaptureOptions(("./app",), pattern).kernel == pattern


@pytest.mark.parametrize(
    ("pattern", "unknown"),
    [
        ("(?i)gemm", "(?i"),
        ("(?P<name>gemm)", "(?P<name>gemm"),
        ("(?<=a)b", "(?<=a"),
        (r"\Agemm", r"\A"),
        (r"gemm\Z", r"\Z"),
    ],
)
def test_expressions_of_python_alone_are_refused(pattern: str, unknown: str) -> None:
    with pytest.raises(wavescope.WavescopeError) as refused:
        wavescope.CollectOptions(command=("./app",), kernel=pattern)
    with pytest.raises(wavescope.WavescopeError):
        wavescope.CaptureOptions(("./app",), pattern, output=Path("out"))

    assert f"does not know '{unknown}'" in str(refused.value)


@pytest.mark.parametrize("pattern", ["(", "a{2,1}"])
def test_what_is_no_expression_is_refused(pattern: str) -> None:
    with pytest.raises(wavescope.WavescopeError, match="is not a regular expression") as refused:
        wavescope.CollectOptions(command=("./app",), kernel=pattern)

    assert "put a backslash before" in refused.value.hint
