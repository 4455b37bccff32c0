"""Turns many rows of number cells into a matrix, fast: counters are mostly whole numbers.

Python's own conversion of a cell costs more than splitting the line did; NumPy reads a whole row of
integers ten times as fast, and orjson rows of decimals three times.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

import numpy as np
import orjson

from wavescope.model.counters import Floats, Integers

NO_NUMBER = -1
_BLOCK_ROWS = 1024
_GREATEST_INTEGER = 1 << 62
"""Larger ones may have been cut to what an int64 holds."""
_LAST_NUMBER = re.compile(r"(\d{1,18})\D*$", re.ASCII)


class NumberRows:
    """Collects rows of `width` cells; `matrix` has NaN for cells that hold no number."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._blocks: list[Floats] = []
        self._used = _BLOCK_ROWS

    def add(self, cells: Sequence[str]) -> None:
        """Add one row."""
        if self._used == _BLOCK_ROWS:
            self._blocks.append(np.empty((_BLOCK_ROWS, self._width)))
            self._used = 0
        self._blocks[-1][self._used] = row_of_numbers(cells)
        self._used += 1

    def matrix(self) -> Floats:
        """All rows; what is not finite is NaN."""
        if not self._blocks:
            return np.zeros((0, self._width))
        last = self._blocks[-1][: self._used]
        joined = np.concatenate([*self._blocks[:-1], last]) if len(self._blocks) > 1 else last
        joined[np.isinf(joined)] = np.nan
        return joined


def row_of_numbers(cells: Sequence[str]) -> Sequence[float] | Floats | Integers:
    """The numbers of a row's cells, NaN for empty or spoiled ones."""
    text = ",".join(cells)
    if text.isascii():
        if _holds_integers(text):
            integers = np.fromstring(text, dtype=np.int64, sep=",")
            if len(integers) == len(cells) and int(integers.max()) < _GREATEST_INTEGER:
                return integers
        numbers = _decimals(text)
        if numbers is not None and len(numbers) == len(cells):
            return numbers
    return [real_number(cell) for cell in cells]


def real_number(text: str) -> float:
    """A cell's number, or not-a-number for an empty or spoiled one."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def whole_number(text: str) -> int:
    """A cell's whole number, -1 for an empty or spoiled one; spreadsheets write 1.4E+15."""
    try:
        value = int(text)
    except ValueError:
        number = real_number(text)
        value = int(number) if math.isfinite(number) else NO_NUMBER
    return value if -(1 << 63) <= value < 1 << 63 else NO_NUMBER


def exact_number(text: str) -> int:
    """The same for a number with all its digits only: 1.4E+15 is none."""
    digits, _, fraction = text.strip().partition(".")
    is_exact = digits.isdecimal() and len(digits) < 20 and (not fraction or fraction.isdecimal())
    value = int(digits) if is_exact else NO_NUMBER
    return value if value < 1 << 63 else NO_NUMBER


def last_number(text: str) -> int:
    """The whole number in a text such as `4` or `Agent 4`."""
    value = whole_number(text)
    found = _LAST_NUMBER.search(text) if value == NO_NUMBER else None
    return int(found.group(1)) if found else value


def whole_numbers(cells: Sequence[str], number: Callable[[str], int] = whole_number) -> Integers:
    """The whole numbers of many cells, in doubt each as `number` reads it."""
    text = ",".join(cells)
    if text.isascii() and _holds_integers(text):
        integers = np.fromstring(text, dtype=np.int64, sep=",")
        if len(integers) == len(cells) and int(integers.max()) < _GREATEST_INTEGER:
            return integers
    return np.array([number(cell) for cell in cells], dtype=np.int64)


def real_numbers(cells: Sequence[str]) -> Floats:
    """The numbers of many cells, NaN for empty or spoiled ones."""
    return np.array(row_of_numbers(cells) if cells else (), dtype=np.float64)


def _holds_integers(text: str) -> bool:
    """Whether the text is digits and commas, with digits between all commas."""
    return text.replace(",", "").isdigit() and ",," not in f",{text},"


def _decimals(text: str) -> list[float] | None:
    """The numbers of comma-separated text, or None when anything else is among them."""
    try:
        values = orjson.loads(f"[{text}]")
    except orjson.JSONDecodeError:
        return None
    return values if set(map(type, values)) <= {int, float} else None
