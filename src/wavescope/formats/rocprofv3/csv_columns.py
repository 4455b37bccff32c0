"""A block of CSV rows as columns by lower-case name, converted when asked for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from wavescope.model.columns import UNKNOWN


class CsvColumns:
    """The columns of some rows; a column that the file lacks is unknown throughout."""

    def __init__(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        self.row_count = len(rows)
        self._cells = dict(zip(header, zip(*rows, strict=True), strict=True)) if rows else {}

    def __contains__(self, name: str) -> bool:
        return name in self._cells

    def texts(self, *names: str) -> list[str]:
        """The cells of the first of `names` that is there, else empty texts."""
        for name in names:
            if name in self._cells:
                return list(self._cells[name])
        return [""] * self.row_count

    def integers(self, *names: str) -> npt.NDArray[np.int64]:
        """The numbers of the first of `names` that is there, -1 where a cell holds none."""
        for name in names:
            if name in self._cells:
                return _integers(self._cells[name])
        return np.full(self.row_count, UNKNOWN, np.int64)

    def reals(self, name: str) -> npt.NDArray[np.float64]:
        """The numbers of `name`, NaN where a cell holds none."""
        cells = self._cells.get(name, ())
        try:
            return np.array(list(map(float, cells)), np.float64)
        except ValueError:
            return np.array([_real(cell) for cell in cells], np.float64)


def _integers(cells: Sequence[str]) -> npt.NDArray[np.int64]:
    try:
        return np.array(list(map(int, cells)), np.int64)
    except (ValueError, OverflowError):
        return np.array([_integer(cell) for cell in cells], np.int64)


def _integer(cell: str) -> int:
    """The integer that a cell spells, also as 0x1f or 12.0; times never pass through a float."""
    text = cell.strip()
    whole, _, fraction = text.partition(".")
    if not fraction.strip("0"):
        text = whole
    try:
        number = int(text, 16 if text.lower().startswith("0x") else 10)
    except ValueError:
        return UNKNOWN
    return number if -(1 << 63) <= number < 1 << 63 else UNKNOWN


def _real(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return float("nan")
