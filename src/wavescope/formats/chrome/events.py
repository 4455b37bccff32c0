"""Reads the events of a Chrome trace JSON file, gzipped or not, in batches of columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from wavescope import native
from wavescope.errors import UnreadableInputError
from wavescope.formats.chrome.event_batch import EventBatch, EventTables, MalformedEventsError
from wavescope.formats.chrome.events_native import native_batches
from wavescope.formats.chrome.events_python import python_batches
from wavescope.formats.files import ByteStream

_BLOCK_BYTES = 1 << 20


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
                yield from self._batches(_blocks(stream))
            except MalformedEventsError as error:
                raise UnreadableInputError(
                    self.path,
                    f"not a valid JSON trace: {error}",
                    hint="was it edited, or cut and joined? `python3 -m json.tool` shows the place",
                ) from error
            self.tables.counts.truncated |= stream.was_cut

    def _batches(self, blocks: Iterator[bytes]) -> Iterator[EventBatch]:
        library = native.columns_library()
        if library is None:
            return python_batches(blocks, self.tables, self._dropped_args)
        return native_batches(library, blocks, self.tables, self._dropped_args)


def _blocks(stream: ByteStream) -> Iterator[bytes]:
    while block := stream.read(_BLOCK_BYTES):
        yield block
