"""How the time of a trace divides: into classes of ops, and into the hot kernels of each phase."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ops.op_labels import NamedOps
from wavescope.analyze.phases import OUTSIDE, PhaseAssignment, PhaseSource
from wavescope.analyze.timeline import Colouring
from wavescope.arrays import Array
from wavescope.arrays.coded_columns import distinct, looked_up
from wavescope.arrays.groups import group_sums
from wavescope.model.result import ResultColumn, ResultTable, Unit, Value
from wavescope.names.kernel_names import COMMUNICATION
from wavescope.units import percent_of

__all__ = ["OUTSIDE", "REST", "phase_colouring"]

REST = "other markers"

_MOST_PHASES = 6
_TITLES = {
    PhaseSource.MARKERS: "Phase (markers)",
    PhaseSource.STRUCTURE: "Phase (inferred)",
}


def phase_colouring(durations_ns: Array, phases: PhaseAssignment) -> Colouring | None:
    """The phases that take most time, first seen first, and the others together; None where
    nothing tells phases apart."""
    if phases.source is PhaseSource.NONE:
        return None
    count = len(phases.labels)
    totals = group_sums(phases.codes + 1, durations_ns, count + 1)[1:]
    kept = sorted(sorted(range(count), key=lambda index: -totals[index])[:_MOST_PHASES])
    place = np.full(count + 1, len(kept), np.uint8)
    place[kept] = np.arange(len(kept))
    # The last entry answers for -1, the ops of no phase.
    place[count] = len(kept) + 1
    labels = [*(phases.labels[index] for index in kept), REST, phases.outside_label]
    return Colouring.of_used(
        "phase", _TITLES[phases.source], labels, looked_up(place, phases.codes)
    )


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
    rows = [SharedTime("all", tuple(map(sum, zip(*by_gpu, strict=True))))]
    if phases is not None and len(phases.labels) > 1:
        by_phase = _sums(by, durations_ns, phases.of_op, len(phases.labels))
        rows += [
            SharedTime(label, tuple(times))
            for label, times in zip(phases.labels, by_phase, strict=True)
        ]
    if len(numbers) > 1:
        rows += [
            SharedTime(f"GPU {number}", tuple(times))
            for number, times in zip(numbers, by_gpu, strict=True)
        ]
    return rows


def _sums(
    by: Colouring, durations_ns: Array, of_op: npt.NDArray[np.integer], count: int
) -> list[list[int]]:
    """For each of `count` groups the time of each class; sums may be too large for a column."""
    width = len(by.labels)
    cells = of_op.astype(np.int64) * width + by.of_op
    sums = group_sums(cells, durations_ns, count * width)
    return [sums[group * width : (group + 1) * width] for group in range(count)]


Counts = npt.NDArray[np.int64]

_COLUMNS = (
    ResultColumn("rank", "#", meaning="place by time"),
    ResultColumn("name", "Kernel", Unit.NAME, "kernel, or type of a copy or fill"),
    ResultColumn("calls", "Calls", Unit.COUNT, "how often it ran in the phase"),
    ResultColumn("mean_ns", "Avg", Unit.NS, "mean duration"),
    ResultColumn("compute_percent", "Compute %", Unit.PERCENT, "share of the phase's compute"),
    ResultColumn("note", "What it is", Unit.NAME, "read from its name"),
)


class HotKernels(NamedTuple):
    """One phase: its ops, and its hot kernels with collectives left out."""

    phase: str
    op_count: int
    compute_ns: int
    communication_ns: int
    kernels: ResultTable


def hot_kernels(
    phases: Colouring, named: NamedOps, durations_ns: Array, top: int = 10
) -> list[HotKernels]:
    """Each phase that has ops, in the order of `phases`."""
    width = len(named.names)
    cells = phases.of_op.astype(np.int64) * width + named.of_op
    shape = (len(phases.labels), width)
    size = shape[0] * shape[1]
    counts = np.bincount(cells, minlength=size).reshape(shape)
    totals = group_sums(cells, durations_ns, size)
    found = [
        _phase(label, counts[number], totals[number * width :][:width], named, top)
        for number, label in enumerate(phases.labels)
    ]
    return [phase for phase in found if phase.op_count]


def _phase(label: str, counts: Counts, totals: list[int], named: NamedOps, top: int) -> HotKernels:
    collective = [meaning.category == COMMUNICATION for meaning in named.meanings]
    communication_ns = sum(itertools.compress(totals, collective))
    compute_ns = sum(totals) - communication_ns
    order = [i for i in sorted(range(len(totals)), key=lambda i: -totals[i]) if counts[i]]
    compute = [i for i in order if not collective[i]]
    rows: list[tuple[Value, ...]] = [
        (
            rank,
            named.names[i],
            int(counts[i]),
            totals[i] / int(counts[i]),
            percent_of(totals[i], compute_ns),
            named.meanings[i].note or None,
        )
        for rank, i in enumerate(compute[:top], 1)
    ]
    table = ResultTable("hot_kernels", label, _COLUMNS, rows, len(compute))
    return HotKernels(label, int(counts.sum()), compute_ns, communication_ns, table)
