"""What slices of a run say of its phases: shares and totals of each with 95 % intervals.

Phases of a sampled trace are those that markers show: prefill and decode cannot be found in the
order of kernels where most of them were not recorded.
"""

from __future__ import annotations

import numpy as np

from wavescope.analyze.ops.recorded import Recorded
from wavescope.analyze.ops.slice_estimates import ESTIMATE_COLUMNS, GroupedOps, estimated_groups
from wavescope.analyze.phases.assignment import PhaseAssignment
from wavescope.arrays.groups import group_sums
from wavescope.model.op_kinds import OpKind
from wavescope.model.result import (
    Finding,
    ResultColumn,
    ResultTable,
    Severity,
    Unit,
    Value,
)
from wavescope.model.trace import Trace

_COLUMNS = (
    ResultColumn("phase", "Phase", Unit.NAME, "phase that markers show"),
    *ESTIMATE_COLUMNS,
    ResultColumn("calls", "Ops", Unit.COUNT, "ops of the phase that began in slices"),
    ResultColumn("total_ns", "Total", Unit.NS, "their durations added up"),
    ResultColumn("graph_runs", "Graph runs", Unit.COUNT, "runs of whole graphs outside of slices"),
    ResultColumn("graph_run_ns", "Graph time", Unit.NS, "their durations added up"),
)
NOT_FOUND = Finding(
    "phases-unknown",
    Severity.INFO,
    "the phases of a sampled trace are those that markers show",
    "most kernels were not recorded: their order does not show prefill and decode",
    "mark phases (`roctx` or NVTX ranges), or record with --mode standard",
)


def phase_estimates(trace: Trace, found: Recorded, phases: PhaseAssignment) -> ResultTable:
    """Table `phase_estimates`, largest share first; ops without a phase have a row, too."""
    labels = [phases.outside_label, *phases.labels]
    groups = phases.codes.astype(np.int64) + 1
    seen = np.flatnonzero(found.is_seen)
    runs = np.flatnonzero(trace.op_kind == OpKind.GRAPH_RUN)
    durations = trace.op_length_ns
    estimates = estimated_groups(
        found, GroupedOps(seen, groups[seen], durations[seen], len(labels))
    )
    of_seen, of_runs = (
        (
            np.bincount(groups[rows], minlength=len(labels)).tolist(),
            group_sums(groups[rows], durations[rows], len(labels)),
        )
        for rows in (seen, runs)
    )
    rows: list[tuple[Value, ...]] = [
        (label, *estimates.row(number), *numbers)
        for number, (label, *numbers) in enumerate(zip(labels, *of_seen, *of_runs, strict=True))
        if numbers[0] or numbers[2]
    ]
    rows.sort(key=lambda row: -(row[1] if isinstance(row[1], float) else 0.0))
    return ResultTable("phase_estimates", "Phases (estimates from slices)", _COLUMNS, rows)
