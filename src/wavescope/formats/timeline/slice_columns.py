"""A batch of slices as columns, and its way through an encoder into bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from wavescope.native import pointer
from wavescope.native.pointers import Int64, address_of, pointers
from wavescope.native.structures import Slices

Int64s = npt.NDArray[np.int64]
Int32s = npt.NDArray[np.int32]

BUFFER_BYTES = 4 << 20
NativeEncoder = Callable[..., int]


@dataclass(frozen=True)
class Pieces:
    """Byte strings laid one after another; piece i is data[offsets[i]:offsets[i + 1]]."""

    data: bytes
    offsets: Int64s

    @classmethod
    def of(cls, pieces: Sequence[bytes]) -> Pieces:
        """The given byte strings."""
        lengths = np.fromiter((len(piece) for piece in pieces), np.int64, len(pieces))
        return cls(b"".join(pieces), np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths))))

    def __getitem__(self, index: int) -> bytes:
        return self.data[self.offsets[index] : self.offsets[index + 1]]


@dataclass(frozen=True)
class Flows:
    """Arrows: row i has ids[offsets[i]:offsets[i + 1]], which all end there or all start there."""

    offsets: Int64s
    ids: Int64s
    incoming: bool

    def of_row(self, row: int) -> list[int]:
        """The flow ids of one row."""
        flows: list[int] = self.ids[self.offsets[row] : self.offsets[row + 1]].tolist()
        return flows


@dataclass(frozen=True)
class SliceColumns:
    """Slices to be encoded. A row's `body` is what it has in common with others, encoded once.

    `integers` are further arguments with one value per row (-1: not known, left out), `sizes` have
    three and are shown as "x,y,z" (all -1: left out), `text` is a free text per row (empty: left
    out); all carry their encoded label.
    """

    start_ns: Int64s
    end_ns: Int64s
    track: Int64s
    body: Int32s
    bodies: Pieces
    base_ns: int = 0
    process: Int64s | None = None
    instant: npt.NDArray[np.uint8] | None = None
    flows: Flows | None = None
    integers: tuple[tuple[bytes, Int64s], ...] = ()
    sizes: tuple[tuple[bytes, tuple[Int64s, Int64s, Int64s]], ...] = ()
    text: tuple[bytes, Pieces] | None = None

    def __len__(self) -> int:
        return len(self.start_ns)


def encoded(columns: SliceColumns, encoder: NativeEncoder) -> Iterator[memoryview]:
    """The bytes that `encoder` makes of `columns`; each piece is valid until the next."""
    structure, alive = _structure(columns)
    buffer = np.empty(BUFFER_BYTES, np.uint8)
    next_row = Int64(0)
    while next_row.value < len(columns):
        written = encoder(structure, next_row, buffer, len(buffer))
        if written < 0:
            buffer = np.empty(-written, np.uint8)
        else:
            yield buffer.data[:written]
    del alive


def _structure(columns: SliceColumns) -> tuple[Slices, list[Any]]:
    """The native view of `columns`, and what must stay alive while it is used."""
    flows, text = columns.flows, columns.text
    integers = [values for _, values in columns.integers]
    sizes = [values for _, axes in columns.sizes for values in axes]
    labels = Pieces.of(
        [label for label, _ in columns.integers]
        + [label for label, _ in columns.sizes]
        + ([text[0]] if text is not None else [])
    )
    integer_pointers = pointers(integers, np.int64)
    size_pointers = pointers(sizes, np.int64)
    blobs = [
        np.frombuffer(data or b"\0", np.uint8)
        for data in (columns.bodies.data, labels.data, text[1].data if text is not None else b"")
    ]
    structure = Slices(
        rows=len(columns),
        start_ns=pointer(columns.start_ns, np.int64),
        end_ns=pointer(columns.end_ns, np.int64),
        base_ns=columns.base_ns,
        track=pointer(columns.track, np.int64),
        process=pointer(columns.process, np.int64),
        body=pointer(columns.body, np.int32),
        bodies=pointer(blobs[0], np.uint8),
        body_offsets=pointer(columns.bodies.offsets, np.int64),
        instant=pointer(columns.instant, np.uint8),
        flow_offsets=pointer(flows.offsets, np.int64) if flows is not None else None,
        flow_ids=pointer(flows.ids, np.int64) if flows is not None else None,
        incoming_flows=flows is not None and flows.incoming,
        integer_count=len(integers),
        integers=address_of(integer_pointers),
        size_count=len(columns.sizes),
        sizes=address_of(size_pointers),
        labels=pointer(blobs[1], np.uint8),
        label_offsets=pointer(labels.offsets, np.int64),
        text=pointer(blobs[2], np.uint8),
        text_offsets=pointer(text[1].offsets, np.int64) if text is not None else None,
    )
    return structure, [columns, labels, integer_pointers, size_pointers, blobs]
