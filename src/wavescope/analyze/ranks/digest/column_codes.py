"""Columns as few bytes, and back; nothing that is read is believed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from wavescope.arrays.intervals import Times

_WIDTHS = (np.dtype("<i1"), np.dtype("<i2"), np.dtype("<i4"), np.dtype("<i8"))
_NARROWEST = {width.itemsize: width for width in _WIDTHS}
_SHORTEST, _LONGEST = np.iinfo(np.int32).min, np.iinfo(np.int32).max


class ColumnWriter:
    """Takes columns; `parts` are their bytes, `described` is how to read them."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.described: list[list[int]] = []
        """For each column its rows, the bytes of a value, and whether differences are stored."""

    def integers(self, values: npt.ArrayLike) -> None:
        """Add integers of at most 64 bits."""
        column = np.asarray(values, np.int64).reshape(-1)
        steps = _differences(column)
        plain_width, step_width = _width(column), _width(steps)
        is_stepped = step_width < plain_width
        width = step_width if is_stepped else plain_width
        stored = (steps if is_stepped else column).astype(_NARROWEST[width])
        # All lowest bytes first, then all second ones: the high ones are mostly equal.
        planes = stored.view(np.uint8).reshape(-1, width).T
        self.parts.append(planes.tobytes())
        self.described.append([len(column), width, int(is_stepped)])

    def reals(self, values: Sequence[float]) -> None:
        """Add floating-point numbers, to the last bit."""
        self.integers(np.asarray(values, np.float64).view(np.int64))

    def texts(self, values: Sequence[str]) -> None:
        """Add texts; file names may hold bytes that are no characters."""
        parts = [value.encode("utf-8", "surrogatepass") for value in values]
        self.integers([len(part) for part in parts])
        self.integers(np.frombuffer(b"".join(parts), np.uint8))


class ColumnReader:
    """Gives columns back in the order in which they were written."""

    def __init__(self, described: Any, data: memoryview) -> None:
        if not isinstance(described, list):
            raise TypeError("the columns are not described")
        self._described = described
        self._data = data
        self._column = self._offset = 0

    def integers(self, *, is_short: bool = False) -> npt.NDArray[Any]:
        """The next column of integers: of 32 bits if it is to be short."""
        count, width, is_stepped = self._next()
        end = self._offset + count * width
        if end > len(self._data):
            raise ValueError("a column is cut off")
        planes = np.frombuffer(self._data[self._offset : end], np.uint8).reshape(width, count)
        self._offset = end
        column = np.ascontiguousarray(planes.T).reshape(-1).view(_NARROWEST[width])
        values: Times = column.astype(np.int64)
        if is_stepped:
            values = np.cumsum(values, dtype=np.int64)
        if not is_short:
            return values
        if len(values) and not _SHORTEST <= int(values.min()) <= int(values.max()) <= _LONGEST:
            raise ValueError("a number is too large for its column")
        return values.astype(np.int32)

    def reals(self) -> list[float]:
        """The next column of floating-point numbers."""
        values: list[float] = self.integers().view(np.float64).tolist()
        return values

    def texts(self) -> list[str]:
        """The next texts."""
        lengths = self.integers()
        characters = self.integers()
        if len(lengths) and int(lengths.min()) < 0:
            raise ValueError("a text has a negative length")
        ends = np.cumsum(lengths).tolist()
        if (ends[-1] if ends else 0) != len(characters):
            raise ValueError("texts are cut off")
        blob = characters.astype(np.uint8).tobytes()
        starts = [0, *ends[:-1]]
        return [
            blob[start:end].decode("utf-8", "surrogatepass")
            for start, end in zip(starts, ends, strict=False)
        ]

    def require_end(self) -> None:
        """ValueError unless everything was read."""
        if self._column != len(self._described) or self._offset != len(self._data):
            raise ValueError("there is more in it than there should be")

    def _next(self) -> tuple[int, int, bool]:
        count, width, is_stepped = self._described[self._column]
        self._column += 1
        if type(count) is not int or count < 0 or width not in _NARROWEST:
            raise ValueError("a column is not described")
        return count, width, bool(is_stepped)


def _differences(column: Times) -> Times:
    """Each value less the one before; they wrap around like the sums that undo them."""
    return np.diff(column, prepend=np.zeros(1, np.int64)) if len(column) else column


def _width(values: Times) -> int:
    """How many bytes hold each of the values."""
    if not len(values):
        return 1
    lowest, highest = int(values.min()), int(values.max())
    return next(
        width.itemsize
        for width in _WIDTHS
        if np.iinfo(width).min <= lowest and highest <= np.iinfo(width).max
    )
