"""The native page reader and bulk writer for SQLite tables (native/sqlite_pages) in Python."""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Sequence
from ctypes import POINTER, byref, c_char_p, c_double, c_int, c_int32, c_int64, c_uint32, c_void_p
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope import native
from wavescope.formats.sqlite.text_column import TextColumn

IS_ROWID = -1
ColumnValues = npt.NDArray[Any] | TextColumn


class PagesStatus(IntEnum):
    """WavescopePagesStatus of sqlite_pages.h."""

    OK = 0
    UNEXPECTED_VALUE = 1
    CORRUPT = 2
    IO_ERROR = 3
    UNSUPPORTED = 4
    OUT_OF_MEMORY = 5
    BAD_ARGUMENT = 6
    NOT_INCREASING = 7
    NULL_REFUSED = 8
    TOO_LARGE = 9


class PagesKind(IntEnum):
    """WavescopeColumnKind of sqlite_pages.h."""

    INTEGER = 0
    REAL = 1
    TEXT = 2
    NULL = 3


class WholeNumbers(IntEnum):
    """WavescopeWholeNumbers of sqlite_pages.h."""

    AS_REAL = 0
    AS_INTEGER = 1
    AS_SHORT_INTEGER = 2


class PagesError(Exception):
    """A native function refused; the Python path or an error message is the caller's business."""

    def __init__(self, status: PagesStatus, error_number: int = 0) -> None:
        super().__init__(f"{status.name.lower()} ({os.strerror(error_number)})")
        self.status = status
        self.error_number = error_number


class ReadColumn(ctypes.Structure):
    """WavescopeReadColumn."""

    _fields_ = (
        ("position", c_int32),
        ("kind", c_int32),
        ("has_default", c_int32),
        ("missing_bits", c_int64),
    )


class BulkColumn(ctypes.Structure):
    """WavescopeBulkColumn."""

    _fields_ = (
        ("not_null", c_int32),
        ("has_missing", c_int32),
        ("whole_numbers", c_int32),
        ("missing_integer", c_int64),
        ("missing_real", c_double),
    )


class _ReadTarget(ctypes.Structure):
    _fields_ = (("values", c_void_p), ("nulls", c_void_p))


class _ReadOutcome(ctypes.Structure):
    _fields_ = (
        ("rows", c_int64),
        ("last_rowid", c_int64),
        ("bad_page", c_uint32),
        ("error_number", c_int32),
        ("at_end", c_int32),
    )


class _BulkValues(ctypes.Structure):
    _fields_ = (
        ("kind", c_int32),
        ("values", c_void_p),
        ("stride_bytes", c_int64),
        ("text", c_void_p),
        ("text_bytes", c_int64),
        ("nulls", c_void_p),
    )


_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "wavescope_table_reader_open": (
        c_char_p,
        c_uint32,
        POINTER(ReadColumn),
        c_int32,
        POINTER(c_void_p),
        POINTER(c_int32),
    ),
    "wavescope_table_reader_seek_after": (c_void_p, c_int64, POINTER(_ReadOutcome)),
    "wavescope_table_reader_read": (
        c_void_p,
        c_int64,
        c_int64,
        c_int64,
        POINTER(_ReadTarget),
        POINTER(_ReadOutcome),
    ),
    "wavescope_table_reader_text": (c_void_p, c_int32, POINTER(c_void_p), POINTER(c_int64)),
    "wavescope_bulk_open": (c_char_p, POINTER(c_void_p), POINTER(c_int32)),
    "wavescope_bulk_add_table": (
        c_void_p,
        c_uint32,
        POINTER(BulkColumn),
        c_int32,
        POINTER(c_int32),
    ),
    "wavescope_bulk_append": (c_void_p, c_int32, c_int64, c_void_p, POINTER(_BulkValues)),
    "wavescope_bulk_finish": (c_void_p,),
    "wavescope_bulk_abort": (c_void_p,),
    "wavescope_parse_dispatch_info": (c_void_p, c_int64, c_void_p, c_int64, c_void_p),
}


@functools.cache
def pages_library() -> ctypes.CDLL | None:
    """The native library with its functions declared, or None where Python must do."""
    library = native.columns_library()
    if library is None or not hasattr(library, "wavescope_table_reader_open"):
        return None
    for name, arguments in _SIGNATURES.items():
        function = getattr(library, name)
        function.argtypes = arguments
        function.restype = c_int
    for name in ("wavescope_table_reader_close", "wavescope_bulk_close"):
        function = getattr(library, name)
        function.argtypes = (c_void_p,)
        function.restype = None
    library.wavescope_bulk_error_number.argtypes = (c_void_p,)
    library.wavescope_bulk_error_number.restype = c_int32
    return library


class PagesRead(NamedTuple):
    """What one read gave: complete rows, and whether it stopped for a reason."""

    status: PagesStatus
    rows: int
    last_rowid: int
    at_end: bool
    columns: list[ColumnValues]


class TableReader:
    """Reads columns of one table in rowid order, straight from the pages of a closed file."""

    def __init__(
        self, library: ctypes.CDLL, path: Path, root_page: int, columns: Sequence[ReadColumn]
    ) -> None:
        self._library = library
        self._columns = (ReadColumn * len(columns))(*columns)
        self._handle = c_void_p()
        error_number = c_int32()
        status = library.wavescope_table_reader_open(
            os.fsencode(path),
            root_page,
            self._columns,
            len(columns),
            byref(self._handle),
            byref(error_number),
        )
        if status != PagesStatus.OK:
            raise PagesError(PagesStatus(status), error_number.value)

    def seek_after(self, rowid: int) -> PagesStatus:
        """Makes the first row with a greater rowid the next one."""
        outcome = _ReadOutcome()
        return PagesStatus(
            self._library.wavescope_table_reader_seek_after(self._handle, rowid, byref(outcome))
        )

    def read(self, max_rows: int, last_rowid: int, text_limit_bytes: int) -> PagesRead:
        """At most `max_rows` rows up to `last_rowid`, fewer when the text limit is reached."""
        arrays = [_target_array(PagesKind(column.kind), max_rows) for column in self._columns]
        nulls = [
            np.empty(max_rows if column.kind == PagesKind.TEXT else 0, dtype=np.bool_)
            for column in self._columns
        ]
        targets = (_ReadTarget * len(arrays))(
            *(
                _ReadTarget(values.ctypes.data, mask.ctypes.data)
                for values, mask in zip(arrays, nulls, strict=True)
            )
        )
        outcome = _ReadOutcome()
        status = self._library.wavescope_table_reader_read(
            self._handle, max_rows, last_rowid, text_limit_bytes, targets, byref(outcome)
        )
        rows = int(outcome.rows)
        columns: list[ColumnValues] = []
        for index, column in enumerate(self._columns):
            if column.kind == PagesKind.TEXT:
                offsets = _trimmed(arrays[index], rows + 1)
                text = self._text(index, int(offsets[-1]))
                columns.append(TextColumn(text, offsets, _trimmed(nulls[index], rows)))
            else:
                columns.append(_trimmed(arrays[index], rows))
        return PagesRead(
            PagesStatus(status), rows, int(outcome.last_rowid), bool(outcome.at_end), columns
        )

    def close(self) -> None:
        """Gives the file back; a second call does nothing."""
        self._library.wavescope_table_reader_close(self._handle)
        self._handle = c_void_p()

    def __del__(self) -> None:
        self.close()

    def _text(self, index: int, used_bytes: int) -> npt.NDArray[np.uint8]:
        pointer, count = c_void_p(), c_int64()
        self._library.wavescope_table_reader_text(self._handle, index, byref(pointer), byref(count))
        if not pointer.value or not used_bytes:
            return np.empty(0, dtype=np.uint8)
        return np.frombuffer(ctypes.string_at(pointer.value, used_bytes), dtype=np.uint8)


def _target_array(kind: PagesKind, max_rows: int) -> npt.NDArray[Any]:
    if kind == PagesKind.TEXT:
        return np.empty(max_rows + 1, dtype=np.int64)
    return np.empty(max_rows, dtype=np.float64 if kind == PagesKind.REAL else np.int64)


def _trimmed(values: npt.NDArray[Any], count: int) -> npt.NDArray[Any]:
    """The first `count` values, copied where a view would keep much unused memory alive."""
    return values[:count] if count * 2 > len(values) else values[:count].copy()


class BulkWriter:
    """Builds b-trees of empty tables behind the end of a closed database file."""

    def __init__(self, library: ctypes.CDLL, path: Path) -> None:
        self._library = library
        self._handle = c_void_p()
        error_number = c_int32()
        status = library.wavescope_bulk_open(
            os.fsencode(path), byref(self._handle), byref(error_number)
        )
        if status != PagesStatus.OK:
            raise PagesError(PagesStatus(status), error_number.value)

    def add_table(self, root_page: int, columns: Sequence[BulkColumn]) -> int:
        """A handle for the empty table rooted at `root_page`."""
        table = c_int32()
        array = (BulkColumn * len(columns))(*columns)
        self._check(
            self._library.wavescope_bulk_add_table(
                self._handle, root_page, array, len(columns), byref(table)
            )
        )
        return table.value

    def append(
        self, table: int, rowids: npt.NDArray[np.int64], columns: Sequence[ColumnValues | None]
    ) -> None:
        """Appends rows; one int64, float64 or text column per column of the table, None for NULL.

        All but the numbers' strides must be contiguous.
        """
        values = (_BulkValues * len(columns))(*(_bulk_values(column) for column in columns))
        self._check(
            self._library.wavescope_bulk_append(
                self._handle, table, len(rowids), rowids.ctypes.data, values
            )
        )

    def finish(self) -> None:
        """Makes all appended rows part of the database."""
        self._check(self._library.wavescope_bulk_finish(self._handle))

    def abort(self) -> None:
        """Leaves the file as it was."""
        self._check(self._library.wavescope_bulk_abort(self._handle))

    def close(self) -> None:
        """Gives the file back; what was not finished is lost."""
        self._library.wavescope_bulk_close(self._handle)
        self._handle = c_void_p()

    def _check(self, status: int) -> None:
        if status != PagesStatus.OK:
            number = self._library.wavescope_bulk_error_number(self._handle)
            raise PagesError(PagesStatus(status), number)


def _bulk_values(column: ColumnValues | None) -> _BulkValues:
    if column is None:
        return _BulkValues(PagesKind.NULL)
    if isinstance(column, TextColumn):
        return _BulkValues(
            PagesKind.TEXT,
            column.offsets.ctypes.data,
            0,
            column.blob.ctypes.data,
            column.blob.size,
            column.nulls.ctypes.data,
        )
    kind = PagesKind.REAL if column.dtype == np.float64 else PagesKind.INTEGER
    return _BulkValues(kind, column.ctypes.data, column.strides[0])
