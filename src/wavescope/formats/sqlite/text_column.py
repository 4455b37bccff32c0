"""Many texts in one buffer, without a Python object for each, and the numbers that they hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from wavescope.model.columns import UNKNOWN
from wavescope.native import columns_library

_LONGEST_TEXT = 20
_DIGITS = np.full(256, 255, np.uint8)
_DIGITS[ord("0") : ord("9") + 1] = np.arange(10)
_DIGITS[ord("a") : ord("f") + 1] = np.arange(10, 16)
_DIGITS[ord("A") : ord("F") + 1] = np.arange(10, 16)


class TextColumn:
    """Text `i` is `blob[offsets[i]:offsets[i + 1]]`, in UTF-8 that nobody has checked.

    A NULL is an empty text that is marked in `nulls`.
    """

    __slots__ = ("blob", "nulls", "offsets")

    def __init__(
        self,
        blob: npt.NDArray[np.uint8] | bytes,
        offsets: npt.NDArray[np.int64],
        nulls: npt.NDArray[np.bool_] | None = None,
    ) -> None:
        """Without `nulls` no text is NULL."""
        self.blob: npt.NDArray[np.uint8] = (
            np.frombuffer(blob, dtype=np.uint8) if isinstance(blob, bytes) else blob
        )
        self.offsets = offsets
        self.nulls = np.zeros(len(offsets) - 1, dtype=np.bool_) if nulls is None else nulls

    @classmethod
    def from_bytes(cls, texts: Sequence[bytes | None]) -> TextColumn:
        """The column that holds `texts`, None as NULL."""
        offsets = np.zeros(len(texts) + 1, dtype=np.int64)
        np.cumsum([0 if text is None else len(text) for text in texts], out=offsets[1:])
        blob = np.frombuffer(b"".join(filter(None, texts)), dtype=np.uint8)
        nulls = np.fromiter((text is None for text in texts), dtype=np.bool_, count=len(texts))
        return cls(blob, offsets, nulls)

    @classmethod
    def from_strings(cls, texts: Sequence[str | None]) -> TextColumn:
        """The column that holds `texts`, None as NULL; lone surrogates become question marks."""
        return cls.from_bytes(
            [None if text is None else text.encode("utf-8", errors="replace") for text in texts]
        )

    @classmethod
    def repeated(cls, text: str | None, count: int) -> TextColumn:
        """The column that holds `text` `count` times."""
        return cls.from_strings([text]).take(np.zeros(count, dtype=np.int64))

    @classmethod
    def concatenated(cls, parts: Sequence[TextColumn]) -> TextColumn:
        """The texts of all parts, one part after the other."""
        lengths = [part.lengths() for part in parts]
        offsets = np.zeros(sum(len(part) for part in parts) + 1, dtype=np.int64)
        if lengths:
            np.cumsum(np.concatenate(lengths), out=offsets[1:])
        blobs = [part.blob[part.offsets[0] : part.offsets[-1]] for part in parts]
        return cls(
            np.concatenate([np.empty(0, dtype=np.uint8), *blobs]),
            offsets,
            np.concatenate([np.empty(0, dtype=np.bool_), *(part.nulls for part in parts)]),
        )

    def take(self, indices: npt.NDArray[np.integer]) -> TextColumn:
        """The texts at `indices`, in that order."""
        offsets = np.zeros(len(indices) + 1, dtype=np.int64)
        np.cumsum(self.lengths()[indices], out=offsets[1:])
        distinct, places = np.unique(indices, return_inverse=True)
        texts = [self.raw(index) for index in distinct.tolist()]
        blob = b"".join(map(texts.__getitem__, places.tolist()))
        return TextColumn(blob, offsets, self.nulls[indices])

    def lengths(self) -> npt.NDArray[np.int64]:
        """The number of bytes of every text."""
        return np.diff(self.offsets)

    def raw(self, index: int) -> bytes:
        """The bytes of one text."""
        if index < 0:
            index += len(self)
        if not 0 <= index < len(self):
            raise IndexError(index)
        return self.blob[self.offsets[index] : self.offsets[index + 1]].tobytes()

    def __len__(self) -> int:
        return len(self.nulls)

    def __getitem__(self, index: int) -> str:
        return self.raw(index).decode("utf-8", errors="replace")

    def __iter__(self) -> Iterator[str]:
        return iter(self.to_list())

    def to_bytes_list(self) -> list[bytes]:
        """Every text as bytes, NULL as empty."""
        whole = self.blob.tobytes()
        bounds = self.offsets.tolist()
        return [whole[begin:end] for begin, end in pairwise(bounds)]

    def to_list(self) -> list[str]:
        """Every text as `str`, NULL as empty, what is not UTF-8 as replacement characters."""
        return [text.decode("utf-8", errors="replace") for text in self.to_bytes_list()]


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


DISPATCH_INFO_FIELDS = 7


def parse_dispatch_info(text: TextColumn) -> npt.NDArray[np.int64]:
    """The numbers in rocm-trace-lite's completionSignal, a row per text.

    A text is like `hwq=0x7e4d2e6bb000 wg=256,1,1 grid=131072,1,1`. Columns: hardware
    queue address (64 bits as they are), workgroup x, y, z, grid x, y, z; -1 where a number is
    absent or does not fit.
    """
    rows = np.empty((len(text), DISPATCH_INFO_FIELDS), dtype=np.int64)
    blob, offsets = np.ascontiguousarray(text.blob), np.ascontiguousarray(text.offsets)
    if columns_library().wavescope_parse_dispatch_info(blob, blob.size, offsets, len(text), rows):
        raise ValueError("the offsets of the text column are not in order")
    return rows
