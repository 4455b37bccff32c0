"""Exports tables: the ops as one file, or every table of the trace as a file in a folder.

The columns are those of `model.columns`. CSV has names written out, empty cells for unknown values
and exact integers; quoting and line ends follow RFC 4180. Unless raw text is asked for, no text in
it is a formula to a spreadsheet, and control characters are spelled as escapes. In Parquet and
Arrow IPC names are dictionary-encoded, unknown values are null, and each field carries its unit and
meaning.
"""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any, Protocol, TextIO

import numpy as np

from wavescope.arrays import Array
from wavescope.errors import MachineError
from wavescope.formats.registry import ExportOptions
from wavescope.model.columns import OPS, TABLES, UNKNOWN, Column, ColumnType, Table
from wavescope.model.progress import Progress
from wavescope.model.row_progress import RowProgress
from wavescope.model.source import BATCH_ROWS, Batch, TraceSource
from wavescope.outputs import opened_output
from wavescope.units import fit_for_spreadsheets
from wavescope.version import __version__

_CSV_BATCH_ROWS = 1 << 15
_TEXTS = (ColumnType.STRING, ColumnType.TEXT)
_ORDERED_COLUMNS = ("id", "start_ns", "end_ns")
"""Columns whose neighbours are near each other: stored as differences."""


def write_csv(source: TraceSource, path: Path, options: ExportOptions, progress: Progress) -> None:
    """Write the ops to the file `path`, or all tables that have rows when `path` is a folder."""
    suffix = ".csv.gz" if options.gzip else ".csv"
    spelled = _as_it_is if options.raw_text else fit_for_spreadsheets
    for written in _written_tables(source, path, suffix, progress, _CSV_BATCH_ROWS):
        with _opened_text(written.path, options) as file:
            writer = csv.writer(file)
            writer.writerow(written.table.column_names)
            for batch in written.batches:
                writer.writerows(_rows(source, written.table, batch, spelled))


@dataclass(frozen=True)
class _WrittenTable:
    """A table, the file it goes to, and its rows."""

    table: Table
    path: Path
    batches: Iterator[Batch]


def _written_tables(
    source: TraceSource, path: Path, suffix: str, progress: Progress, rows: int = BATCH_ROWS
) -> Iterator[_WrittenTable]:
    """The ops for the file `path`; for a folder they and every other table that has rows."""
    tables = TABLES if path.is_dir() else (OPS,)
    followed = RowProgress(progress, [source], tables).followed
    for table in tables:
        read = followed(source, table, source.batches(table, rows=rows))
        batches = (batch for batch in read if _row_count(batch))
        first = next(batches, None)
        if first is not None or table is OPS:
            target = path / f"{table.name}{suffix}" if path.is_dir() else path
            found = () if first is None else itertools.chain((first,), batches)
            yield _WrittenTable(table, target, iter(found))


def _row_count(batch: Batch) -> int:
    return len(next(iter(batch.values())))


_Spelled = Callable[[str], str]


def _as_it_is(text: str) -> str:
    return text


def _rows(
    source: TraceSource, table: Table, batch: Batch, spelled: _Spelled
) -> Iterator[tuple[Any, ...]]:
    return zip(
        *(_cells(source, column, batch[column.name], spelled) for column in table.columns),
        strict=False,
    )


def _cells(source: TraceSource, column: Column, values: Array, spelled: _Spelled) -> Iterable[Any]:
    """The cells of one column; endlessly empty ones when nothing in it is known."""
    if column.type is ColumnType.TEXT:
        return [spelled(text) for text in source.texts(values)]
    if column.type is ColumnType.REAL:
        return ["" if value != value else repr(value) for value in values.tolist()]  # noqa: PLR0124
    if column.type is ColumnType.STRING:
        return _decoded(source, values, spelled)
    unknown = values == UNKNOWN
    if not unknown.any():
        return list(values.tolist())
    if unknown.all() and column.name != "id":
        return repeat("")
    return ["" if value == UNKNOWN else value for value in values.tolist()]


def _decoded(source: TraceSource, codes: Array, spelled: _Spelled) -> Iterable[str]:
    """The texts of `codes`; each of the few different ones is spelled once."""
    distinct, places = np.unique(np.asarray(codes), return_inverse=True)
    texts = [spelled(text) for text in source.strings.decode(distinct)]
    return map(texts.__getitem__, places.reshape(-1).tolist())


@contextmanager
def _opened_text(path: Path, options: ExportOptions) -> Iterator[TextIO]:
    with opened_output(path, gzip=options.gzip) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", errors="replace", newline="")
        yield text
        text.flush()
        text.detach()


class _Writer(Protocol):
    def write(self, batch: Any) -> None: ...

    def close(self) -> None: ...


def write_parquet(
    source: TraceSource,
    path: Path,
    options: ExportOptions,  # noqa: ARG001  Parquet compresses its columns itself
    progress: Progress,
) -> None:
    """Write the ops as Parquet, or all tables that have rows when `path` is a folder."""
    _write(source, path, progress, _Format(".parquet", _parquet_writer, _BatchDictionaries))


def write_arrow(
    source: TraceSource,
    path: Path,
    options: ExportOptions,  # noqa: ARG001  Arrow compresses its columns itself
    progress: Progress,
) -> None:
    """Write the ops as an Arrow IPC file, or all tables when `path` is a folder."""
    _write(source, path, progress, _Format(".arrow", _arrow_writer, _GrowingDictionaries))


@dataclass(frozen=True)
class _Format:
    suffix: str
    open_writer: Callable[[Path, Any, Table], _Writer]
    new_dictionaries: Callable[[], _Dictionaries]


def _write(source: TraceSource, path: Path, progress: Progress, kind: _Format) -> None:
    arrow = _pyarrow()
    for written in _written_tables(source, path, kind.suffix, progress):
        encoder = _Encoder(arrow, source, written.table, kind.new_dictionaries())
        with closing(kind.open_writer(written.path, encoder.schema, written.table)) as writer:
            for batch in written.batches:
                writer.write(encoder.record_batch(batch))


class _Dictionaries(Protocol):
    def encoded(self, column: str, codes: Array, source: TraceSource) -> tuple[Array, list[str]]:
        """Codes for Arrow and the strings they stand for."""


class _BatchDictionaries:
    """A dictionary for each batch: Parquet writes one with every row group."""

    def encoded(self, column: str, codes: Array, source: TraceSource) -> tuple[Array, list[str]]:  # noqa: ARG002
        distinct, places = np.unique(codes, return_inverse=True)
        return places.reshape(-1).astype(np.int32), source.strings.decode(distinct)


class _GrowingDictionaries:
    """One dictionary per column that only grows: Arrow files take additions, not replacements."""

    def __init__(self) -> None:
        self._codes: dict[str, dict[int, int]] = {}
        self._strings: dict[str, list[str]] = {}

    def encoded(self, column: str, codes: Array, source: TraceSource) -> tuple[Array, list[str]]:
        known = self._codes.setdefault(column, {})
        strings = self._strings.setdefault(column, [])
        distinct, places = np.unique(codes, return_inverse=True)
        for code in distinct.tolist():
            if code not in known:
                known[code] = len(strings)
                strings.append(source.strings[code])
        own = np.array([known[code] for code in distinct.tolist()], np.int32)
        return own[places.reshape(-1)], strings


class _Encoder:
    """Turns the batches of one table into Arrow record batches of one schema."""

    def __init__(
        self, arrow: Any, source: TraceSource, table: Table, dictionaries: _Dictionaries
    ) -> None:
        self._arrow = arrow
        self._source = source
        self._table = table
        self._dictionaries = dictionaries
        self.schema = _schema(arrow, source, table)

    def record_batch(self, batch: Batch) -> Any:
        """The Arrow record batch of `batch`."""
        arrays = [self._array(column, batch[column.name]) for column in self._table.columns]
        return self._arrow.record_batch(arrays, schema=self.schema)

    def _array(self, column: Column, values: Array) -> Any:
        arrow = self._arrow
        if column.type is ColumnType.REAL:
            return arrow.array(values, mask=np.isnan(values))
        unknown = values < 0 if column.type in _TEXTS else values == UNKNOWN
        if column.type is ColumnType.STRING:
            codes, strings = self._dictionaries.encoded(column.name, values, self._source)
            return arrow.DictionaryArray.from_arrays(
                arrow.array(codes, arrow.int32(), mask=unknown),
                arrow.array(_valid(strings), arrow.string()),
            )
        if column.type is ColumnType.TEXT:
            return arrow.array(_valid(self._source.texts(values)), arrow.string(), mask=unknown)
        if unknown.all():
            return arrow.nulls(len(values), self.schema.field(column.name).type)
        return arrow.array(values, mask=unknown)


def _valid(texts: list[str]) -> list[str]:
    """The texts without lone surrogates, which Arrow refuses."""
    return [text.encode("utf-8", "replace").decode() for text in texts]


def _schema(arrow: Any, source: TraceSource, table: Table) -> Any:
    types = {
        ColumnType.INT64: arrow.int64(),
        ColumnType.INT32: arrow.int32(),
        ColumnType.REAL: arrow.float64(),
        ColumnType.STRING: arrow.dictionary(arrow.int32(), arrow.string()),
        ColumnType.TEXT: arrow.string(),
    }
    fields = [
        arrow.field(
            column.name,
            types[column.type],
            metadata={"meaning": column.meaning, **({"unit": column.unit} if column.unit else {})},
        )
        for column in table.columns
    ]
    about = {
        "table": table.name,
        "meaning": table.meaning,
        "source_format": source.format,
        "written_by": f"wavescope {__version__}",
    }
    return arrow.schema(fields, metadata=about)


def _parquet_writer(path: Path, schema: Any, table: Table) -> _Writer:
    from pyarrow import parquet  # noqa: PLC0415  optional and slow to import

    strings = [column.name for column in table.columns if column.type is ColumnType.STRING]
    deltas = [name for name in _ORDERED_COLUMNS if name in table.column_names]
    writer: _Writer = parquet.ParquetWriter(
        path,
        schema,
        compression="zstd",
        use_dictionary=strings or False,
        column_encoding=dict.fromkeys(deltas, "DELTA_BINARY_PACKED"),
    )
    return writer


def _arrow_writer(path: Path, schema: Any, table: Table) -> _Writer:  # noqa: ARG001
    from pyarrow import ipc  # noqa: PLC0415  optional and slow to import

    options = ipc.IpcWriteOptions(compression="zstd", emit_dictionary_deltas=True)
    writer: _Writer = ipc.new_file(path, schema, options=options)
    return writer


def _pyarrow() -> Any:
    try:
        import pyarrow  # noqa: PLC0415  optional and slow to import
    except ImportError as error:
        raise MachineError(
            "Parquet and Arrow files need pyarrow, which is not installed",
            hint="pip install 'wavescope[arrow]'",
        ) from error
    return pyarrow
