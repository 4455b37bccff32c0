"""How many names a package may export, by the contract that `make lint` checks."""

from __future__ import annotations

import pytest

from tools.front_doors import wide_doors

SIX = '__all__ = ["a", "b", "c", "d", "e", "f"]\n'
SEVEN = '__all__ = ["a", "b", "c", "d", "e", "f", "g"]\n'
REASON = '"""A room.\n\nMore than six names go out: there are seven days.\n"""\n'


@pytest.mark.parametrize(
    ("source", "listed", "said"),
    [
        ('"""A room whose modules are private."""\n', [], []),
        (SIX, [], []),
        (SEVEN, [], ["week exports 7 names, more than 6"]),
        (REASON + SEVEN, ["week 7"], []),
        (SEVEN, ["week 7"], ["week does not say why it is wider: More than six names go out: ..."]),
        (REASON + SEVEN, ["week 8"], ["week exports 7 names and is listed with 8"]),
        (REASON + SIX, ["week 7"], ["week exports 6 names and is listed with 7"]),
        (SIX, ["year 12"], ["year is listed as a wider door and is no package with a door"]),
    ],
)
def test_a_door_has_six_names_or_the_number_that_is_listed_with_a_reason(
    source: str, listed: list[str], said: list[str]
) -> None:
    assert list(wide_doors({"week": source}, listed)) == said
