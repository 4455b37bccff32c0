"""The text of rocm-trace-lite's completionSignal, word by word; see native/sqlite_pages/dispatch_info.cpp."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from wavescope.formats.sqlite.text_column import DISPATCH_INFO_FIELDS, TextColumn

_ABSENT = -1
_ADDRESS = re.compile(rb"hwq=0x([0-9a-fA-F]*)")
_TRIPLES = ((1, re.compile(rb"wg=(.*)", re.DOTALL)), (4, re.compile(rb"grid=(.*)", re.DOTALL)))
_COUNT = re.compile(rb"([0-9]*)(,?)")


def parse_dispatch_info(text: TextColumn) -> npt.NDArray[np.int64]:
    """What the native parser gives."""
    known: dict[bytes, list[int]] = {}
    rows = [
        known.get(value) or known.setdefault(value, _fields(value))
        for value in text.to_bytes_list()
    ]
    return np.array(rows, dtype=np.int64).reshape(len(rows), DISPATCH_INFO_FIELDS)


def _fields(text: bytes) -> list[int]:
    fields = [_ABSENT] * DISPATCH_INFO_FIELDS
    for word in text.split(b" "):
        if (address := _ADDRESS.match(word)) is not None:
            fields[0] = _address(address[1])
        for first, pattern in _TRIPLES:
            if (triple := pattern.match(word)) is not None:
                fields[first : first + 3] = _counts(triple[1])
    return fields


def _address(digits: bytes) -> int:
    value = int(digits, 16) if digits else -1
    if not 0 <= value < 2**64:
        return _ABSENT
    return value - 2**64 if value >= 2**63 else value


def _counts(text: bytes) -> list[int]:
    """Up to three numbers between commas, the rest absent."""
    counts = [_ABSENT] * 3
    place = 0
    for index in range(3):
        number = _COUNT.match(text, place)
        assert number is not None  # the pattern also matches nothing
        counts[index] = _count(number[1])
        place = number.end()
        if not number[2]:
            break
    return counts


def _count(digits: bytes) -> int:
    """The number, unless there are no digits or too many for int64."""
    if not digits or len(digits.lstrip(b"0")) > 19:
        return _ABSENT
    value = int(digits[-19:])
    return value if value < 2**63 else _ABSENT
