"""Protobuf fields: what is written is read, what is damaged is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wavescope.formats.protobuf_wire import (
    DamagedMessageError,
    double,
    fields,
    fixed64,
    integer,
    message,
    signed,
    text,
    texts,
    varint,
    varint_at,
)


@given(st.integers(0, (1 << 64) - 1))
def test_numbers_are_read_as_written(value: int) -> None:
    assert varint_at(varint(value), 0, 10) == (value, len(varint(value)))
    assert [found[2] for found in fields(integer(3, value) + fixed64(4, value))] == [value, value]


@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_negative_numbers_keep_their_bits(value: int) -> None:
    ((_, _, found),) = fields(integer(1, value))
    assert isinstance(found, int)
    assert signed(found) == value


def test_messages_and_texts() -> None:
    data = message(5, text(1, "one"), text(2, "two")) + double(6, 0.5)

    (number, _, inner), (other, _, _) = fields(data)

    assert (number, other) == (5, 6)
    assert isinstance(inner, memoryview)
    assert texts(inner) == {1: "one", 2: "two"}


@pytest.mark.parametrize(
    "data",
    [b"\x80", b"\x08", b"\x0a\x05abc", b"\x09\x01", b"\x00\x01", b"\x0b", b"\x08" + b"\xff" * 11],
)
def test_damaged_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(DamagedMessageError):
        list(fields(data))
