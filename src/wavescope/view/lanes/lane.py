"""A lane: ranges of time in order, none overlapping the next."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Times = npt.NDArray[np.int64]
Lengths = npt.NDArray[np.uint32] | npt.NDArray[np.uint64]
Codes = npt.NDArray[np.int32]
Rows = npt.NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class Lane:
    """Ranges [start, start + length) in order of start, none overlapping the next.

    Ranges of length 0 are instants. A lane equals itself alone. Two lanes of one row may overlap:
    ops that run at the same time on one queue lie in lanes of different depth, and while a trace
    is being read a depth has a lane for each part that was read so far.
    """

    starts: Times
    """As in the trace, in ns."""
    lengths: Lengths
    """In ns; 32 bits wide where all fit."""
    names: Codes
    """Codes in the trace's strings; an op without a name has the code of its type, -1: neither."""
    rows: Rows
    """Which row of the trace's table each range is."""
    depth: int = 0
    """0 is drawn at the top of the row."""

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def begins_ns(self) -> int:
        """When the first range starts; a lane without ranges has no such time."""
        return int(self.starts[0])

    @property
    def ends_ns(self) -> int:
        """When the last range ends; a lane without ranges has no such time."""
        return int(self.starts[-1]) + int(self.lengths[-1])
