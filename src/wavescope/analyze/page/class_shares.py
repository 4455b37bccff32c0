"""How the time of a trace, of each GPU and of each phase divides into classes of ops."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ops.scopes import distinct
from wavescope.analyze.page.colouring import Colouring
from wavescope.arrays import Array
from wavescope.arrays.group_statistics import group_sums


class SharedTime(NamedTuple):
    """The time of each class in one row of a stacked bar."""

    label: str
    times_ns: tuple[int, ...]

    @property
    def total_ns(self) -> int:
        return sum(self.times_ns)


def class_shares(
    by: Colouring, durations_ns: Array, gpus: Array, phases: Colouring | None
) -> list[SharedTime]:
    """Durations added up by class: for all ops, and for each of several phases and GPUs."""
    numbers, of_op = distinct(gpus)
    by_gpu = _sums(by, durations_ns, of_op, len(numbers))
    rows = [SharedTime("all", tuple(by_gpu.sum(axis=0).tolist()))]
    if phases is not None and len(phases.labels) > 1:
        by_phase = _sums(by, durations_ns, phases.of_op, len(phases.labels))
        rows += [
            SharedTime(label, tuple(times))
            for label, times in zip(phases.labels, by_phase.tolist(), strict=True)
        ]
    if len(numbers) > 1:
        rows += [
            SharedTime(f"GPU {number}", tuple(times))
            for number, times in zip(numbers, by_gpu.tolist(), strict=True)
        ]
    return rows


def _sums(
    by: Colouring, durations_ns: Array, of_op: npt.NDArray[np.integer], count: int
) -> npt.NDArray[np.int64]:
    width = len(by.labels)
    cells = of_op.astype(np.int64) * width + by.of_op
    return np.array(group_sums(cells, durations_ns, count * width), np.int64).reshape(count, width)
