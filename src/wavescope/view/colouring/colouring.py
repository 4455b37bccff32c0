"""A way to colour ranges: numbered classes with labels, and the class of every range of a lane."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from wavescope.view.lanes import Lane
from wavescope.view.opening import TraceView
from wavescope.view.rows import Row

MOST_CLASSES = 24
"""Of one colouring; what is rarer goes together under the last one."""


class ViewColouring(Protocol):
    """One entry of the page's list `Colour by`."""

    @property
    def id(self) -> str:
        """`category`, `kernel`, `phase`, `step`, `process` or `difference`."""

    @property
    def title(self) -> str:
        """What the list says."""

    def labels(self, view: TraceView) -> tuple[str, ...]:
        """The classes of this trace, at most `MOST_CLASSES`; they may be found out only now."""

    def classes(self, view: TraceView, row: Row, lane: Lane) -> npt.NDArray[np.uint8]:
        """The class of each range of `lane`, which is one of `row`."""
