"""By what the ops of a report are told apart: a few classes, each drawn in a colour of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.arrays.coded_columns import code_counts, looked_up

Classes = npt.NDArray[np.uint8]


class Colouring(NamedTuple):
    """The classes in the order in which they are stacked, and the class of each op."""

    name: str
    title: str
    labels: tuple[str, ...]
    of_op: Classes

    @classmethod
    def of_used(
        cls, name: str, title: str, labels: Sequence[str], of_op: npt.NDArray[np.integer]
    ) -> Colouring:
        """The colouring with only the classes that occur, numbered anew."""
        used = np.flatnonzero(code_counts(of_op, len(labels)))
        number = np.zeros(len(labels), np.uint8)
        number[used] = np.arange(len(used))
        kept = tuple(labels[index] for index in used.tolist())
        return cls(name, title, kept, looked_up(number, of_op))
