"""Host calls and markers as nested slices on their threads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from wavescope.formats.timeline.counter_series import StepSeries
from wavescope.formats.timeline.launches import Launches
from wavescope.formats.timeline.slices import (
    BodyTable,
    EventBody,
    Flows,
    Pieces,
    SliceColumns,
    TimelineWriter,
)
from wavescope.formats.timeline.survey import Survey
from wavescope.formats.timeline.tracks import LaneTracks, TrackLayout
from wavescope.model.columns import CALLS, MARKER_INSTANT, MARKER_UNCLOSED, MARKERS, Table
from wavescope.model.source import Batch, TraceSource
from wavescope.model.time_order import time_ordered

_COMMON = ("id", "process", "thread", "start_ns", "end_ns", "name", "category")
_OF_CALLS = ("pid", "domain", "args", "correlation", "stream", "return_code")
_OF_MARKERS = ("type", "flags", "domain", "subcategory", "payload")
_OF_BOTH = (*_OF_CALLS, "type", "flags", "subcategory", "payload_bits", "marker")
_REPEATING = ("is_marker", "name", "category", "domain", "type", "flags")
_IF_KNOWN = ("subcategory", "payload_bits")
"""Further columns that repeat, of few markers."""
_PER_ROW = ("correlation", "stream", "return_code", "marker")
_TEXT_ROWS = 4096
_TEXT_BYTES = 16 << 20


class _Stream:
    """A stream of batches with the rows of it that were read but not yet passed on."""

    def __init__(self, batches: Iterator[Batch]) -> None:
        self._batches = batches
        self.rows: Batch = {}
        self.exhausted = False
        self.read_more()

    def __len__(self) -> int:
        return len(self.rows["start_ns"]) if self.rows else 0

    @property
    def last_ns(self) -> int:
        return int(self.rows["start_ns"][-1])

    def read_more(self) -> None:
        """Append the next batch that has rows, or find that there is none."""
        for batch in self._batches:
            if len(batch["start_ns"]):
                self.rows = (
                    {name: np.concatenate((self.rows[name], batch[name])) for name in batch}
                    if len(self)
                    else batch
                )
                return
        self.exhausted = True

    def take_before(self, bound_ns: int | None) -> Batch:
        """Remove and return the rows that start before `bound_ns`, or all rows."""
        if not self.rows:
            return {}
        count = (
            len(self)
            if bound_ns is None
            else int(np.searchsorted(self.rows["start_ns"], bound_ns, side="left"))
        )
        taken = {name: column[:count] for name, column in self.rows.items()}
        self.rows = {name: column[count:] for name, column in self.rows.items()}
        return taken


def merged_in_time_order(streams: Sequence[Iterator[Batch]]) -> Iterator[Batch]:
    """The rows of all streams by start, of equal starts the longest first, then as streams come."""
    opened = [_Stream(stream) for stream in streams]
    while True:
        for stream in opened:
            if not len(stream) and not stream.exhausted:
                stream.read_more()
        running = [stream for stream in opened if not stream.exhausted]
        bound_ns = min((stream.last_ns for stream in running), default=None)
        taken = [stream.take_before(bound_ns) for stream in opened]
        filled = [batch for batch in taken if batch and len(batch["start_ns"])]
        if filled:
            yield _sorted_together(filled)
        elif not running:
            return
        else:
            for stream in running:
                if stream.last_ns == bound_ns:
                    stream.read_more()


def _sorted_together(batches: list[Batch]) -> Batch:
    if len(batches) == 1:
        return batches[0]
    joined = {name: np.concatenate([batch[name] for batch in batches]) for name in batches[0]}
    # ~end instead of -end: the same order, without an overflow at the smallest number.
    order = np.lexsort((~joined["end_ns"], joined["start_ns"]))
    return {name: column[order] for name, column in joined.items()}


class HostSlices:
    """Writes all calls and markers of a source."""

    def __init__(
        self,
        source: TraceSource,
        survey: Survey,
        layout: TrackLayout,
        launches: Launches | None,
        depth: StepSeries,
    ) -> None:
        self._source = source
        self._survey = survey
        self._layout = layout
        self._launches = launches
        self._depth = depth

    def write(self, writer: TimelineWriter) -> Iterator[int]:
        """Write batch by batch; yields how many calls and markers each had."""
        lanes = LaneTracks(self._layout, writer.track, nested=True)
        bodies = BodyTable(self._describe, writer.body, writer.forget)
        # Markers first: a range that a call fills exactly encloses the call.
        streams = (self._rows(MARKERS, _OF_MARKERS), self._rows(CALLS, _OF_CALLS))
        for batch, texts in self._with_texts(merged_in_time_order(streams)):
            start_ns, end_ns = batch["start_ns"], batch["end_ns"]
            tracks = self._layout.thread_tracks[batch["place"]]
            body, pieces = bodies.bodies_of(
                {name: batch[name] for name in (*_REPEATING, *_IF_KNOWN)}, always=_REPEATING
            )
            instant = (batch["flags"] & MARKER_INSTANT) != 0
            writer.slices(
                SliceColumns(
                    start_ns=start_ns,
                    end_ns=end_ns,
                    track=lanes.assign(tracks, start_ns, end_ns),
                    body=body,
                    bodies=pieces,
                    instant=instant.astype(np.uint8) if np.any(instant) else None,
                    flows=self._flows(batch),
                    integers=tuple(
                        (writer.label(name), np.ascontiguousarray(batch[name], np.int64))
                        for name in _PER_ROW
                        if np.any(batch[name] != -1)
                    ),
                    text=None if texts is None else (writer.label("args"), Pieces.of(texts)),
                )
            )
            yield len(start_ns)

    def _rows(self, table: Table, columns: tuple[str, ...]) -> Iterator[Batch]:
        """Rows of `table` in time order, with the columns of both tables."""
        for batch in time_ordered(self._source, table, (*_COMMON, *columns)):
            rows = len(batch["id"])
            full: Batch = {name: np.full(rows, -1, np.int64) for name in _OF_BOTH}
            full["flags"] = np.zeros(rows, np.int64)
            full.update({name: np.ascontiguousarray(values) for name, values in batch.items()})
            # Only what has no duration can be shown as an instant.
            lasting = full["start_ns"] != full["end_ns"]
            full["flags"] = np.where(lasting, full["flags"] & ~MARKER_INSTANT, full["flags"])
            full["place"] = self._survey.thread_numbers(batch)
            full["is_marker"] = np.full(rows, table is MARKERS, np.int64)
            if table is MARKERS:
                payload = full.pop("payload")
                full["payload_bits"] = np.where(np.isnan(payload), -1, payload.view(np.int64))
                if "marker" in self._survey.op_columns:
                    full["marker"] = full["id"]
            yield full

    def _flows(self, batch: Batch) -> Flows | None:
        """Outgoing arrows from calls to the ops they launched."""
        if self._launches is None:
            return None
        calls = batch["is_marker"] == 0
        offsets, op_ids = self._launches.ops_of(batch["id"][calls])
        series, times = self._launches.first_launches(offsets, op_ids, batch["start_ns"][calls])
        self._depth.add(series, np.ascontiguousarray(times), 1)
        counts = np.zeros(len(calls), np.int64)
        counts[calls] = np.diff(offsets)
        all_offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
        return Flows(all_offsets, np.ascontiguousarray(op_ids), incoming=False)

    def _with_texts(self, batches: Iterator[Batch]) -> Iterator[tuple[Batch, list[bytes] | None]]:
        """Batches with the texts of their rows, cut where the texts would take too much memory."""
        for batch in batches:
            rows = len(batch["args"])
            if np.all(batch["args"] == -1):
                yield batch, None
                continue
            first, texts, size = 0, list[bytes](), 0
            for start in range(0, rows, _TEXT_ROWS):
                stop = min(start + _TEXT_ROWS, rows)
                added = self._texts(batch["args"][start:stop])
                texts += added
                size += sum(map(len, added))
                if size > _TEXT_BYTES or stop == rows:
                    part = {name: column[first:stop] for name, column in batch.items()}
                    yield part, texts if size else None
                    first, texts, size = stop, [], 0

    def _texts(self, handles: npt.NDArray[np.int64]) -> list[bytes]:
        distinct, which = np.unique(handles, return_inverse=True)
        encoded = [text.encode("utf-8", "replace") for text in self._source.texts(distinct)]
        return [encoded[index] for index in which.tolist()]

    def _describe(self, values: dict[str, int]) -> EventBody:
        strings = self._source.strings
        name, category = strings[values["name"]], strings[values["category"]]
        arguments: list[tuple[str, int | str]] = []
        if values["is_marker"]:
            if strings[values["type"]]:
                arguments.append(("type", strings[values["type"]]))
            if values["flags"] & MARKER_UNCLOSED:
                arguments.append(("unclosed", 1))
        arguments.extend(
            (column, strings[values[column]])
            for column in ("domain", "subcategory")
            if strings[values.get(column, -1)]
        )
        payload_bits = values.get("payload_bits", -1)
        if payload_bits != -1:
            arguments.append(("payload", repr(float(np.int64(payload_bits).view(np.float64)))))
        if not values["is_marker"]:
            return EventBody("call", category, name, tuple(arguments))
        instant = bool(values["flags"] & MARKER_INSTANT)
        return EventBody("marker", category, name, tuple(arguments), instant)
