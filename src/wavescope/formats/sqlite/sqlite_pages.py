"""Columns of a SQLite table straight from the pages of its file (native/sqlite_pages)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.formats.sqlite.text_column import TextColumn
from wavescope.native import (
    Handle,
    Int32,
    Int64,
    ReadColumn,
    ReadOutcome,
    ReadTarget,
    bytes_at,
    columns_library,
    pointer,
)

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


class PagesError(Exception):
    """A native function refused; the Python path or an error message is the caller's business."""

    def __init__(self, status: PagesStatus, error_number: int = 0) -> None:
        super().__init__(f"{status.name.lower()} ({os.strerror(error_number)})")
        self.status = status
        self.error_number = error_number


class PagesRead(NamedTuple):
    """What one read gave: complete rows, and whether it stopped for a reason."""

    status: PagesStatus
    rows: int
    last_rowid: int
    at_end: bool
    bad_page: int
    columns: list[ColumnValues]


class TableReader:
    """Reads columns of one table in rowid order, straight from the pages of a closed file."""

    def __init__(self, path: Path, root_page: int, columns: Sequence[ReadColumn]) -> None:
        self._handle = Handle()
        self._library = columns_library()
        self._columns = (ReadColumn * len(columns))(*columns)
        error_number = Int32()
        status = self._library.wavescope_table_reader_open(
            os.fsencode(path), root_page, self._columns, len(columns), self._handle, error_number
        )
        if status != PagesStatus.OK:
            raise PagesError(PagesStatus(status), error_number.value)

    def seek_after(self, rowid: int) -> PagesStatus:
        """Makes the first row with a greater rowid the next one."""
        return PagesStatus(
            self._library.wavescope_table_reader_seek_after(self._handle, rowid, ReadOutcome())
        )

    def verify(self) -> tuple[PagesStatus, int]:
        """What reading the whole table would end with, and the damaged page if there is one."""
        outcome = ReadOutcome()
        status = PagesStatus(self._library.wavescope_table_reader_verify(self._handle, outcome))
        return status, int(outcome.bad_page)

    def read(self, max_rows: int, last_rowid: int, text_limit_bytes: int) -> PagesRead:
        """At most `max_rows` rows up to `last_rowid`, fewer when the text limit is reached."""
        arrays = [_target_array(PagesKind(column.kind), max_rows) for column in self._columns]
        nulls = [
            np.empty(max_rows, dtype=np.bool_) if column.kind == PagesKind.TEXT else None
            for column in self._columns
        ]
        targets = (ReadTarget * len(arrays))(
            *(
                ReadTarget(pointer(values, values.dtype), pointer(mask, np.bool_))
                for values, mask in zip(arrays, nulls, strict=True)
            )
        )
        outcome = ReadOutcome()
        status = self._library.wavescope_table_reader_read(
            self._handle, max_rows, last_rowid, text_limit_bytes, targets, outcome
        )
        rows = int(outcome.rows)
        columns: list[ColumnValues] = []
        for index in range(len(self._columns)):
            mask = nulls[index]
            if mask is not None:
                offsets = _trimmed(arrays[index], rows + 1)
                text = self._text(index, int(offsets[-1]))
                columns.append(TextColumn(text, offsets, _trimmed(mask, rows)))
            else:
                columns.append(_trimmed(arrays[index], rows))
        return PagesRead(
            PagesStatus(status),
            rows,
            int(outcome.last_rowid),
            bool(outcome.at_end),
            int(outcome.bad_page),
            columns,
        )

    def close(self) -> None:
        """Gives the file back; a second call does nothing."""
        if self._handle:
            self._library.wavescope_table_reader_close(self._handle)
            self._handle = Handle()

    def __del__(self) -> None:
        self.close()

    def _text(self, index: int, used_bytes: int) -> npt.NDArray[np.uint8]:
        text, count = Handle(), Int64()
        self._library.wavescope_table_reader_text(self._handle, index, text, count)
        return np.frombuffer(bytes_at(text.value, used_bytes), dtype=np.uint8)


def _target_array(kind: PagesKind, max_rows: int) -> npt.NDArray[Any]:
    if kind == PagesKind.TEXT:
        return np.empty(max_rows + 1, dtype=np.int64)
    return np.empty(max_rows, dtype=np.float64 if kind == PagesKind.REAL else np.int64)


def _trimmed(values: npt.NDArray[Any], count: int) -> npt.NDArray[Any]:
    """The first `count` values, copied where a view would keep much unused memory alive."""
    return values[:count] if count * 2 > len(values) else values[:count].copy()
