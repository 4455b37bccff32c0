"""Marker records as rows of the marker table, in the order of the ids that collectors gave them.

Ops name their range by that id, so rows are found without a look-up: the row's id is the marker's
id plus what the processes before have used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from wavescope.arrays import Array
from wavescope.formats.session.layout import PAYLOAD_TYPES, MarkerFlag, MarkerRecordKind
from wavescope.formats.session.reading.op_rows import LARGEST_TIME
from wavescope.formats.session.reading.process import ProcessChunks
from wavescope.formats.session.record_file import Records, is_unclosed
from wavescope.model.columns import MARKER_INSTANT, MARKER_UNCLOSED, MARKERS, UNKNOWN
from wavescope.model.op_kinds import MARKER_TYPE
from wavescope.model.progress import Notes
from wavescope.model.source import Batch, full_batch
from wavescope.model.strings import StringTable


@dataclass(frozen=True)
class MarkerIndex:
    """Which markers a process left: ids in increasing order and their places in the file."""

    ids: Array
    places: Array
    last_event_ns: int

    @property
    def largest_id(self) -> int:
        return int(self.ids[-1]) if len(self.ids) else 0


def index_markers(process: ProcessChunks, notes: Notes) -> MarkerIndex:
    """Read all marker records of `process` once."""
    ids, places = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    last_event_ns = -1
    unknown = impossible = 0
    for block in process.markers.blocks() if process.markers else ():
        records = block.records
        is_known = (records["kind"] <= MarkerRecordKind.OPEN) & (records["id"] > 0)
        is_possible = (records["start"] <= LARGEST_TIME) & (records["end"] <= LARGEST_TIME)
        unknown += int((~is_known).sum())
        impossible += int((is_known & ~is_possible).sum())
        kept = is_known & is_possible
        if process.window is not None:
            early = process.window.over_before(records, is_unclosed(records))
            process.note_fallen_out("markers", int((kept & early).sum()))
            kept &= process.window.overlapping(records, is_unclosed(records))
        ids.append(records["id"][kept].astype(np.int64))
        places.append(block.places[kept])
        for member in ("start", "end"):
            latest = records[member][kept].max(initial=0)
            last_event_ns = max(last_event_ns, int(latest) or -1)
    notes.add("markers of a kind that this version does not know, left out", unknown)
    notes.add("markers with impossible times, left out", impossible)
    all_ids = np.concatenate(ids)
    distinct, first = np.unique(all_ids, return_index=True)
    notes.add("markers with the id of another one, left out", len(all_ids) - len(distinct))
    return MarkerIndex(distinct, np.concatenate(places)[first], last_event_ns)


@dataclass
class MarkerRows:
    """Makes marker rows of one process's records."""

    process_index: int
    process: ProcessChunks
    strings: StringTable
    index: MarkerIndex
    id_offset: int
    last_event_ns: int
    """When ranges that are still open are said to end."""

    def batches(self, columns: Sequence[str] | None, rows: int) -> Iterator[Batch]:
        """The rows in the order of their ids."""
        file = self.process.markers
        for first in range(0, len(self.index.ids) if file else 0, rows):
            chosen = slice(first, first + rows)
            assert file is not None
            given = self._columns(
                self.index.ids[chosen], file.records_at(self.index.places[chosen])
            )
            yield full_batch(MARKERS, given, columns)

    def row_ids(self, marker_ids: Array) -> Array:
        """Row ids of the ranges that ops name; unknown where the range was not recorded."""
        ids = marker_ids.astype(np.int64)
        if not len(self.index.ids):
            return np.full(len(ids), UNKNOWN, np.int64)
        places = np.minimum(np.searchsorted(self.index.ids, ids), len(self.index.ids) - 1)
        return np.where(self.index.ids[places] == ids, ids + self.id_offset, UNKNOWN)

    def _columns(self, ids: Array, records: Records) -> dict[str, Array]:
        starts = records["start"].astype(np.int64)
        is_open = is_unclosed(records)
        is_mark = records["kind"] == MarkerRecordKind.MARK
        ends = records["end"].astype(np.int64)
        # A range that was left open by its thread carries the end of that thread.
        ends = np.where(is_open & (ends == 0), self.last_event_ns, ends)
        ends = np.where(is_mark, starts, np.maximum(starts, ends))
        category = self.strings.codes(("roctx", "nvtx"))
        return {
            "id": ids + self.id_offset,
            "start_ns": starts,
            "end_ns": ends,
            "name": self.process.texts.codes(records["text"]),
            "type": np.full(len(ids), self.strings.code(MARKER_TYPE)),
            "process": np.full(len(ids), self.process_index),
            "thread": records["thread"].astype(np.int64),
            "category": category[(records["flags"] & MarkerFlag.NVTX != 0).astype(np.intp)],
            "flags": is_mark * MARKER_INSTANT + is_open * MARKER_UNCLOSED,
            **self._of_longer_records(records),
        }

    def _of_longer_records(self, records: Records) -> dict[str, Array]:
        if "payload" not in (records.dtype.names or ()):
            return {}
        return {
            "domain": self.process.texts.codes(records["domain"]),
            "subcategory": self._category_codes(records["domain"], records["category"]),
            "payload": _payloads(records["payload_kind"], records["payload"]),
        }

    def _category_codes(self, domains: Array, categories: Array) -> Array:
        """What categories are called; they are numbered within their domain."""
        keys = (domains.astype(np.uint64) << np.uint64(16)) | categories
        distinct, places = np.unique(keys, return_inverse=True)
        return np.array([self._category_code(key) for key in distinct.tolist()])[places]

    def _category_code(self, key: int) -> int:
        domain, category = self.process.texts.text(key >> 16), key & 0xFFFF
        if category == 0:
            return UNKNOWN
        name = self.process.facts.categories.get((domain, category), str(category))
        return self.strings.code(name)


def _payloads(kinds: Array, bits: Array) -> Array:
    """Numbers, NaN where there is none."""
    numbers = np.full(len(bits), np.nan)
    for kind, form in enumerate(PAYLOAD_TYPES):
        mine = kinds == kind
        if form is not None and mine.any():
            parts = np.ascontiguousarray(bits[mine]).view(form).reshape(int(mine.sum()), -1)
            with np.errstate(invalid="ignore"):  # no number is a number too
                numbers[mine] = parts[:, 0]
    return numbers
