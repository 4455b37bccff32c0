"""Exports a rocmProfileData file (.rpd, schema version 3) that its own tools accept.

They take the time range of a trace from its API rows. So calls become API rows, markers become
`UserMarker` rows with their text as arguments, and a trace that has neither gets one such row,
"trace", over the whole of its ops.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from wavescope.arrays import Array
from wavescope.formats.registry import ExportOptions
from wavescope.formats.rpd.carried_rows import CarriedRows
from wavescope.formats.rpd.launches import LaunchRows
from wavescope.formats.rpd.schema import (
    EMPTY_ID,
    GPU_STRIDE,
    INDEXES,
    LAUNCHES_TAG,
    MARKER_ID,
    PID_STRIDE,
    SCHEMA_VERSION,
    TABLES,
    string_ids,
    table_statements,
)
from wavescope.formats.sqlite.sqlite_bulk import BulkDatabase, TextColumn
from wavescope.formats.sqlite.sqlite_open import filling, sqlite_writing_errors
from wavescope.model.columns import (
    CALLS,
    COUNTERS,
    LINKS,
    MARKERS,
    METADATA,
    MONITORS,
    OPS,
    PROCESSES,
    UNKNOWN,
    Table,
)
from wavescope.model.op_kinds import MARKER_TYPE
from wavescope.model.progress import NOTE_TAG, Progress
from wavescope.model.row_progress import RowProgress
from wavescope.model.source import Batch, TraceSource, read_columns

_OWN_METADATA = (
    ("gpu_stride", GPU_STRIDE),
    ("pid_stride", PID_STRIDE),
    ("schema_version", SCHEMA_VERSION),
)
_WHOLE_TRACE = "trace"


def write_rpd(
    source: TraceSource,
    path: Path,
    options: ExportOptions,  # noqa: ARG001  a database is not compressed
    progress: Progress,
) -> None:
    """Write `source` as a new database at `path`."""
    with sqlite_writing_errors(path):
        with filling(path) as connection:
            for statement in table_statements():
                connection.execute(statement)
        with BulkDatabase(path) as database:
            RpdRows(source, database, progress).write()
        with filling(path) as connection:
            for statement in INDEXES:
                connection.execute(statement)


class RpdRows:
    """Streams one source into the open database."""

    def __init__(self, source: TraceSource, database: BulkDatabase, progress: Progress) -> None:
        self._source = source
        self._progress = RowProgress(progress, [source])
        self._files = {
            name: database.table(name, rebuild_indexes=True)
            for name in TABLES
            if name not in {"rocpd_kernelapi", "rocpd_copyapi"}
        }
        self._launches = LaunchRows(source, database)
        self._carried = CarriedRows(source, database)
        self._next_id = dict.fromkeys(TABLES, 1)
        self._last_text = EMPTY_ID
        self._last_call = 0
        self._span: tuple[int, int] | None = None
        self._pids = _pids_by_process(source)

    def write(self) -> None:
        """Write every table that rocmProfileData has a place for."""
        self._append("rocpd_ustring", {"string": TextColumn.from_strings([""])})
        self._write_ops()
        self._write_calls()
        self._write_markers()
        if self._last_call == 0 and self._span is not None:
            self._write_whole_trace(*self._span)
        self._launches.write()
        self._write_links()
        self._write_counters()
        self._write_monitors()
        self._carried.write_small_tables()
        self._write_metadata()
        texts = TextColumn.from_strings(["", MARKER_TYPE, *self._source.strings])
        self._append("rocpd_string", {"string": texts})

    def _write_ops(self) -> None:
        for batch in self._rows(OPS):
            if not len(batch["id"]):
                continue
            start, end = int(batch["start_ns"].min()), int(batch["end_ns"].max())
            before = self._span or (start, end)
            self._span = min(start, before[0]), max(end, before[1])
            self._files["rocpd_op"].append(
                {
                    "id": batch["id"],
                    "gpuId": batch["gpu"],
                    "queueId": batch["queue"],
                    "sequenceId": batch["sequence"],
                    "start": batch["start_ns"],
                    "end": batch["end_ns"],
                    "description_id": string_ids(batch["name"]),
                    "opType_id": string_ids(batch["type"]),
                }
            )
            self._launches.add_ops(batch)
            self._carried.add_ops(batch)

    def _write_calls(self) -> None:
        for batch in self._rows(CALLS):
            if not len(batch["id"]):
                continue
            self._append_api(
                batch["id"],
                batch,
                pids=self._pids_of_calls(batch),
                names=string_ids(batch["name"]),
                categories=string_ids(batch["category"]),
                domains=string_ids(batch["domain"]),
                args=self._call_args(batch["args"]),
            )
            self._carried.add_calls(batch)

    def _call_args(self, handles: Array) -> Array:
        known = handles >= 0
        ids = np.full(len(handles), EMPTY_ID, np.int64)
        if known.any():
            ids[known] = self._add_texts(self._source.texts(handles[known]))
        return ids

    def _write_markers(self) -> None:
        for batch in self._rows(MARKERS):
            rows = len(batch["id"])
            if rows:
                ids = self._carried.marker_rows(batch["id"])
                self._carried.add_markers(ids, batch)
                self._append_api(
                    ids,
                    batch,
                    pids=self._pid_of(batch["process"]),
                    names=np.full(rows, MARKER_ID),
                    categories=string_ids(batch["category"]),
                    domains=np.full(rows, EMPTY_ID),
                    args=self._add_texts(self._source.strings.decode(batch["name"])),
                )

    def _write_whole_trace(self, start_ns: int, end_ns: int) -> None:
        one = np.ones(1, np.int64)
        self._append_api(
            one,
            {"start_ns": one * start_ns, "end_ns": one * end_ns, "thread": one * -1},
            pids=self._pid_of(np.zeros(1, np.int64)),
            names=one * MARKER_ID,
            categories=one * EMPTY_ID,
            domains=one * EMPTY_ID,
            args=self._add_texts([_WHOLE_TRACE]),
        )

    def _append_api(
        self,
        ids: Array,
        batch: Batch,
        *,
        pids: Array,
        names: Array,
        categories: Array,
        domains: Array,
        args: Array,
    ) -> None:
        self._files["rocpd_api"].append(
            {
                "id": ids,
                "pid": pids,
                "tid": np.where(batch["thread"] != UNKNOWN, batch["thread"], pids),
                "start": batch["start_ns"],
                "end": batch["end_ns"],
                "apiName_id": names,
                "category_id": categories,
                "domain_id": domains,
                "args_id": args,
            }
        )
        self._last_call = int(ids[-1])

    def _write_links(self) -> None:
        for batch in self._source.batches(LINKS):
            known = self._launches.is_link(batch["call"], batch["op"])
            self._append(
                "rocpd_api_ops", {"api_id": batch["call"][known], "op_id": batch["op"][known]}
            )

    def _write_counters(self) -> None:
        for batch in self._source.batches(COUNTERS):
            known = self._launches.is_op(batch["op"]) & ~np.isnan(batch["value"])
            self._append(
                "rocpd_counter",
                {
                    "value": batch["value"][known],
                    "op_id": batch["op"][known],
                    "name_id": string_ids(batch["name"][known]),
                },
            )

    def _write_monitors(self) -> None:
        for batch in self._source.batches(MONITORS):
            texts = {
                stored: TextColumn.from_strings(self._source.strings.decode(batch[name]))
                for name, stored in (
                    ("device_type", "deviceType"),
                    ("quantity", "monitorType"),
                    ("value", "value"),
                )
            }
            self._append(
                "rocpd_monitor",
                {
                    **texts,
                    "deviceId": batch["device"],
                    "start": batch["start_ns"],
                    "end": batch["end_ns"],
                },
            )

    def _write_metadata(self) -> None:
        rows = read_columns(self._source, METADATA, ("tag", "value"))
        strings = self._source.strings
        own = {LAUNCHES_TAG, *(tag for tag, _ in _OWN_METADATA)}
        pairs = zip(strings.decode(rows["tag"]), strings.decode(rows["value"]), strict=True)
        kept = [
            (tag, value) for tag, value in pairs if tag not in own and not tag.startswith(NOTE_TAG)
        ]
        facts = [*_OWN_METADATA, *kept, *self._source.notes.facts()]
        if self._launches.were_made:
            facts.append((LAUNCHES_TAG, "made from ops"))
        self._append(
            "rocpd_metadata",
            {
                "tag": TextColumn.from_strings([tag for tag, _ in facts]),
                "value": TextColumn.from_strings([value for _, value in facts]),
            },
        )

    def _add_texts(self, texts: list[str]) -> Array:
        """Ids of new texts in rocpd_ustring."""
        self._append("rocpd_ustring", {"string": TextColumn.from_strings(texts)})
        first = self._last_text + 1
        self._last_text += len(texts)
        return np.arange(first, first + len(texts), dtype=np.int64)

    def _append(self, name: str, columns: dict[str, Array | TextColumn]) -> None:
        rows = len(next(iter(columns.values())))
        first = self._next_id[name]
        self._next_id[name] += rows
        self._files[name].append({"id": np.arange(first, first + rows), **columns})

    def _pid_of(self, processes: Array) -> Array:
        return self._pids[np.where(processes < len(self._pids) - 1, processes, -1)]

    def _pids_of_calls(self, batch: Batch) -> Array:
        """The pid of each call: that of its process, where that is known."""
        of_process = self._pid_of(batch["process"])
        is_known = (batch["process"] >= 0) & (of_process > 0)
        return np.where(is_known | (batch["pid"] < 0), of_process, batch["pid"])

    def _rows(self, table: Table) -> Iterator[Batch]:
        return self._progress.followed(self._source, table, self._source.batches(table))


def _pids_by_process(source: TraceSource) -> Array:
    """The pid of each process, with that of rows that name none in the last place."""
    columns = read_columns(source, PROCESSES, ("id", "pid"))
    count = int(columns["id"].max()) + 1 if len(columns["id"]) else 0
    pids = np.zeros(count + 1, np.int64)
    pids[columns["id"]] = np.maximum(columns["pid"], 0)
    if count:
        pids[-1] = pids[0]
    return pids
