"""The ops of one rank that work, and the time that each kind of them covers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ops.gpu_timelines import doubled_runs
from wavescope.arrays import Array
from wavescope.arrays.covered_time import CoveredTime
from wavescope.arrays.intervals import Times
from wavescope.model.op_kinds import OpClass, OpKind
from wavescope.model.trace import Trace

Rows = npt.NDArray[np.intp]

_FARTHEST_NS = (1 << 62) - (1 << 32)
"""Times beyond are no times: the year 2116 for clocks that count from 1970. 64 bits hold the
difference of any two times within."""


@dataclass(frozen=True)
class RankOps:
    """Ops that work (no barriers, no graphs beside their kernels) as columns of equal length."""

    trace: Trace
    rows: Rows | None
    """Their rows among the trace's ops; None: all of them."""
    starts: Times
    ends: Times
    classes: npt.NDArray[np.int8]
    kinds: npt.NDArray[np.int8]
    unusable_count: int
    """Ops that were left out because their times make no sense."""

    @classmethod
    def of(cls, trace: Trace) -> RankOps:
        ops = trace.ops
        starts, ends = ops["start_ns"], ops["end_ns"]
        usable = _usable(starts, ends)
        working = _working(trace)
        unusable_count = 0
        if usable is not None:
            unusable_count = int(
                np.count_nonzero(~usable if working is None else working & ~usable)
            )
            working = usable if working is None else working & usable
        if working is None:
            return cls(trace, None, starts, ends, trace.op_class, trace.op_kind, unusable_count)
        rows = np.flatnonzero(working)
        return cls(
            trace,
            rows,
            starts[rows],
            ends[rows],
            trace.op_class[rows],
            trace.op_kind[rows],
            unusable_count,
        )

    def __len__(self) -> int:
        return len(self.starts)

    def column(self, name: str) -> Array:
        """A column of the trace's ops."""
        return self.of_working(self.trace.ops[name])

    def of_working(self, values: Array) -> Array:
        """Of values for each op of the trace those of the ops that work."""
        return values if self.rows is None else values[self.rows]

    @cached_property
    def first_ns(self) -> int:
        """When the first one began; 0 without any."""
        return int(self.starts.min()) if len(self) else 0

    @cached_property
    def last_ns(self) -> int:
        """When the last one ended; 0 without any."""
        return int(self.ends.max()) if len(self) else 0

    @cached_property
    def is_compute(self) -> npt.NDArray[np.bool_]:
        is_compute: npt.NDArray[np.bool_] = self.classes == OpClass.COMPUTE
        return is_compute

    @cached_property
    def is_compute_kernel(self) -> npt.NDArray[np.bool_]:
        """Which are kernels and no collectives."""
        chosen: npt.NDArray[np.bool_] = self.is_compute & (self.kinds == OpKind.KERNEL)
        return chosen

    @cached_property
    def collective_rows(self) -> Rows:
        """The collectives, in the order in which they began."""
        rows = np.flatnonzero(self.classes == OpClass.COMMUNICATION)
        return rows[np.argsort(self.starts[rows], kind="stable")]

    @cached_property
    def compute(self) -> CoveredTime:
        return self._covered(OpClass.COMPUTE)

    @cached_property
    def collective(self) -> CoveredTime:
        return self._covered(OpClass.COMMUNICATION)

    @cached_property
    def compute_or_collective(self) -> CoveredTime:
        return CoveredTime.of_all((self.compute, self.collective))

    @cached_property
    def busy(self) -> CoveredTime:
        return CoveredTime.of_all((self.compute_or_collective, self._covered(OpClass.COPY)))

    def _covered(self, op_class: OpClass) -> CoveredTime:
        mine = self.is_compute if op_class is OpClass.COMPUTE else self.classes == op_class
        if mine.all():
            return CoveredTime.of(self.starts, self.ends)
        return CoveredTime.of(self.starts[mine], self.ends[mine])


def _usable(starts: Times, ends: Times) -> npt.NDArray[np.bool_] | None:
    """Which ops have times that make sense; None when all have."""
    if not len(starts):
        return None
    is_near = int(starts.min()) >= -_FARTHEST_NS and int(ends.max()) <= _FARTHEST_NS
    if is_near and bool(np.all(ends >= starts)):
        return None
    usable: npt.NDArray[np.bool_] = (starts >= -_FARTHEST_NS) & (ends <= _FARTHEST_NS)
    return usable & (ends >= starts)


def _working(trace: Trace) -> npt.NDArray[np.bool_] | None:
    """Which ops work; None when all do."""
    working: npt.NDArray[np.bool_] = trace.op_kind != OpKind.BARRIER
    doubled = doubled_runs(trace)
    if doubled is not None:
        working &= ~doubled
    return None if working.all() else working
