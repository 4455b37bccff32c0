"""Elementwise kernels in a row, each of which reads and writes memory for a little arithmetic."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.findings.attention_parts import attention_parts
from wavescope.analyze.findings.context import FindingContext
from wavescope.analyze.findings.kernel_time import (
    WHERE,
    in_words,
    is_too_small,
    leading_kernels,
    leading_sql,
    leading_words,
    percent_of_gpu_time,
    span_ns,
)
from wavescope.analyze.ops.op_labels import op_categories
from wavescope.arrays.coded_columns import looked_up
from wavescope.arrays.groups import RowGroups, grouped_rows
from wavescope.model.op_kinds import OpKind
from wavescope.model.result import Finding, Severity
from wavescope.model.trace import Trace
from wavescope.names.kernel_names import COPY_FILL, ELEMENTWISE
from wavescope.units import count_text, counted, duration_text

ID = "unfused-elementwise"
_NOT_FUSIBLE = re.compile(r"^triton_(?:poi|red|per)_|rocclr|multi_tensor_apply")
"""What is fused already, and copies and fills of the runtime."""

_LONGEST_MATCHED = 99
_NOT_IN_A_RUN = -1

Marks = npt.NDArray[np.bool_]


def unfused_elementwise(context: FindingContext) -> list[Finding]:
    """One finding for the trace, or none."""
    if is_too_small(context):
        return []
    fusible = _fusible(context.trace)
    least_ns = context.thresholds.unfused_elementwise_percent * span_ns(context) / 100
    if context.summed_ns(fusible) < least_ns:
        return []
    attentions = context.trace.derived(attention_parts)
    if attentions.count:
        fusible &= ~attentions.is_part
    runs = _runs(context.trace, fusible)
    if runs is None or runs.saved_ns < least_ns:
        return []
    return [_finding(context, fusible, runs)]


def _fusible(trace: Trace) -> Marks:
    """Elementwise kernels, casts and copies of tensors that no compiler made."""
    found = trace.derived(op_categories)
    fusible = np.array([name in (ELEMENTWISE, COPY_FILL) for name in found.labels])
    chosen: Marks = looked_up(fusible, found.codes)
    chosen &= trace.op_kind == OpKind.KERNEL
    others = [
        code
        for code in trace.ops.code_counts("name").codes.tolist()
        if code >= 0 and _NOT_FUSIBLE.search(trace.strings[code][:_LONGEST_MATCHED])
    ]
    if others:
        chosen &= ~np.isin(trace.ops["name"], others)
    return chosen


class _Runs(NamedTuple):
    """Runs of two or more such kernels that follow each other on a queue."""

    run_count: int
    kernel_count: int
    saved_ns: int
    """What they take beyond the longest kernel of each run."""
    costliest: tuple[int, int]
    """The first and the last op of the run that takes most beyond its longest kernel."""


def _runs(trace: Trace, fusible: Marks) -> _Runs | None:
    """The runs of all queues, if there are any.

    Ops of a queue are in order of time in nearly all traces; a few exceptions do not matter here.
    """
    marked = np.where(fusible, trace.op_length_ns, np.int64(_NOT_IN_A_RUN))
    queues = grouped_rows(trace.ops["gpu"], trace.ops["queue"], (marked,))
    (times,) = queues.columns
    is_in_run = times != _NOT_IN_A_RUN
    follows = is_in_run[1:] & is_in_run[:-1]
    # A queue's last kernel and another queue's first one are in no run together.
    follows[queues.bounds[1:-1] - 1] = False
    is_first = is_in_run.copy()
    is_first[1:] &= ~follows
    if not follows.any():
        return None
    firsts = np.flatnonzero(is_first)
    # What is between runs counts nothing: each run reaches to the next one's first kernel.
    spent = np.maximum(times, 0)
    saved = np.add.reduceat(spent, firsts) - np.maximum.reduceat(spent, firsts)
    run_count = int(np.count_nonzero(is_first[:-1] & follows))
    first = int(firsts[np.argmax(saved)])
    length = int(np.argmin(np.append(follows[first:], False))) + 1
    return _Runs(
        run_count,
        run_count + int(np.count_nonzero(follows)),
        sum(saved.tolist()),
        _rows_at(trace, queues, first, first + length - 1),
    )


def _rows_at(trace: Trace, queues: RowGroups, first: int, last: int) -> tuple[int, int]:
    """The rows of the trace that are at two places of one queue."""
    queue = int(np.searchsorted(queues.bounds, first, "right")) - 1
    is_there = trace.ops["gpu"] == queues.majors[queue]
    is_there &= trace.ops["queue"] == queues.minors[queue]
    rows, begin = np.flatnonzero(is_there), int(queues.bounds[queue])
    return int(rows[first - begin]), int(rows[last - begin])


def _without_overlap(context: FindingContext, time_ns: int) -> float:
    """What saving so much in all queues together saves of the time in which any of them works."""
    busy_ns = sum(gpu.time.busy_ns for gpu in context.utilizations)
    return time_ns * (busy_ns / context.duration_sum_ns)


def _finding(context: FindingContext, fusible: Marks, runs: _Runs) -> Finding:
    total_ns = context.summed_ns(fusible)
    share = percent_of_gpu_time(context, total_ns)
    leading = leading_kernels(context, np.flatnonzero(fusible))
    first, last = runs.costliest
    return Finding(
        ID,
        Severity.WARNING,
        f"Elementwise kernels and copies of tensors take {share:.1f} % of GPU time, many of "
        "them in a row",
        in_words(
            f"{count_text(runs.kernel_count)} of them follow each other in "
            f"{counted(runs.run_count, 'run')}: {duration_text(runs.saved_ns)} beyond the longest "
            "of each run",
            leading_words(leading),
        ),
        "fuse them: torch.compile, or kernels that do several steps (rotary embedding, gated "
        "activation, normalization with the residual's addition)",
        WHERE,
        gain_percent=100 * _without_overlap(context, runs.saved_ns) / span_ns(context),
        gain_basis="each run as long as its longest kernel is now, what runs at the same time "
        "counted once; percent of the span of the GPUs",
        sql=leading_sql(leading),
        numbers={
            "gpu_time_ns": total_ns,
            "gpu_time_percent": share,
            "run_count": runs.run_count,
            "kernel_count": runs.kernel_count,
            "saved_ns": runs.saved_ns,
            "first_op": context.op_id(first),
            "last_op": context.op_id(last),
        },
    )
