"""What findings on GPU time have in common: the span that gains are shares of, and silence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.findings.context import FindingContext
from wavescope.analyze.quick_findings import evidence_sql
from wavescope.arrays.coded_columns import code_counts
from wavescope.arrays.groups import group_sums
from wavescope.model.op_kinds import OpKind
from wavescope.names.kernel_names import short_name
from wavescope.units import counted, duration_text

WHERE = "trace"
_SHOWN = 3
_AMD_WAVE = 64


def span_ns(context: FindingContext) -> int:
    """From the first to the last op, of all GPUs together."""
    return sum(gpu.time.span_ns for gpu in context.utilizations)


def is_too_small(context: FindingContext) -> bool:
    """Whether there is too little GPU time to conclude from."""
    kernels = int(np.count_nonzero(context.trace.op_kind == OpKind.KERNEL))
    limits = context.thresholds
    return kernels < limits.work_kernel_count or context.duration_sum_ns < limits.work_time_ns


def percent_of_gpu_time(context: FindingContext, time_ns: int) -> float:
    """Of the durations of all ops that do work, as the table of categories has it."""
    return 100 * time_ns / context.duration_sum_ns


def has_amd_gpus(context: FindingContext) -> bool:
    """Whether the GPUs are known to be AMD's."""
    agents = context.trace.agents
    return len(agents) > 0 and bool((agents["wave_size"] == _AMD_WAVE).all())


class Leading(NamedTuple):
    """A kernel's label, how often it ran and for how long."""

    label: str
    calls: int
    total_ns: int


def leading_kernels(context: FindingContext, rows: npt.NDArray[np.intp]) -> list[Leading]:
    """The kernels among `rows` with most time."""
    labels, label_count = context.label_of_op[rows], len(context.labels.texts)
    totals = group_sums(labels, context.trace.op_length_ns[rows], label_count)
    calls = code_counts(labels, label_count).tolist()
    most = sorted(range(label_count), key=lambda label: -totals[label])[:_SHOWN]
    return [
        Leading(context.labels.texts[label], calls[label], totals[label])
        for label in most
        if calls[label]
    ]


def leading_words(leading: Iterable[Leading]) -> str:
    """Kernels in words: 'gemm (36 calls, 12.3 ms)'."""
    return ", ".join(
        f"{short_name(each.label)} ({counted(each.calls, 'call')}, {duration_text(each.total_ns)})"
        for each in leading
    )


def leading_sql(leading: Sequence[Leading]) -> str:
    """The query that shows them."""
    return evidence_sql.labelled_ops_sql([each.label for each in leading])


def in_words(*parts: str) -> str:
    """Parts of evidence, those that are empty left out."""
    return "; ".join(part for part in parts if part)
