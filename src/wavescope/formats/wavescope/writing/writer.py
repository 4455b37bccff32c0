"""Writes one or several trace sources into one trace file, batch by batch.

One source makes a conversion, several a merge. The file is complete only when `write_trace`
returns: callers write to a temporary name and rename it (`formats.files.replaced`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath

import numpy as np

from wavescope.arrays import Array
from wavescope.formats.registry import ExportOptions
from wavescope.formats.sqlite.sqlite_bulk import BulkDatabase
from wavescope.formats.sqlite.sqlite_columns import TextColumn
from wavescope.formats.sqlite.sqlite_open import filling, sqlite_writing_errors
from wavescope.formats.wavescope.schema import (
    ROCPD_SCHEMA_VERSION,
    UNKNOWN_GPU,
    file_tables,
    schema_statements,
)
from wavescope.formats.wavescope.writing.merge_plan import RankFrom, SourcePlan, plan_merge
from wavescope.model.columns import (
    AGENTS,
    CALLS,
    COPIES,
    LAUNCHES,
    MARKERS,
    METADATA,
    OPS,
    PROCESSES,
    TABLES,
    UNKNOWN,
    Column,
    ColumnType,
    Table,
)
from wavescope.model.progress import NOTE_TAG, Progress, no_progress
from wavescope.model.row_progress import NUMBERED, RowProgress
from wavescope.model.source import Batch, TraceSource, full_batch, read_columns
from wavescope.model.strings import StringTable

_MARKER_INDEX = "CREATE INDEX wavescope_marker_rows ON rocpd_op (gpuId) WHERE gpuId = -1"
_EMPTY_TEXT_ID = 1
_OWN_TAGS = {"schema_version", "gpu_stride", "pid_stride"}


def write_trace(
    sources: Sequence[TraceSource],
    path: Path,
    progress: Progress = no_progress,
    *,
    rank_from: RankFrom = RankFrom.NOWHERE,
) -> None:
    """Write `sources` to a new trace file at `path`."""
    with sqlite_writing_errors(path):
        with filling(path) as connection:
            for statement in schema_statements():
                connection.execute(statement)
        with BulkDatabase(path) as database:
            _Writer(database, plan_merge(sources, rank_from), progress).write()
        with filling(path) as connection:
            connection.execute(_MARKER_INDEX)


def write_wavescope(
    source: TraceSource,
    path: Path,
    options: ExportOptions,  # noqa: ARG001  a database is not compressed
    progress: Progress,
) -> None:
    """Write `source` to a new trace file at `path`: a conversion."""
    write_trace([source], path, progress)


class _Writer:
    """Streams every table of every source into the open database."""

    def __init__(
        self, database: BulkDatabase, plans: Sequence[SourcePlan], progress: Progress
    ) -> None:
        self._plans = plans
        self._progress = RowProgress(progress, [plan.source for plan in plans])
        self._strings = StringTable([""])
        self._last_text = _EMPTY_TEXT_ID
        self._columns = _filled_tables()
        self._files = {
            name: database.table(name, list(columns), missing=_missing(name, columns))
            for name, columns in self._columns.items()
        }
        for name in ("rocpd_string", "rocpd_ustring"):
            self._files[name] = database.table(name, ["id", "string"])
        self._next_rowid = dict.fromkeys(self._columns, 1)
        self._last_call = {LAUNCHES.name: 0, COPIES.name: 0}

    def write(self) -> None:
        self._append_texts("rocpd_ustring", np.array([_EMPTY_TEXT_ID]), [""])
        for table in TABLES:
            for plan in self._plans:
                self._write_table(plan, table)
        self._write_notes()
        ids = np.arange(1, len(self._strings) + 1, dtype=np.int64)
        self._append_texts("rocpd_string", ids, list(self._strings))

    def _append_texts(self, name: str, ids: Array, texts: Sequence[str]) -> None:
        self._files[name].append({"id": ids, "string": TextColumn.from_strings(texts)})

    def _write_table(self, plan: SourcePlan, table: Table) -> None:
        for batch in self._rows(plan, table):
            remapped = plan.remapped(table, batch, self._strings)
            if table in (LAUNCHES, COPIES):
                remapped = self._one_per_call(plan, table, remapped)
            if table is CALLS:
                remapped["args"] = self._text_ids(plan.source, batch["args"])
            for name, key in table.keys:
                self._append(table, name, key, remapped)

    def _one_per_call(self, plan: SourcePlan, table: Table, batch: Batch) -> Batch:
        """The rows that the file can keep by their call: one for each, in order."""
        calls = batch["call"]
        earlier = np.maximum.accumulate(np.append(self._last_call[table.name], calls))
        kept = calls > earlier[:-1]
        self._last_call[table.name] = int(earlier[-1])
        if kept.all():
            return batch
        plan.source.notes.add(
            f"{table.name} repeat an earlier call or are out of order: left out", (~kept).sum()
        )
        return {name: values[kept] for name, values in batch.items()}

    def _rows(self, plan: SourcePlan, table: Table) -> Iterator[Batch]:
        source = plan.source
        if table is PROCESSES:
            yield self._process_rows(plan)
        elif table is AGENTS:
            yield self._agent_rows(plan)
        elif table is METADATA:
            yield self._metadata_rows(plan)
        elif table in NUMBERED:
            yield from self._progress.followed(source, table, source.batches(table))
        else:
            yield from source.batches(table)

    def _process_rows(self, plan: SourcePlan) -> Batch:
        """The source's processes, or one that stands for it; each knows its file and rank."""
        source = plan.source
        rows = read_columns(source, PROCESSES, PROCESSES.column_names)
        if not len(rows["id"]):
            rows = full_batch(PROCESSES, {"id": np.zeros(1, np.int32)}, None)
        rows["rank"] = np.where(rows["rank"] >= 0, rows["rank"], plan.rank)
        origin = source.strings.code(PurePath(source.path).name)
        rows["origin"] = np.where(rows["origin"] >= 0, rows["origin"], origin).astype(np.int32)
        return rows

    def _agent_rows(self, plan: SourcePlan) -> Batch:
        """The source's agents, and one row for each GPU that only its ops name."""
        rows = read_columns(plan.source, AGENTS, AGENTS.column_names)
        unnamed = np.array(sorted(set(plan.gpus).difference(rows["gpu"].tolist())), np.int32)
        added = full_batch(AGENTS, {"gpu": unnamed}, None)
        joined = {name: np.concatenate((rows[name], added[name])) for name in rows}
        known = joined["local_index"] >= 0
        joined["local_index"] = np.where(known, joined["local_index"], joined["gpu"])
        return joined

    def _metadata_rows(self, plan: SourcePlan) -> Batch:
        """The source's facts; in a merge each tag says which file it speaks of."""
        source = plan.source
        rows = read_columns(source, METADATA, ("tag", "value"))
        tags = source.strings.decode(rows["tag"])
        values = source.strings.decode(rows["value"])
        kept = [
            (tag, value)
            for tag, value in zip(tags, values, strict=True)
            if tag not in _OWN_TAGS and not tag.startswith(NOTE_TAG)
        ]
        prefix = f"{PurePath(source.path).name}: " if len(self._plans) > 1 else ""
        is_first = plan is self._plans[0]
        facts = [("schema_version", ROCPD_SCHEMA_VERSION)] if is_first else []
        facts += [(prefix + tag, value) for tag, value in kept]
        if source.format != "wavescope":
            facts.append((prefix + "source_format", source.format))
        return {
            "tag": source.strings.codes([tag for tag, _ in facts]),
            "value": source.strings.codes([value for _, value in facts]),
        }

    def _write_notes(self) -> None:
        """What readers skipped or repaired stays known in the file."""
        for plan in self._plans:
            notes = plan.source.notes.facts()
            batch: Batch = {
                "tag": self._strings.codes([tag for tag, _ in notes]),
                "value": self._strings.codes([value for _, value in notes]),
            }
            self._append(METADATA, "rocpd_metadata", "id", batch)

    def _append(self, table: Table, file_table: str, key: str, batch: Batch) -> None:
        rows = len(next(iter(batch.values())))
        stored = table.columns_in(file_table)
        if not rows:
            return
        batch = full_batch(table, batch, None)
        columns: dict[str, Array | TextColumn] = {
            column.stored_as: self._stored(column, batch[column.name], file_table)
            for column in stored
        }
        if key not in columns:
            columns[key] = self._rowids(table, file_table, batch, rows)
        if table is MARKERS and file_table == "rocpd_op":
            columns["gpuId"] = np.full(rows, -1, np.int64)
            columns["queueId"] = columns["sequenceId"] = np.zeros(rows, np.int64)
        elif table is OPS and file_table == "rocpd_op":
            columns["gpuId"] = np.where(batch["gpu"] >= 0, batch["gpu"], UNKNOWN_GPU).astype(
                np.int64
            )
        elif stored and not _says_something(batch, stored):
            return
        self._files[file_table].append(columns)

    def _rowids(self, table: Table, file_table: str, batch: Batch, rows: int) -> Array:
        if "id" in table.column_names:
            return batch["id"].astype(np.int64)
        first = self._next_rowid[file_table]
        self._next_rowid[file_table] += rows
        return np.arange(first, first + rows, dtype=np.int64)

    def _stored(self, column: Column, values: Array, file_table: str) -> Array | TextColumn:
        """A column as the file keeps it: string ids from 1, inline text, NULL for unknown."""
        if column.sql_type == "TEXT":
            return TextColumn.from_strings(self._strings.decode(values))
        if column.type is ColumnType.STRING:
            unknown = 1 if file_table.startswith("rocpd_") else UNKNOWN
            return np.where(values >= 0, values.astype(np.int64) + 1, unknown)
        return values if column.type is ColumnType.REAL else values.astype(np.int64)

    def _text_ids(self, source: TraceSource, handles: Array) -> Array:
        """Ids of the texts in rocpd_ustring, where those that are not empty are written now."""
        distinct, places = np.unique(handles, return_inverse=True)
        texts = source.texts(distinct)
        filled = np.array([bool(text) for text in texts], bool)
        ids = np.full(len(distinct), _EMPTY_TEXT_ID, np.int64)
        ids[filled] = np.arange(self._last_text + 1, self._last_text + 1 + filled.sum())
        self._append_texts("rocpd_ustring", ids[filled], [text for text in texts if text])
        self._last_text += int(filled.sum())
        return ids[places]


def _filled_tables() -> dict[str, dict[str, str]]:
    """The tables and columns that are written: all but the dialect's unused ones."""
    declared = {
        (name, column.stored_as)
        for table in TABLES
        for name, _ in table.keys
        for column in table.columns_in(name)
    } | {key for table in TABLES for key in table.keys}
    return {
        name: {column: kind for column, kind in columns.items() if (name, column) in declared}
        for name, columns in file_tables().items()
    }


def _missing(file_table: str, columns: dict[str, str]) -> dict[str, int | float]:
    """Which values become NULL; in rocpd_op -1 is the GPU of markers and stays."""
    if file_table == "rocpd_op":
        return {"gpuId": UNKNOWN_GPU}
    return {name: UNKNOWN for name, sql_type in columns.items() if sql_type == "INTEGER"}


def _says_something(batch: Batch, columns: Sequence[Column]) -> bool:
    """Whether any of `columns` holds a known value: empty side tables are not written."""
    return any(
        column.name in batch
        and (column.type is ColumnType.REAL or bool((batch[column.name] != UNKNOWN).any()))
        for column in columns
    )
