"""The text that rocm-trace-lite keeps in completionSignal, as numbers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavescope.formats.sqlite.text_column import TextColumn
from wavescope.native import columns_library

FIELD_COUNT = 7


def parse_dispatch_info(text: TextColumn) -> npt.NDArray[np.int64]:
    """One row per text like `hwq=0x7e4d2e6bb000 wg=256,1,1 grid=131072,1,1`.

    Columns: hardware queue address (64 bits as they are), workgroup x, y, z, grid x, y, z;
    -1 where a number is absent or does not fit.
    """
    rows = np.empty((len(text), FIELD_COUNT), dtype=np.int64)
    blob, offsets = np.ascontiguousarray(text.blob), np.ascontiguousarray(text.offsets)
    if columns_library().wavescope_parse_dispatch_info(blob, blob.size, offsets, len(text), rows):
        raise ValueError("the offsets of the text column are not in order")
    return rows
