"""What the references of both encoders of slices share."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from wavescope.formats.timeline.slices import SliceColumns


def encoded_by(
    row_bytes: Callable[[SliceColumns, int], bytes],
) -> Callable[[SliceColumns], Iterator[bytes]]:
    """An encoder of batches from a function that encodes one row."""
    return lambda columns: (row_bytes(columns, row) for row in range(len(columns)))


def size_texts(columns: SliceColumns, row: int) -> Iterator[tuple[bytes, bytes]]:
    """The sizes of `row` that are known: encoded label and text."""
    for label, axes in columns.sizes:
        size = [int(values[row]) for values in axes]
        if any(value != -1 for value in size):
            yield label, b"%d,%d,%d" % tuple(size)


def is_instant(columns: SliceColumns, row: int) -> bool:
    """Whether `row` is a mark without a duration."""
    return columns.instant is not None and bool(columns.instant[row])
