"""The ops of each process and queue in the order they started: what steps are found in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ops.op_labels import OpLabels, op_labels
from wavescope.analyze.steps.moves import Move, Moves, op_moves
from wavescope.arrays import Array
from wavescope.arrays.coded_columns import DistinctRows, distinct, paired
from wavescope.arrays.groups import RowGroups, grouped_rows
from wavescope.arrays.intervals import Times, elapsed_ns, is_sorted
from wavescope.model.columns import UNKNOWN
from wavescope.model.op_kinds import OpClass, OpKind
from wavescope.model.trace import Trace, TraceTable

Rows = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Lane:
    """The ops of one process on one queue by start; `labels` say what each is called."""

    gpu: int
    queue: int
    process: int
    rows: Rows
    """Where each op stands in the trace's `ops`."""
    labels: Array
    starts: Times
    ends: Times
    beside: tuple[Lane, ...] = ()
    """The other lanes of the same GPU."""

    def __len__(self) -> int:
        return int(self.rows.size)

    @property
    def place(self) -> tuple[int, int, int]:
        """The GPU, the queue and the process."""
        return self.gpu, self.queue, self.process

    def part(self, place: slice | npt.NDArray[np.bool_] | Rows) -> Lane:
        """Some of the ops: a stretch of them, those that a mask chooses, or these in this order."""
        return replace(
            self,
            rows=self.rows[place],
            labels=self.labels[place],
            starts=self.starts[place],
            ends=self.ends[place],
        )

    @cached_property
    def busy_until(self) -> Times:
        """For each op the latest end of it and of all ops before."""
        return self.ends if is_sorted(self.ends) else np.maximum.accumulate(self.ends)

    def gaps_before(self, ops: Rows) -> Times:
        """How long the GPU was idle before each of the ops; 0 for the first op of the lane."""
        starts = self.starts[ops]
        idle_from = np.where(ops > 0, self.busy_until[np.maximum(ops, 1) - 1], starts)
        for lane in self.beside:
            started = np.searchsorted(lane.starts, starts, side="left")
            ended = lane.busy_until[np.maximum(started, 1) - 1]
            idle_from = np.where(started > 0, np.maximum(idle_from, ended), idle_from)
        gaps: Times = np.maximum(starts - idle_from, 0)
        return gaps

    @cached_property
    def busy_ns(self) -> Times:
        """How much each op adds to the time covered by the ops before: a union, not a sum."""
        covered_from = self.starts.copy()
        np.maximum(self.starts[1:], self.busy_until[:-1], out=covered_from[1:])
        added: Times = np.maximum(self.ends - covered_from, 0)
        return added


def joined_lanes(lanes: Sequence[Lane]) -> Lane:
    """The ops of lanes of one place, those of one lane after those of another."""
    return replace(
        lanes[0],
        rows=np.concatenate([lane.rows for lane in lanes]),
        labels=np.concatenate([lane.labels for lane in lanes]),
        starts=np.concatenate([lane.starts for lane in lanes]),
        ends=np.concatenate([lane.ends for lane in lanes]),
    )


@dataclass(frozen=True)
class Lanes:
    """All lanes of a trace, and which of them carry the work of their GPU."""

    lanes: tuple[Lane, ...]
    main: tuple[bool, ...]
    texts: Sequence[str]
    """What the labels stand for."""
    moves: Moves
    """What copies and fills, of all ops of the trace."""
    programs: tuple[Lane, ...]
    """Each lane without the runtime's kernels, which may run on any: what tells steps."""

    @cached_property
    def is_frequent(self) -> npt.NDArray[np.bool_]:
        """Which labels occur often enough to be looked at: a hostile trace has millions of them."""
        counts = np.zeros(len(self.texts), np.int64)
        for lane in self.lanes:
            counts += np.bincount(lane.labels, minlength=counts.size)
        if counts.size <= MOST_LABELS:
            return counts > 0
        least = np.partition(counts, -MOST_LABELS)[-MOST_LABELS]
        frequent: npt.NDArray[np.bool_] = counts > max(int(least), 1)
        return frequent

    @property
    def main_lanes(self) -> tuple[Lane, ...]:
        return tuple(lane for lane, main in zip(self.lanes, self.main, strict=True) if main)

    @property
    def main_programs(self) -> tuple[Lane, ...]:
        """What the program itself launched on the main lanes."""
        return tuple(lane for lane, main in zip(self.programs, self.main, strict=True) if main)

    @property
    def rest(self) -> tuple[Lane, ...]:
        """All other ops."""
        beside = (lane for lane, main in zip(self.lanes, self.main, strict=True) if not main)
        among = (lane.part(self.moves.by_kernel[lane.rows]) for lane in self.main_lanes)
        return (*beside, *(lane for lane in among if len(lane)))


MOST_LABELS = 8_192
MAIN_SHARE = 0.1
"""A lane with this share of what its GPU computes while the lane is in use, from its first op to
its last, is looked at by itself, not beside another."""
FEWEST_OPS = 8
"""Fewer ops are no step of a model: such a lane is compared with all that its GPU computes."""


def lanes_of(trace: Trace) -> Lanes:
    """The lanes of `trace`, barriers left out."""
    ops = trace.ops
    ops.load("gpu", "queue", "process", "start_ns", "end_ns", "type", "name")
    named = op_labels(trace, ops)
    labels = _label_codes(named)
    # Two processes may share a GPU, and number their queues alike.
    queues, queue_of_row = distinct(ops["queue"])
    processes, process_of_row = distinct(_processes(ops))
    count = len(queues) * len(processes)
    lane_of_row = paired(queue_of_row, process_of_row, len(processes), count)
    groups = _grouped_working_rows(trace, lane_of_row)
    lanes: list[Lane] = []
    for gpu, members in groups.by_major():
        alone = [
            _lane(
                ops,
                labels,
                groups.columns[0][place],
                (gpu, queues[number // len(processes)], processes[number % len(processes)]),
            )
            for number, place in members
        ]
        lanes += [
            replace(lane, beside=tuple(other for other in alone if other is not lane))
            for lane in alone
        ]
    moves = op_moves(trace)
    programs = _programs(lanes, moves)
    main = _are_main(trace, programs, moves)
    return Lanes(tuple(lanes), main, named.texts, moves, programs)


def _processes(ops: TraceTable) -> Array:
    """The process of each op; ops without one have that of the others on their queue, if it is one:
    launches from before the recording began are not in the trace."""
    processes = ops["process"]
    unknown = processes == UNKNOWN
    if not unknown.any() or unknown.all():
        return processes
    place, firsts = DistinctRows(2).number((ops["gpu"], ops["queue"]))
    least = np.full(len(firsts), np.iinfo(processes.dtype).max, processes.dtype)
    most = np.full(len(firsts), UNKNOWN, processes.dtype)
    np.minimum.at(least, place[~unknown], processes[~unknown])
    np.maximum.at(most, place[~unknown], processes[~unknown])
    only = np.where(least == most, most, UNKNOWN)
    return np.where(unknown, only[place], processes)


def _grouped_working_rows(trace: Trace, lane_of_row: Array) -> RowGroups:
    """The rows of all ops but barriers, by GPU and lane."""
    rows = np.arange(len(lane_of_row), dtype=np.int64)
    is_barrier = trace.op_kind == OpKind.BARRIER
    if not is_barrier.any():
        return grouped_rows(trace.ops["gpu"], lane_of_row, (rows,))
    working = rows[~is_barrier]
    return grouped_rows(trace.ops["gpu"][working], lane_of_row[working], (working,))


def _label_codes(named: OpLabels) -> Array:
    narrow = np.uint16 if len(named.texts) < 1 << 16 else np.int32
    return named.for_each_op(np.arange(len(named.texts), dtype=narrow))


def _lane(ops: TraceTable, labels: Array, rows: Rows, place: tuple[int, int, int]) -> Lane:
    starts = ops["start_ns"][rows]
    if not is_sorted(starts):
        order = np.argsort(starts, kind="stable")
        starts, rows = starts[order], rows[order]
    return Lane(*place, rows, labels[rows], starts, ops["end_ns"][rows])


def _programs(lanes: Sequence[Lane], moves: Moves) -> tuple[Lane, ...]:
    """What the program launched on each lane; beside it is what it launched on others."""
    if not moves.by_kernel.any():
        return tuple(lanes)
    programs = [lane.part(~moves.by_kernel[lane.rows]) for lane in lanes]
    of_gpu: dict[int, list[Lane]] = {}
    for program in programs:
        if len(program):
            of_gpu.setdefault(program.gpu, []).append(program)
    return tuple(
        replace(
            program,
            beside=tuple(each for each in of_gpu.get(program.gpu, ()) if each is not program),
        )
        for program in programs
    )


def _are_main(trace: Trace, lanes: Sequence[Lane], moves: Moves) -> tuple[bool, ...]:
    by_gpu: dict[int, list[int]] = {}
    for number, lane in enumerate(lanes):
        if len(lane):
            by_gpu.setdefault(lane.gpu, []).append(number)
    main = [False] * len(lanes)
    for numbers in by_gpu.values():
        of_gpu = [lanes[number] for number in numbers]
        for number, is_main in zip(numbers, _are_main_of_gpu(trace, of_gpu, moves), strict=True):
            main[number] = is_main
    return tuple(main)


def _are_main_of_gpu(trace: Trace, lanes: Sequence[Lane], moves: Moves) -> list[bool]:
    computed = [_compute_until(trace, lane, moves) for lane in lanes]
    own = np.array([until[-1] for until in computed])
    has_a_step = np.array([len(lane) >= FEWEST_OPS for lane in lanes])
    of_all = np.where(has_a_step, _compute_of_all_meanwhile(lanes, computed), own.sum())
    is_main: list[bool] = ((own > 0) & (own >= MAIN_SHARE * of_all)).tolist()
    return is_main


def _compute_of_all_meanwhile(lanes: Sequence[Lane], computed: Sequence[Reals]) -> Reals:
    """For each lane of a GPU, what all of them computed from its first to its last start."""
    firsts = np.array([lane.starts[0] for lane in lanes])
    lasts = np.array([lane.starts[-1] for lane in lanes])
    total = np.zeros(len(lanes))
    for lane, until in zip(lanes, computed, strict=True):
        total += until[np.searchsorted(lane.starts, lasts, side="right")]
        total -= until[np.searchsorted(lane.starts, firsts, side="left")]
    return total


def _compute_until(trace: Trace, lane: Lane, moves: Moves) -> Reals:
    """The durations of kernels that neither communicate nor copy or fill, added up before each op;
    then all of them. Shares are computed from them, so that sums need not be exact."""
    computes = trace.op_class[lane.rows] == OpClass.COMPUTE
    computes &= moves.of_op[lane.rows] == Move.NONE
    lengths = elapsed_ns(lane.starts, lane.ends)
    if not computes.all():
        lengths = np.where(computes, lengths, 0)
    until = np.zeros(len(lane) + 1)
    np.cumsum(lengths, dtype=np.float64, out=until[1:])
    return until
