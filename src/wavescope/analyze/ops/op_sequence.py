"""Which ops ran before and after each op on its queue."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wavescope.arrays import Array
from wavescope.model.trace import TraceTable

Numbers = npt.NDArray[np.int64]

_NONE = -1


@dataclass(frozen=True)
class OpSequence:
    """The label of each op, and of the ops that ran before and after it on its queue (-1: none)."""

    label: Numbers
    before: Numbers
    after: Numbers
    label_count: int

    def triples(self) -> Numbers:
        """One number for each op that tells its label and both its neighbours'."""
        base = self.label_count + 1
        return ((self.before + 1) * base + self.label + 1) * base + self.after + 1


def op_sequence(ops: TraceTable, label: Array, label_count: int) -> OpSequence:
    """The neighbours of each op in order of time on the same GPU and queue."""
    order = np.lexsort((ops["start_ns"], ops["queue"], ops["gpu"]))
    gpus, queues = ops["gpu"][order], ops["queue"][order]
    follows = (gpus[1:] == gpus[:-1]) & (queues[1:] == queues[:-1])
    labels = label[order].astype(np.int64)
    before, after = np.full((2, len(order)), _NONE, np.int64)
    before[order[1:]] = np.where(follows, labels[:-1], _NONE)
    after[order[:-1]] = np.where(follows, labels[1:], _NONE)
    return OpSequence(label.astype(np.int64), before, after, label_count)
