"""Regular expressions that people write, wherever they write them."""

from __future__ import annotations

import pytest

from wavescope.errors import UsageError
from wavescope.patterns import compiled

WAY_OUT = "put a backslash before characters that are meant as they are: \\( \\[ \\*"


def test_a_pattern_is_found_anywhere() -> None:
    assert compiled("g.mm").search("a gemm") is not None


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(", "missing ), unterminated subpattern at position 0"),
        ("[a", "unterminated character set at position 0"),
        ("*", "nothing to repeat at position 0"),
        ("(" * 5_000, "it is nested too deeply"),
        ("a{99999999999}", "a number in it is too large"),
        ("a{" + "9" * 5_000 + "}", "a number in it is too large"),
    ],
)
def test_what_is_none_is_refused_with_a_way_out(pattern: str, reason: str) -> None:
    with pytest.raises(UsageError) as refused:
        compiled(pattern, "rules.toml, rule 1")

    assert str(refused.value) == (
        f"rules.toml, rule 1: '{pattern}' is not a regular expression: {reason}"
    )
    assert refused.value.hint == WAY_OUT
