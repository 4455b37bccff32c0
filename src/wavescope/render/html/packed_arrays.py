"""Columns of numbers as a page carries them: bytes by place, deflated, in base64.

Of neighbouring numbers the high bytes are mostly equal: bytes of the same place are put next to
each other before they are compressed. The page's script undoes both.
"""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

_LEVEL = 6


def packed(array: npt.NDArray[np.unsignedinteger]) -> dict[str, Any]:
    """The values of a one-dimensional column, in the narrowest type that holds them."""
    narrow = array.astype(_narrowest(int(array.max(initial=0))))
    by_place = narrow.astype(narrow.dtype.newbyteorder("<")).view(np.uint8)
    by_place = by_place.reshape(-1, narrow.itemsize).T
    compressed = zlib.compress(by_place.tobytes(), _LEVEL)
    return {
        "bytes": narrow.itemsize,
        "length": len(narrow),
        "data": base64.b64encode(compressed).decode(),
    }


def packed_steps(
    array: npt.NDArray[np.int64], *, restarts: npt.NDArray[np.bool_]
) -> dict[str, Any]:
    """Values that never decrease but at `restarts`, as the steps between them."""
    steps = np.diff(array, prepend=0)
    steps[restarts] = array[restarts]
    return packed(steps.view(np.uint64))


def _narrowest(largest: int) -> type[np.unsignedinteger]:
    kinds = (np.uint8, np.uint16, np.uint32)
    return next((kind for kind in kinds if largest <= np.iinfo(kind).max), np.uint64)
