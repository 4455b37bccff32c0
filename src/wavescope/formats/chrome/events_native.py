"""Chrome trace events through the native reader."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import Any

import numpy as np

from wavescope.closing import Closing
from wavescope.formats.chrome.event_batch import (
    ARGUMENTS,
    BATCH_EVENTS,
    COLUMN_TYPES,
    EventBatch,
    EventCounts,
    EventTables,
    MalformedEventsError,
)

_NEED_INPUT, _BATCH_FULL, _END, _ERROR = range(4)
_TEXTS, _KEYS, _METADATA = range(3)


class _Columns(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_void_p) for name in COLUMN_TYPES),
        ("arguments", ctypes.c_void_p * len(ARGUMENTS)),
    )


class _Counts(ctypes.Structure):
    _fields_ = (
        ("events", ctypes.c_int64),
        ("not_objects", ctypes.c_int64),
        ("replaced_texts", ctypes.c_int64),
        ("unusable_times", ctypes.c_int64),
        ("dropped_metadata", ctypes.c_int64),
        ("has_events", ctypes.c_int32),
        ("is_array", ctypes.c_int32),
        ("truncated", ctypes.c_int32),
    )


_PROTOTYPES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "open": (ctypes.c_void_p, ()),
    "close": (None, (ctypes.c_void_p,)),
    "drop_args": (ctypes.c_int, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t)),
    "feed": (ctypes.c_int, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t)),
    "finish": (None, (ctypes.c_void_p,)),
    "next": (
        ctypes.c_int,
        (
            ctypes.c_void_p,
            ctypes.POINTER(_Columns),
            ctypes.c_size_t,
            ctypes.POINTER(ctypes.c_size_t),
        ),
    ),
    "args": (ctypes.c_void_p, (ctypes.c_void_p, ctypes.POINTER(ctypes.c_size_t))),
    "take": (
        ctypes.c_void_p,
        (
            ctypes.c_void_p,
            ctypes.c_int,
            ctypes.POINTER(ctypes.c_void_p),
            ctypes.POINTER(ctypes.c_size_t),
        ),
    ),
    "get_counts": (None, (ctypes.c_void_p, ctypes.POINTER(_Counts))),
    "error": (ctypes.c_char_p, (ctypes.c_void_p, ctypes.POINTER(ctypes.c_int64))),
}


@functools.cache
def _functions(library: ctypes.CDLL) -> dict[str, Any]:
    functions: dict[str, Any] = {}
    for name, (result, arguments) in _PROTOTYPES.items():
        function = getattr(library, f"ws_chrome_{name}")
        function.restype = result
        function.argtypes = arguments
        functions[name] = function
    return functions


class _Parser(Closing):
    """The native parser and the arrays it fills."""

    def __init__(self, library: ctypes.CDLL, capacity: int) -> None:
        self.functions = _functions(library)
        self.capacity = capacity
        self.columns: dict[str, np.ndarray[Any, Any]] = {
            name: np.empty(capacity, dtype) for name, dtype in COLUMN_TYPES.items()
        }
        self.columns.update((name, np.empty(capacity, np.int64)) for name in ARGUMENTS)
        self.pointers = _Columns(
            *(self.columns[name].ctypes.data for name in COLUMN_TYPES),
            (ctypes.c_void_p * len(ARGUMENTS))(
                *(self.columns[name].ctypes.data for name in ARGUMENTS)
            ),
        )
        self.rows = ctypes.c_size_t(0)
        self.handle = ctypes.c_void_p(self.functions["open"]())
        if not self.handle:
            raise MemoryError

    def close(self) -> None:
        self.functions["close"](self.handle)
        self.handle = ctypes.c_void_p(None)

    def call(self, name: str, *arguments: Any) -> Any:
        return self.functions[name](self.handle, *arguments)

    def next(self) -> int:
        """Fill more rows; the native status."""
        status: int = self.call(
            "next", ctypes.byref(self.pointers), self.capacity, ctypes.byref(self.rows)
        )
        return status

    def batch(self) -> EventBatch:
        """The filled rows, which the next call of `next` may overwrite."""
        size = ctypes.c_size_t()
        address = self.call("args", ctypes.byref(size))
        args = ctypes.string_at(address, size.value) if size.value else b""
        rows = self.rows.value
        self.rows.value = 0
        return EventBatch(rows, {name: array[:rows] for name, array in self.columns.items()}, args)

    def take(self, table: int) -> list[str]:
        """The table's new entries."""
        ends_address, count = ctypes.c_void_p(), ctypes.c_size_t()
        blob_address = self.call("take", table, ctypes.byref(ends_address), ctypes.byref(count))
        if not count.value:
            return []
        ends = (ctypes.c_int64 * count.value).from_address(ends_address.value or 0)
        blob = ctypes.string_at(blob_address, ends[count.value - 1])
        starts = (0, *ends[:-1])
        return [blob[start:end].decode() for start, end in zip(starts, ends, strict=True)]

    def update(self, tables: EventTables) -> None:
        """Bring `tables` up to what was read."""
        tables.texts += self.take(_TEXTS)
        tables.keys += self.take(_KEYS)
        members = self.take(_METADATA)
        tables.metadata.update(zip(members[::2], members[1::2], strict=True))
        counts = _Counts()
        self.call("get_counts", ctypes.byref(counts))
        for each in fields(EventCounts):
            kind = type(getattr(tables.counts, each.name))
            setattr(tables.counts, each.name, kind(getattr(counts, each.name)))

    def error(self) -> MalformedEventsError:
        offset = ctypes.c_int64()
        reason: bytes = self.call("error", ctypes.byref(offset))
        return MalformedEventsError(reason.decode(), offset.value)


def native_batches(
    library: ctypes.CDLL,
    blocks: Iterable[bytes],
    tables: EventTables,
    dropped_args: Iterable[str],
    capacity: int = BATCH_EVENTS,
) -> Iterator[EventBatch]:
    """The events of `blocks` in batches of `capacity`; `tables` grows along.

    The args texts of events whose category is in `dropped_args` are left out.
    """
    with _Parser(library, capacity) as parser:
        for category in dropped_args:
            encoded = category.encode()
            parser.call("drop_args", encoded, len(encoded))
        source = iter(blocks)
        status = _NEED_INPUT
        while status != _END:
            status = parser.next()
            if status == _ERROR:
                raise parser.error()
            if status == _NEED_INPUT:
                block = next(source, None)
                if block is None:
                    parser.call("finish")
                else:
                    parser.call("feed", block, len(block))
            else:
                parser.update(tables)
                if parser.rows.value:
                    yield parser.batch()
