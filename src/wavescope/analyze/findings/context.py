"""What several findings are made from, computed once: timelines, gaps, phases, names; and which
calls of a kernel are alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from wavescope.analyze.idle.gap_parts import GapParts, gap_parts
from wavescope.analyze.ops.busy_timelines import busy_timelines
from wavescope.analyze.ops.gaps import IdleGaps, gaps_before_selected, idle_gaps
from wavescope.analyze.ops.gpu_timelines import GpuTimeline, gpu_timelines
from wavescope.analyze.ops.op_labels import OpLabels, op_labels, short_op_name
from wavescope.analyze.ops.op_links import OpLinks, op_links
from wavescope.analyze.ops.utilization import GpuUtilization, gpu_utilizations
from wavescope.analyze.phases import PhaseAssignment, phases_of
from wavescope.analyze.quick_findings import DEFAULT_THRESHOLDS, Thresholds
from wavescope.arrays import Array
from wavescope.arrays.coded_columns import DistinctRows, index_type
from wavescope.arrays.groups import GroupStatistics, group_statistics
from wavescope.arrays.intervals import sum_of_lengths_ns
from wavescope.model.op_kinds import OpClass, OpKind
from wavescope.model.trace import Trace
from wavescope.names.kernel_names import short_name

_OP_COLUMNS = ("id", "gpu", "queue", "start_ns", "end_ns", "name", "type", "process", "marker")
_GRID = ("grid_x", "grid_y", "grid_z")


@dataclass(frozen=True)
class FindingContext:
    """A trace and the thresholds; everything else is derived when it is first asked for."""

    trace: Trace
    thresholds: Thresholds = DEFAULT_THRESHOLDS

    def __post_init__(self) -> None:
        self.trace.ops.load(*_OP_COLUMNS)

    @property
    def timelines(self) -> Sequence[GpuTimeline]:
        """What ran on each GPU, also ops that the trace is selected without."""
        return self.trace.derived(busy_timelines)

    @cached_property
    def utilizations(self) -> list[GpuUtilization]:
        return gpu_utilizations(self.timelines)

    @cached_property
    def gaps(self) -> list[IdleGaps]:
        """Of each GPU the gaps that are more than the GPU's own step from op to op."""
        least_ns = int(self.thresholds.back_to_back_ns)
        if self.trace.part_of is None:
            return idle_gaps(self.trace, self.timelines, least_ns)
        return gaps_before_selected(self.trace, least_ns)

    @property
    def hides_ops(self) -> bool:
        """Whether a filter hides ops that ran between those of the trace."""
        return self.trace.hides_ops

    @property
    def gap_parts(self) -> list[GapParts]:
        """All gaps of each GPU with the launches that ended them."""
        return self.trace.derived(gap_parts)

    def first_step_ns(self, gpu: int) -> int | None:
        """When the first op of any phase began on a GPU, if most of its ops come after that."""
        if self.trace.part_of is not None:
            return None
        ops = self.trace.ops
        here = ops["gpu"] == gpu
        starts = ops["start_ns"][here]
        inside = self.phases.path_of_op[here] >= 0
        if not inside.any():
            return None
        first_ns = int(starts[inside].min())
        return first_ns if 2 * int(np.count_nonzero(starts >= first_ns)) >= len(starts) else None

    @property
    def phases(self) -> PhaseAssignment:
        return self.trace.derived(phases_of)

    @property
    def links(self) -> OpLinks | None:
        """Which call caused which op; None when the trace has no host calls."""
        if not len(self.trace.links) or not len(self.trace.calls):
            return None
        return self.trace.derived(op_links)

    @property
    def durations_ns(self) -> Array:
        """Of every op, in 32 bits if all fit."""
        return self.trace.op_length_ns

    @cached_property
    def working(self) -> npt.NDArray[np.bool_]:
        """Which ops do work: all but barriers."""
        working: npt.NDArray[np.bool_] = self.trace.op_kind != OpKind.BARRIER
        return working

    @cached_property
    def compute_kernels(self) -> npt.NDArray[np.bool_]:
        """Which ops are kernels and no collectives."""
        trace = self.trace
        kernels: npt.NDArray[np.bool_] = np.equal(trace.op_kind, OpKind.KERNEL)
        kernels &= trace.op_class == OpClass.COMPUTE
        return kernels

    @property
    def labels(self) -> OpLabels:
        """The names of all ops, by type where they have none."""
        return self.trace.derived(op_labels)

    @cached_property
    def label_of_op(self) -> npt.NDArray[np.integer]:
        """For every op a position in `labels.texts`."""
        count = len(self.labels.texts)
        return self.labels.for_each_op(np.arange(count, dtype=index_type(count)))

    @cached_property
    def by_label(self) -> GroupStatistics:
        """Durations by label."""
        return group_statistics(self.label_of_op, self.durations_ns, len(self.labels.texts))

    @cached_property
    def duration_sum_ns(self) -> int:
        """The summed durations of all ops that do work."""
        return sum(timeline.duration_sum_ns for timeline in self.trace.derived(gpu_timelines))

    def is_little_work(self, work_ns: int) -> bool:
        """Whether work is hardly any of the time: where a GPU idles, it matters little how it
        works."""
        span_ns = sum(gpu.time.span_ns for gpu in self.utilizations)
        return 100 * work_ns < self.thresholds.little_work_percent * span_ns

    def summed_ns(self, chosen: npt.NDArray[np.bool_]) -> int:
        """The summed durations of some ops."""
        ops = self.trace.ops
        return sum_of_lengths_ns(ops["start_ns"][chosen], ops["end_ns"][chosen])

    def op_id(self, row: int) -> int:
        """The id of the op in a row."""
        return int(self.trace.ops["id"][row])

    def op_name(self, row: int) -> str:
        """What people call the op in a row."""
        return short_name(self.labels.texts[int(self.label_of_op[row])])

    @staticmethod
    def name_of_op(trace: Trace, row: int) -> str:
        """What people call an op of a trace, which may be the one that this was selected from."""
        return short_op_name(trace, row) or "an op without a name"

    @staticmethod
    def id_of_op(trace: Trace, row: int) -> int:
        """The id of an op of such a trace."""
        return int(trace.ops["id"][row])

    def op_ids(self, rows: npt.NDArray[np.integer]) -> str:
        """The ids of some ops as text: 17, 42, 99."""
        return ", ".join(str(self.op_id(int(row))) for row in rows)


Rows = npt.NDArray[np.int64]


def calls_of(context: FindingContext, label: int) -> Rows:
    """The rows of all ops with a label."""
    return np.flatnonzero(context.label_of_op == label)


def by_launch_size(context: FindingContext, rows: Rows) -> list[Rows]:
    """`rows` divided by launch size, the most frequent first."""
    ops = context.trace.ops
    ops.load(*_GRID)
    numbers, _ = DistinctRows(len(_GRID)).number([ops[name][rows] for name in _GRID])
    counts = np.bincount(numbers)
    return [rows[numbers == number] for number in np.argsort(-counts, kind="stable").tolist()]


def nearest_rank_median(values: npt.NDArray[np.integer]) -> int:
    """The smallest value that half of the values do not exceed."""
    middle = (len(values) + 1) // 2 - 1
    return int(np.partition(values, middle)[middle])
