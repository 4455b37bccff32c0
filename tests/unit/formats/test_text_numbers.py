"""Addresses and stream handles that are kept as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wavescope.formats.sqlite.text_column import TextColumn, numbers_of_texts


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0x7f0000001000", 0x7F0000001000),
        ("0XfF", 255),
        ("0x0", 0),
        ("0", 0),
        ("42", 42),
        ("123456789012345678", 123456789012345678),
        ("0xffffffffffffffff", -1),
        ("0x8000000000000000", -(2**63)),
        ("", -1),
        ("0x", -1),
        ("x1", -1),
        ("12a", -1),
        ("0x1g", -1),
        ("-5", -1),
        ("0x1ffffffffffffffff", -1),
        ("9" * 19, -1),
        ("(nil)", -1),
        ("1" * 1000, -1),
    ],
)
def test_text(text: str, number: int) -> None:
    assert numbers_of_texts(TextColumn.from_strings([text])).tolist() == [number]


def test_no_texts() -> None:
    assert numbers_of_texts(TextColumn.from_strings([])).tolist() == []


@given(st.lists(st.one_of(st.none(), st.integers(0, 2**63 - 1))))
def test_every_address_comes_back(addresses: list[int | None]) -> None:
    texts = [None if address is None else hex(address) for address in addresses]
    expected = [-1 if address is None else address for address in addresses]
    assert numbers_of_texts(TextColumn.from_strings(texts)).tolist() == expected


@given(st.lists(st.binary(max_size=25)))
def test_any_bytes_give_a_number(texts: list[bytes]) -> None:
    assert len(numbers_of_texts(TextColumn.from_bytes(texts))) == len(texts)
