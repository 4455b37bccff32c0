"""Watches the markers of a recording from outside: which have closed since the last look."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from wavescope.formats.session.folder import process_bases
from wavescope.formats.session.layout import MARKERS, TEXT_SUFFIX, MarkerRecordKind
from wavescope.formats.session.record_file import RecordFile, Texts
from wavescope.formats.session.spent_records import opened_stream
from wavescope.model.strings import StringTable

_BLOCK_RECORDS = 256
"""What a thread fills at a time."""


@dataclass(frozen=True)
class ClosedMarker:
    """A range that was closed, or a mark."""

    text: str
    start_ns: int
    end_ns: int


@dataclass
class _Watched:
    """One process: where to look next."""

    first_place: int = 0
    """All markers before it are closed and told."""
    told: set[int] = field(default_factory=set)
    """Ids of those from there on that were told."""
    texts: Texts | None = None


@dataclass
class ClosedMarkers:
    """The markers of all processes of a session; each is told once."""

    session: Path
    _processes: dict[str, _Watched] = field(default_factory=dict)

    def since_last_look(self) -> Iterator[ClosedMarker]:
        """Those that closed, process by process."""
        for base in process_bases(path.name for path in self.session.iterdir()):
            file = opened_stream(self.session, base, MARKERS)
            if file is not None:
                watched = self._processes.setdefault(base, _Watched())
                yield from self._of_process(base, file, watched)

    def _of_process(self, base: str, file: RecordFile, watched: _Watched) -> Iterator[ClosedMarker]:
        first = watched.first_place
        is_before_all_open = True
        for start in range(first, file.slot_count, _BLOCK_RECORDS):
            records = file.records_at(
                np.arange(start, min(start + _BLOCK_RECORDS, file.slot_count))
            )
            closed = (records["kind"] == MarkerRecordKind.RANGE) | (
                records["kind"] == MarkerRecordKind.MARK
            )
            fresh = [record for record in records[closed] if int(record["id"]) not in watched.told]
            yield from (self._marker(base, record, watched) for record in fresh)
            is_before_all_open &= len(records) == _BLOCK_RECORDS and bool(closed.all())
            if is_before_all_open:
                watched.first_place = start + _BLOCK_RECORDS
                watched.told -= set(records["id"].tolist())
            else:
                watched.told.update(int(record["id"]) for record in fresh)

    def _marker(self, base: str, record: np.void, watched: _Watched) -> ClosedMarker:
        identity = int(record["text"])
        if watched.texts is None or not watched.texts.text(identity):
            watched.texts = Texts(self.session / f"{base}.{TEXT_SUFFIX}", StringTable())
        text = watched.texts.text(identity)
        return ClosedMarker(text, int(record["start"]), int(record["end"]))
