"""Markers and calls put on the rows of their threads, batch by batch."""

from __future__ import annotations

import numpy as np

from wavescope.formats.timeline import ProcessKeys
from wavescope.model.source import Batch
from wavescope.model.strings import StringTable
from wavescope.view.lanes import Packing, Ranges
from wavescope.view.opening.growing_rows import GrowingRows
from wavescope.view.rows import HostPlace

MARKER_COLUMNS = ("process", "thread", "start_ns", "end_ns", "name")
CALL_COLUMNS = (*MARKER_COLUMNS, "pid", "category")


class GatheredHost:
    """The rows read so far of `markers` or of `calls`."""

    def __init__(self, table: str, keys: ProcessKeys, strings: StringTable) -> None:
        self._keys = keys
        self._strings = strings
        self.rows = GrowingRows(
            Packing.BELOW_OPEN, lambda process, thread: HostPlace(process, thread, table)
        )
        self.row_count = 0

    def add(self, batch: Batch) -> None:
        """Take in the next rows."""
        count = len(batch["start_ns"])
        rows = np.arange(self.row_count, self.row_count + count, dtype=np.uint32)
        self.row_count += count
        names, empty = batch["name"], self._strings.find("")
        if empty >= 0:
            names = np.where(names == empty, np.int32(-1), names)
        ranges = Ranges(batch["start_ns"], batch["end_ns"], names, rows)
        self.rows.add(self._keys.of(batch), batch["thread"], ranges)
