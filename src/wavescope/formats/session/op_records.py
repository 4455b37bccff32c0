"""The op records of a process: those of its file, and after a kill those still in flight."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from wavescope.formats.session.layout import OPS
from wavescope.formats.session.record_file import BLOCK_RECORDS, Block, RecordFile, Records


@dataclass(frozen=True)
class OpRecords:
    """Records in the order of their places; those that were rescued come last."""

    file: RecordFile | None
    rescued: Records = field(default_factory=lambda: np.empty(0, OPS.record))

    @property
    def written(self) -> int:
        """Records in the file; those that a killed process had no time for are zeros at its end."""
        return self.file.filled_count if self.file else 0

    @property
    def slot_count(self) -> int:
        """Places, of which some may be empty."""
        return self._places_in_file + len(self.rescued)

    @property
    def _places_in_file(self) -> int:
        return self.file.slot_count if self.file else 0

    def blocks(self, rows: int = BLOCK_RECORDS) -> Iterator[Block]:
        """The completed records, at most `rows` at a time."""
        if self.file is not None:
            yield from self.file.blocks(rows)
        for start in range(0, len(self.rescued), rows):
            records = self.rescued[start : start + rows]
            yield Block(np.arange(len(records)) + self._places_in_file + start, records)
