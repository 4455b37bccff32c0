"""What a row of the timeline is; rows never change, those of a growing trace are replaced."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from wavescope.arrays.intervals import Intervals
from wavescope.view.lanes import Lane


class RowKind(str, enum.Enum):
    """What a row shows; values are part of the page's protocol."""

    GROUP = "group"
    """A heading for others: a process."""
    GPU = "gpu"
    """All work of a GPU together."""
    QUEUE = "queue"
    COPIES = "copies"
    """Copies and fills of a GPU."""
    MARKERS = "markers"
    CALLS = "calls"
    """API calls, operators and Python functions of a thread, nested."""
    SERIES = "series"
    """A value over time: queue depth, busy share, clocks, power."""


@dataclass(frozen=True, eq=False)
class Series:
    """A value that holds from each time to the next, the last to the end; NaN: not known."""

    unit: str
    times: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]


class LazySeries:
    """A series whose values are made when they are first asked for."""

    def __init__(self, unit: str, make: Callable[[], Series]) -> None:
        self.unit = unit
        self._make = make

    @cached_property
    def _made(self) -> Series:
        return self._make()

    @property
    def times(self) -> npt.NDArray[np.int64]:
        return self._made.times

    @property
    def values(self) -> npt.NDArray[np.float64]:
        return self._made.values


@dataclass(frozen=True)
class Row:
    """One row; its id is the same whenever the same trace is opened, for links to it.

    ids: `gpu/0`, `queue/0/1` (GPU, queue), `copies/0`, `process/P`, `markers/P/T`, `calls/P/T`
    (row in `processes`, thread), `series/depth/0/1`, `series/busy/0`, `series/sclk/gpu/0`. A
    process that is not listed has the key that `formats.timeline.ProcessKeys` gives it.
    """

    id: str
    kind: RowKind
    label: str
    parent: str = ""
    """The row that it is under and folded with; empty for one of the top."""
    table: str = ""
    """`ops`, `markers` or `calls`: what `Lane.rows` count in."""
    lanes: tuple[Lane, ...] = ()
    members: tuple[str, ...] = ()
    """Of a GPU the rows whose work it shows together; it has no lanes of its own. Of a series
    without values of its own: the rows whose busy share, in percent, it shows."""
    series: Series | LazySeries | None = None
    unit: str = ""
    """Of a series."""
    recorded: Intervals | None = None
    """Of a sampled trace when every kernel was recorded; None: all the time."""
    count: int = 0
    """Ranges in all lanes (of a GPU: of its members)."""
    is_folded: bool = False
    """Whether the page shows it folded at first."""

    @property
    def depth(self) -> int:
        """How many lanes lie one below the other."""
        return 1 + max((lane.depth for lane in self.lanes), default=0)
