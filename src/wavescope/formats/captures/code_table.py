"""The rows of code.json as columns, read natively where every row is as all versions write it.

The native reader makes no Python object per cell: 200,000 rows cost 0.1 s and 30 MB instead of
0.7 s and 150 MB. Anything unusual makes it give up, and the caller reads the file with Python.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import orjson

from wavescope.formats.captures.wave_columns import PADDING
from wavescope.model.capture import Integers, Rows
from wavescope.native.library import columns_library

_TEXTS = 2
_SHORTEST_ROW = len('["",0,0,0,0],')


class CodeTable(NamedTuple):
    """Columns of code.json before they are interpreted."""

    text: Sequence[str]
    source_code: Rows
    """Index into `sources`."""
    sources: Sequence[str]
    numbers: Mapping[str, Integers]
    """Integer columns by lower-case name, those that the file has."""
    reasons: Integers | None = None


class _Columns(ctypes.Structure):
    _fields_: ClassVar = [
        ("capacity", ctypes.c_int64),
        ("width", ctypes.c_int32),
        ("integer_count", ctypes.c_int32),
        ("integer_places", ctypes.c_void_p),
        ("integers", ctypes.c_void_p),
        ("text_places", ctypes.c_int32 * _TEXTS),
        ("texts", ctypes.c_void_p * _TEXTS),
    ]


class NativeCode:
    """A code.json that the native reader holds."""

    def __init__(self, library: ctypes.CDLL, handle: int, data: bytes) -> None:
        self._library = library
        self._handle = ctypes.c_void_p(handle)
        self._data = data

    def value(self, name: str, otherwise: object) -> Any:
        """The value of a top-level member other than the rows."""
        begin, end = ctypes.c_int64(), ctypes.c_int64()
        missing = self._library.ws_code_member(
            self._handle, name.encode(), ctypes.byref(begin), ctypes.byref(end)
        )
        if missing:
            return otherwise
        try:
            return orjson.loads(self._data[begin.value : end.value])
        except orjson.JSONDecodeError:
            return otherwise

    def rows(self, places: Mapping[str, int], counts: Sequence[str]) -> CodeTable | None:
        """The rows with the integer columns `counts`, None where any row is unusual."""
        names = [name for name in counts if name in places]
        capacity = len(self._data) // _SHORTEST_ROW + 1
        integers = [np.empty(capacity, np.int64) for _ in names]
        texts = [np.empty(capacity, np.int32) for _ in range(_TEXTS)]
        integer_places = np.array([places[name] for name in names], np.int32)
        pointers = (ctypes.c_void_p * len(names))(*(column.ctypes.data for column in integers))
        columns = _Columns(
            capacity,
            max(places.values()) + 1,
            len(names),
            integer_places.ctypes.data,
            ctypes.cast(pointers, ctypes.c_void_p),
            (ctypes.c_int32 * _TEXTS)(places["isa"], places["source"]),
            (ctypes.c_void_p * _TEXTS)(*(column.ctypes.data for column in texts)),
        )
        count = self._library.ws_code_read(self._handle, ctypes.byref(columns))
        if count < 0:
            return None
        distinct = [text.strip() for text in self._texts(0)]
        return CodeTable(
            text=[distinct[code] for code in texts[0][:count].tolist()],
            source_code=texts[1][:count].copy(),
            sources=self._texts(1),
            numbers={
                name: column[:count].copy() for name, column in zip(names, integers, strict=True)
            },
        )

    def _texts(self, index: int) -> list[str]:
        ends, count = ctypes.c_void_p(), ctypes.c_int64()
        blob = self._library.ws_code_texts(
            self._handle, ctypes.c_int32(index), ctypes.byref(ends), ctypes.byref(count)
        )
        if not blob:
            raise MemoryError
        if not count.value:
            return []
        bounds = (ctypes.c_int64 * count.value).from_address(ends.value or 0)
        whole = ctypes.string_at(blob, bounds[-1])
        starts = [0, *bounds[:-1]]
        return [whole[start:end].decode() for start, end in zip(starts, bounds, strict=True)]


@contextlib.contextmanager
def opened_code(padded: bytes) -> Iterator[NativeCode | None]:
    """The file as the native reader holds it, None where Python must read it.

    `padded` is the file's bytes with `PADDING` behind them.
    """
    library = columns_library()
    if library is None:
        yield None
        return
    _declare(library)
    size = len(padded) - len(PADDING)
    handle = library.ws_code_open(ctypes.c_char_p(padded), ctypes.c_size_t(size))
    if not handle:
        yield None
        return
    try:
        yield NativeCode(library, handle, padded)
    finally:
        library.ws_code_close(ctypes.c_void_p(handle))


def _declare(library: ctypes.CDLL) -> None:
    library.ws_code_open.restype = ctypes.c_void_p
    library.ws_code_read.restype = ctypes.c_int64
    library.ws_code_texts.restype = ctypes.c_void_p
