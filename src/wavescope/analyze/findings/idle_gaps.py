"""The idle gaps of all GPUs as arrays, each with the op that ended it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wavescope.analyze.gpu_timelines import GpuTimeline
from wavescope.analyze.rows_by_time import RowsByTime
from wavescope.model.coded_columns import blocks
from wavescope.model.intervals import Times
from wavescope.model.op_kinds import OpKind
from wavescope.model.trace import Trace

Rows = npt.NDArray[np.int64]

NO_ROW = -1
_FEW_GAPS = 2_000


@dataclass(frozen=True)
class IdleGaps:
    """Gaps in order of GPU and time; `after` is the row of the op that began as the gap ended."""

    gpus: Rows
    starts: Times
    ends: Times
    after: Rows

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def lengths_ns(self) -> Times:
        lengths: Times = self.ends - self.starts
        return lengths

    def take(self, chosen: npt.NDArray[np.bool_] | Rows) -> IdleGaps:
        """Some of the gaps."""
        return IdleGaps(
            self.gpus[chosen], self.starts[chosen], self.ends[chosen], self.after[chosen]
        )


def idle_gaps(trace: Trace, timelines: Sequence[GpuTimeline], least_ns: int) -> IdleGaps:
    """The gaps of at least `least_ns` of every GPU."""
    parts = []
    for timeline in timelines:
        starts, ends = timeline.busy.ends[:-1], timeline.busy.starts[1:]
        chosen = np.flatnonzero(ends - starts >= least_ns)
        gpus = np.full(len(chosen), timeline.gpu, np.int64)
        parts.append((gpus, starts[chosen], ends[chosen]))
    if not parts:
        nothing = np.empty(0, np.int64)
        return IdleGaps(nothing, nothing, nothing, nothing)
    gpus, starts, ends = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    found = _rows_of_few if len(gpus) <= _FEW_GAPS else _rows_of_many
    return IdleGaps(gpus, starts, ends, found(trace, gpus, ends))


def _rows_of_few(trace: Trace, gpus: Rows, times: Times) -> Rows:
    """As `_rows_of_many`, one after the other: a few are found without a pass over all ops."""
    op_gpus, kinds = trace.ops["gpu"], trace.op_kind
    by_start = RowsByTime(trace.ops["start_ns"])
    return np.array(
        [
            next(
                (
                    row
                    for row in by_start.at(time)
                    if op_gpus[row] == gpu and kinds[row] != OpKind.BARRIER
                ),
                NO_ROW,
            )
            for gpu, time in zip(gpus.tolist(), times.tolist(), strict=True)
        ],
        np.int64,
    )


def _rows_of_many(trace: Trace, gpus: Rows, times: Times) -> Rows:
    """For each GPU and time the first row of an op (no barrier) that starts there and then."""
    rows = np.full(len(times), NO_ROW, np.int64)
    if not len(times):
        return rows
    ops = trace.ops
    op_starts, op_gpus, kinds = ops["start_ns"], ops["gpu"], trace.op_kind
    numbers = np.unique(gpus)
    origin, last = min(int(op_starts.min()), int(times.min())), int(op_starts.max())
    if (last - origin + 1) * len(numbers) >= 1 << 63:
        return rows
    keys = (times - origin) * len(numbers)
    if len(numbers) > 1:
        keys += np.searchsorted(numbers, gpus)
    # The gaps of each GPU are in order, so that this merges few runs, or has nothing to do.
    by_time = np.argsort(keys, kind="stable")
    keys = keys[by_time]
    has_barriers = bool(np.any(kinds == OpKind.BARRIER))
    # Backwards, so that of several rows the first one stays.
    for block in reversed(list(blocks(len(op_starts)))):
        gpu_numbers = np.minimum(np.searchsorted(numbers, op_gpus[block]), len(numbers) - 1)
        wanted = op_starts[block] - origin
        wanted *= len(numbers)
        wanted += gpu_numbers
        places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        found = (keys[places] == wanted) & (numbers[gpu_numbers] == op_gpus[block])
        if has_barriers:
            found &= kinds[block] != OpKind.BARRIER
        hits = np.flatnonzero(found)[::-1]
        rows[by_time[places[hits]]] = hits + block.start
    return rows
