"""Exports CSV: the ops as one file, or every table of the trace as a file of its own.

Names are written out, unknown values are empty cells, integers stay exact. Quoting and line ends
follow RFC 4180.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import repeat
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from wavescope.arrays import Array
from wavescope.formats.compressed_output import opened_output
from wavescope.formats.exporter import Exporter, ExportOptions
from wavescope.model.columns import OPS, TABLES, UNKNOWN, Column, ColumnType, Table
from wavescope.model.progress import Progress
from wavescope.model.source import Batch, TraceSource

_BATCH_ROWS = 1 << 15


def write_csv(source: TraceSource, path: Path, options: ExportOptions, progress: Progress) -> None:
    """Write the ops to the file `path`, or all tables that have rows when `path` is a folder."""
    tables = TABLES if path.is_dir() else (OPS,)
    total = sum(source.row_count(table) for table in tables)
    done = 0
    for table in tables:
        batches = (batch for batch in source.batches(table, rows=_BATCH_ROWS) if len(_first(batch)))
        first = next(batches, None)
        if first is None and table is not OPS:
            continue
        target = path / f"{table.name}.csv" if path.is_dir() else path
        if options.gzip and path.is_dir():
            target = target.with_name(target.name + ".gz")
        with _opened_text(target, options) as file:
            writer = csv.writer(file)
            writer.writerow(table.column_names)
            for batch in _chained(first, batches):
                writer.writerows(_rows(source, table, batch))
                done += len(_first(batch))
                progress(min(done, total), total)


def _rows(source: TraceSource, table: Table, batch: Batch) -> Iterator[tuple[Any, ...]]:
    return zip(
        *(_cells(source, column, batch[column.name]) for column in table.columns),
        strict=False,
    )


def _cells(source: TraceSource, column: Column, values: Array) -> Iterable[Any]:
    """The cells of one column; endlessly empty ones when nothing in it is known."""
    if column.type is ColumnType.TEXT:
        return source.texts(values)
    if column.type is ColumnType.REAL:
        return ["" if value != value else repr(value) for value in values.tolist()]  # noqa: PLR0124
    if column.type is ColumnType.STRING:
        return _decoded(source, values)
    unknown = values == UNKNOWN
    if not unknown.any():
        return list(values.tolist())
    if unknown.all() and column.name != "id":
        return repeat("")
    return ["" if value == UNKNOWN else value for value in values.tolist()]


def _decoded(source: TraceSource, codes: Array) -> list[str]:
    return source.strings.decode(np.asarray(codes))


@contextmanager
def _opened_text(path: Path, options: ExportOptions) -> Iterator[TextIO]:
    with opened_output(path, gzip=options.gzip) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", errors="replace", newline="")
        yield text
        text.flush()
        text.detach()


def _first(batch: Batch) -> Array:
    return next(iter(batch.values()))


def _chained(first: Batch | None, rest: Iterator[Batch]) -> Iterator[Batch]:
    if first is not None:
        yield first
        yield from rest


EXPORTER = Exporter("csv", (".csv", ".csv.gz"), "the ops as a table", write_csv)
FOLDER_EXPORTER = Exporter(
    "csv-folder", (), "every table of the trace as a CSV file", write_csv, is_folder=True
)
EXPORTERS = (EXPORTER, FOLDER_EXPORTER)
