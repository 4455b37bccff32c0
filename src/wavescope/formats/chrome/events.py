"""Reads the events of a Chrome trace JSON file, gzipped or not, in batches of columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path

import numpy as np

from wavescope.arrays import Array
from wavescope.closing import Closing
from wavescope.errors import UnreadableInputError
from wavescope.files import ByteStream
from wavescope.formats.chrome.event_batch import (
    ARGUMENTS,
    BATCH_EVENTS,
    COLUMN_TYPES,
    EventBatch,
    EventCounts,
    EventTables,
    MalformedEventsError,
)
from wavescope.native import (
    ChromeColumns,
    ChromeCounts,
    Handle,
    Int64,
    Size,
    bytes_at,
    columns_library,
    pointer,
    pointers,
    texts_at,
)

_BLOCK_BYTES = 1 << 20
_NEED_INPUT, _BATCH_FULL, _END, _ERROR = range(4)
_TEXTS, _KEYS, _METADATA = range(3)


_OWN_GENERATOR = b'"generator":"wavescope '
_HEAD_BYTES = 4096


def is_own_export(path: Path) -> bool:
    """Whether the file begins as our own exporter begins it."""
    with ByteStream(path) as stream:
        return _OWN_GENERATOR in stream.read(_HEAD_BYTES)


class EventFile:
    """A file's events: iterate over `batches()` once, while `tables` grows along.

    The args texts of events whose category is in `dropped_args` are left out.
    """

    def __init__(self, path: Path, dropped_args: Iterable[str] = ()) -> None:
        self.path = path
        self.tables = EventTables()
        self._dropped_args = tuple(dropped_args)

    def batches(self) -> Iterator[EventBatch]:
        """All events; UnreadableInputError when the file is no such JSON."""
        with ByteStream(self.path) as stream:
            try:
                yield from event_batches(_blocks(stream), self.tables, self._dropped_args)
            except MalformedEventsError as error:
                raise UnreadableInputError(
                    self.path,
                    f"not a valid JSON trace: {error}",
                    hint="was it edited, or put together from parts? "
                    "`python3 -m json.tool` shows where",
                ) from error
            self.tables.counts.truncated |= stream.was_cut


def event_batches(
    blocks: Iterable[bytes],
    tables: EventTables,
    dropped_args: Iterable[str],
    capacity: int = BATCH_EVENTS,
) -> Iterator[EventBatch]:
    """The events of `blocks` in batches of `capacity`; `tables` grows along.

    The args texts of events whose category is in `dropped_args` are left out.
    """
    with _Parser(capacity) as parser:
        for category in dropped_args:
            parser.drop_args(category.encode())
        source = iter(blocks)
        status = _NEED_INPUT
        while status != _END:
            status = parser.next()
            if status == _ERROR:
                raise parser.error()
            if status == _NEED_INPUT:
                parser.feed(next(source, None))
            else:
                parser.update(tables)
                if parser.rows.value:
                    yield parser.batch()


def _blocks(stream: ByteStream) -> Iterator[bytes]:
    while block := stream.read(_BLOCK_BYTES):
        yield block


class _Parser(Closing):
    """The native parser and the arrays it fills."""

    def __init__(self, capacity: int) -> None:
        self._library = columns_library()
        self._capacity = capacity
        self._columns: dict[str, Array] = {
            name: np.empty(capacity, dtype) for name, dtype in COLUMN_TYPES.items()
        }
        self._columns.update((name, np.empty(capacity, np.int64)) for name in ARGUMENTS)
        self._pointers = ChromeColumns(
            **{name: pointer(self._columns[name], dtype) for name, dtype in COLUMN_TYPES.items()},
            arguments=pointers([self._columns[name] for name in ARGUMENTS], np.int64),
        )
        self.rows = Size(0)
        self._handle = self._library.wavescope_chrome_open()
        if not self._handle:
            raise MemoryError

    def close(self) -> None:
        self._library.wavescope_chrome_close(self._handle)
        self._handle = None

    def drop_args(self, category: bytes) -> None:
        """Leave out the args texts of events of a category."""
        if self._library.wavescope_chrome_drop_args(self._handle, category, len(category)):
            raise MemoryError

    def feed(self, block: bytes | None) -> None:
        """Give more of the file, None at its end."""
        if block is None:
            self._library.wavescope_chrome_finish(self._handle)
        else:
            self._library.wavescope_chrome_feed(self._handle, block, len(block))

    def next(self) -> int:
        """Fill more rows; the native status."""
        status: int = self._library.wavescope_chrome_next(
            self._handle, self._pointers, self._capacity, self.rows
        )
        return status

    def batch(self) -> EventBatch:
        """The filled rows, which the next call of `next` may overwrite."""
        size = Size()
        args = bytes_at(self._library.wavescope_chrome_args(self._handle, size), size.value)
        rows = self.rows.value
        self.rows.value = 0
        return EventBatch(rows, {name: array[:rows] for name, array in self._columns.items()}, args)

    def take(self, table: int) -> list[str]:
        """The table's new entries."""
        ends, count = Handle(), Size()
        blob = self._library.wavescope_chrome_take(self._handle, table, ends, count)
        return texts_at(blob, ends.value, count.value)

    def update(self, tables: EventTables) -> None:
        """Bring `tables` up to what was read."""
        tables.texts += self.take(_TEXTS)
        tables.keys += self.take(_KEYS)
        members = self.take(_METADATA)
        tables.metadata.update(zip(members[::2], members[1::2], strict=True))
        counts = ChromeCounts()
        self._library.wavescope_chrome_get_counts(self._handle, counts)
        for each in fields(EventCounts):
            kind = type(getattr(tables.counts, each.name))
            setattr(tables.counts, each.name, kind(getattr(counts, each.name)))

    def error(self) -> MalformedEventsError:
        offset = Int64()
        reason: bytes = self._library.wavescope_chrome_error(self._handle, offset)
        return MalformedEventsError(reason.decode(), offset.value)
