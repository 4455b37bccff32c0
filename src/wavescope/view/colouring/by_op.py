"""Colours that need more of an op than its name: a class for each op of the whole trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from wavescope.arrays.coded_columns import looked_up
from wavescope.view.colouring.code_classes import Classes
from wavescope.view.colouring.host_classes import HOST
from wavescope.view.lanes import Lane
from wavescope.view.opening import TraceView
from wavescope.view.rows import Row


class OpClasses(NamedTuple):
    """Labels, and the class of each op of the trace; one byte per op is kept."""

    labels: tuple[str, ...]
    of_op: Classes


class ByOp:
    """A colouring by what `find` says of the ops; calls and markers have a class of their own."""

    def __init__(self, name: str, title: str, find: Callable[[TraceView], OpClasses]) -> None:
        self._id, self._title, self._find = name, title, find

    @property
    def id(self) -> str:
        return self._id

    @property
    def title(self) -> str:
        return self._title

    def labels(self, view: TraceView) -> tuple[str, ...]:
        """What was found, then what the host did."""
        view.require_whole()
        return (*view.derived(self._find).labels, HOST)

    def classes(self, view: TraceView, row: Row, lane: Lane) -> Classes:
        """By the rows of the lane."""
        view.require_whole()
        found = view.derived(self._find)
        if row.table != "ops":
            return np.full(len(lane), len(found.labels), np.uint8)
        classes: Classes = looked_up(found.of_op, lane.rows)
        return classes
