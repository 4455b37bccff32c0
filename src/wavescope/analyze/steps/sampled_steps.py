"""The steps of a trace that was recorded in slices: what markers say of them, and nothing else.

Kernels that repeat show no steps where most of them were not recorded, and the GPU time of a step
is not known. How long the ranges took that a program marked as steps is known all the time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from wavescope.analyze.markers import has_markers, marked_ops
from wavescope.analyze.ops.coverage import recorded, sampled_facts, sampled_finding
from wavescope.analyze.steps.trace_steps import STEP_NAMES, StepOptions, step_of_range
from wavescope.arrays.groups import nearest_rank
from wavescope.arrays.intervals import Times
from wavescope.model.result import (
    ColumnOf,
    Finding,
    Result,
    ResultColumn,
    Severity,
    Unit,
    table_of,
)
from wavescope.model.trace import Trace
from wavescope.patterns import compiled


class _ProcessSteps(NamedTuple):
    """The marked steps of one process."""

    process: int
    lengths_ns: Times


_COLUMNS: tuple[ColumnOf[_ProcessSteps], ...] = (
    ResultColumn("process", "Process", meaning="process number in the trace").of(
        lambda row: row.process
    ),
    ResultColumn("steps", "Steps", Unit.COUNT, "ranges that are marked as steps").of(
        lambda row: len(row.lengths_ns)
    ),
    ResultColumn("median_ns", "Median", Unit.NS, "median of the ranges, host time").of(
        lambda row: nearest_rank(row.lengths_ns, 50)
    ),
    ResultColumn("p95_ns", "p95", Unit.NS, "nearest-rank 95th percentile of the ranges").of(
        lambda row: nearest_rank(row.lengths_ns, 95)
    ),
    ResultColumn("mean_ns", "Mean", Unit.NS, "of the ranges").of(
        lambda row: float(row.lengths_ns.mean())
    ),
    ResultColumn("longest_ns", "Longest", Unit.NS, "longest of the ranges").of(
        lambda row: int(row.lengths_ns.max())
    ),
)
_NOT_TOLD = Finding(
    "steps-unknown",
    Severity.INFO,
    "the steps of a sampled trace are those that markers show, by the host's times",
    "most kernels were not recorded: neither what repeats nor the GPU time of a step is known",
    "mark steps (`roctx` or NVTX ranges named step), or record with --mode standard",
)


def sampled_steps_result(trace: Trace, options: StepOptions) -> Result:
    """Table `marked_steps` of a sampled trace; why nothing more is told as a finding."""
    assert recorded(trace) is not None
    rows = _marked(trace, options.marker) if options.use_markers and has_markers(trace) else []
    count = sum(len(row.lengths_ns) for row in rows)
    return Result(
        "Steps",
        [table_of("marked_steps", "Marked steps", _COLUMNS, rows)],
        [*sampled_finding(trace), _NOT_TOLD],
        {
            "path": trace.path,
            "format": trace.format,
            **sampled_facts(trace),
            "step_count": count,
            "told_by": f"markers matching {options.marker or 'steps'}" if count else "",
        },
    )


def _marked(trace: Trace, pattern: str) -> list[_ProcessSteps]:
    ranges = marked_ops(trace).found.host
    steps = step_of_range(trace, ranges, compiled(pattern or STEP_NAMES))
    rows = np.array([row for row, step in enumerate(steps) if row == step], np.int64)
    if not len(rows):
        return []
    processes, lengths = ranges.processes[rows], (ranges.ends - ranges.starts)[rows]
    return [
        _ProcessSteps(process, lengths[processes == process])
        for process in np.unique(processes).tolist()
    ]
