"""The native trace encoder (native/trace_encoder/trace_encoder.h) as seen from Python.

Every user of it has a slower path in Python with the same result.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from wavescope.native.library import columns_library

_INT64 = ctypes.c_int64
_POINTER = ctypes.c_void_p


class SlicesStructure(ctypes.Structure):
    """WavescopeSlices, field by field."""

    _fields_ = (
        ("rows", _INT64),
        ("start_ns", _POINTER),
        ("end_ns", _POINTER),
        ("base_ns", _INT64),
        ("track", _POINTER),
        ("process", _POINTER),
        ("body", _POINTER),
        ("bodies", _POINTER),
        ("body_offsets", _POINTER),
        ("instant", _POINTER),
        ("flow_offsets", _POINTER),
        ("flow_ids", _POINTER),
        ("incoming_flows", _INT64),
        ("integer_count", _INT64),
        ("integers", _POINTER),
        ("size_count", _INT64),
        ("sizes", _POINTER),
        ("labels", _POINTER),
        ("label_offsets", _POINTER),
        ("text", _POINTER),
        ("text_offsets", _POINTER),
    )


_SLICES = (ctypes.POINTER(SlicesStructure), ctypes.POINTER(_INT64), _POINTER, _INT64)
_SIGNATURES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "wavescope_lanes_open": (_POINTER, (ctypes.c_int,)),
    "wavescope_lanes_close": (None, (_POINTER,)),
    "wavescope_lanes_assign": (ctypes.c_int, (_POINTER, _INT64, *(_POINTER,) * 4)),
    "wavescope_bins_add": (
        None,
        (_INT64, *(_POINTER,) * 3, _INT64, ctypes.c_int, _INT64, _INT64, _POINTER, _POINTER),
    ),
    "wavescope_perfetto_slices": (_INT64, _SLICES),
    "wavescope_chrome_slices": (_INT64, _SLICES),
}


@functools.cache
def encoder_library() -> ctypes.CDLL | None:
    """The native library with its functions declared, or None where Python must do."""
    library = columns_library()
    if library is None or not hasattr(library, "wavescope_chrome_slices"):
        return None
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
    return library


def address(array: npt.NDArray[Any] | None) -> int | None:
    """Where a contiguous array's values lie; None for no array."""
    if array is None:
        return None
    assert array.flags.c_contiguous
    return array.ctypes.data


def addresses(arrays: list[npt.NDArray[Any]]) -> npt.NDArray[np.uint64]:
    """The addresses of several arrays as an array of pointers."""
    return np.array([array.ctypes.data for array in arrays], np.uint64)
