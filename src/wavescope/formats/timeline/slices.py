"""Slices on their way into a format: columns, the bodies they share, what a format must offer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from wavescope.arrays.coded_columns import DistinctRows
from wavescope.formats.timeline.counter_series import Samples, Span
from wavescope.formats.timeline.tracks import Track
from wavescope.model.progress import Notes
from wavescope.model.source import TraceSource
from wavescope.native import Int64, Slices, address_of, pointer, pointers

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

    def encoded(self, encoder: NativeEncoder) -> Iterator[memoryview]:
        """The bytes that a function of the native library makes; each is valid until the next."""
        structure, alive = _structure(self)
        buffer = np.empty(BUFFER_BYTES, np.uint8)
        next_row = Int64(0)
        while next_row.value < len(self):
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


MOST_BODIES = 1 << 16
MOST_BODY_BYTES = 16 << 20


@dataclass(frozen=True)
class EventBody:
    """The repeating part of an event; `group` is 'op', 'call' or 'marker'."""

    group: str
    category: str
    name: str
    arguments: tuple[tuple[str, int | str], ...] = ()
    instant: bool = False


@dataclass
class _KnownBodies:
    distinct: DistinctRows
    encoded: list[bytes]
    pieces: Pieces


class BodyTable:
    """Finds the body of every row of a batch.

    `describe` makes the body of a row of values given by column, `encode` its bytes. When too many
    different bodies were seen, all are forgotten and `forget` is called: memory stays bounded.
    """

    def __init__(
        self,
        describe: Callable[[dict[str, int]], EventBody],
        encode: Callable[[EventBody], bytes],
        forget: Callable[[], None],
    ) -> None:
        self._describe = describe
        self._encode = encode
        self._forget = forget
        self._known: dict[tuple[str, ...], _KnownBodies] = {}
        self._count = 0
        self._bytes = 0

    def bodies_of(
        self, columns: dict[str, npt.NDArray[Any]], always: Sequence[str]
    ) -> tuple[npt.NDArray[np.int32], Pieces]:
        """The index of each row's body, and the bodies.

        Columns besides `always` take part only where the batch has a known value in them.
        """
        names = tuple(n for n, values in columns.items() if n in always or np.any(values != -1))
        if self._count > MOST_BODIES or self._bytes > MOST_BODY_BYTES:
            self._known.clear()
            self._count = self._bytes = 0
            self._forget()
        if names not in self._known:
            self._known[names] = _KnownBodies(DistinctRows(len(names)), [], Pieces.of([]))
        known = self._known[names]
        numbers, firsts = known.distinct.number([columns[name] for name in names])
        if len(firsts):
            new_values = zip(*(columns[name][firsts].tolist() for name in names), strict=True)
            added = [
                self._encode(self._describe(dict(zip(names, values, strict=True))))
                for values in new_values
            ]
            known.encoded.extend(added)
            known.pieces = Pieces.of(known.encoded)
            self._count += len(added)
            self._bytes += sum(map(len, added))
        return numbers, known.pieces


class TimelineWriter(Protocol):
    """A timeline format. Tracks are numbered by `Track.index`, also in `SliceColumns.track`."""

    @property
    def unique_flows(self) -> bool:
        """Whether each flow id may have only one beginning."""

    @property
    def op_place(self) -> tuple[str, ...]:
        """Columns of `ops` that tell where an op ran and shall be arguments of it."""

    def begin(self, source: TraceSource, span: Span) -> None:
        """Write what comes first."""

    def track(self, track: Track) -> None:
        """Declare a track; done before anything is written to it."""

    def body(self, event: EventBody) -> bytes:
        """The encoded repeating part of an event."""

    def label(self, name: str) -> bytes:
        """The encoded name of an argument that has one value per row."""

    def forget(self) -> None:
        """Bodies and labels made so far will not be used again."""

    def slices(self, columns: SliceColumns) -> None:
        """Write slices, which are in order on each track."""

    def counter(self, track: Track, samples: Samples) -> None:
        """Write the values of a counter track."""

    def end(self, notes: Notes) -> None:
        """Write what comes last, with what was noted of the trace until then."""
