"""Numbers that a trace keeps as text: addresses and stream handles such as 0x7f0000001000."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavescope.formats.sqlite.text_column import TextColumn
from wavescope.model.columns import UNKNOWN

_LONGEST_TEXT = 20
_DIGITS = np.full(256, 255, np.uint8)
_DIGITS[ord("0") : ord("9") + 1] = np.arange(10)
_DIGITS[ord("a") : ord("f") + 1] = np.arange(10, 16)
_DIGITS[ord("A") : ord("F") + 1] = np.arange(10, 16)


def numbers_of_texts(texts: TextColumn) -> npt.NDArray[np.int64]:
    """The number each text holds, hexadecimal after 0x, else decimal; -1 where it holds none.

    Addresses from 2^63 on come out as the negative number with the same bits.
    """
    numbers = np.full(len(texts), UNKNOWN, np.int64)
    lengths = texts.lengths()
    for length in np.flatnonzero(np.bincount(np.minimum(lengths, _LONGEST_TEXT + 1))).tolist():
        if 0 < length <= _LONGEST_TEXT:
            rows = np.flatnonzero(lengths == length)
            letters = texts.blob[texts.offsets[:-1][rows, None] + np.arange(length)]
            numbers[rows] = _numbers(letters)
    return numbers


def _numbers(letters: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    """The numbers of equally long texts, one row of letters each."""
    if letters.shape[1] <= 2:
        return _of_base(letters, 10)
    is_hexadecimal = (letters[:, 0] == ord("0")) & ((letters[:, 1] | 0x20) == ord("x"))
    numbers = np.empty(len(letters), np.int64)
    numbers[is_hexadecimal] = _of_base(letters[is_hexadecimal, 2:], 16)
    numbers[~is_hexadecimal] = _of_base(letters[~is_hexadecimal], 10)
    return numbers


def _of_base(letters: npt.NDArray[np.uint8], base: int) -> npt.NDArray[np.int64]:
    most_digits = 16 if base == 16 else 18
    digits = _DIGITS[letters]
    if letters.shape[1] > most_digits:
        return np.full(len(letters), UNKNOWN, np.int64)
    values = np.zeros(len(letters), np.uint64)
    for column in range(letters.shape[1]):
        values = values * np.uint64(base) + digits[:, column].astype(np.uint64)
    return np.where((digits < base).all(axis=1), values.view(np.int64), UNKNOWN)
