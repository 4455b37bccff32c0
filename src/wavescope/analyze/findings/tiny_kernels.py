"""Very many kernels so short that their fixed cost is most of them."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.findings.context import FindingContext
from wavescope.analyze.quick_findings import evidence_sql
from wavescope.arrays.coded_columns import code_counts, paired
from wavescope.arrays.groups import grouped_rows
from wavescope.model.op_kinds import OpKind
from wavescope.model.result import Finding, Severity
from wavescope.names.kernel_names import short_name
from wavescope.units import count_text, duration_text

ID = "tiny-kernels"
_SHOWN = 3
_RUNTIMES_OWN = re.compile("rocclr")
"""Copies and fills of the runtime: they cannot be fused, and `copy_storm` tells of them."""
_MOST_PAIRS = 1 << 22


class _Pair(NamedTuple):
    """Two tiny kernels that follow each other, and how often they do."""

    first: int
    second: int
    times: int


def tiny_kernels(context: FindingContext) -> list[Finding]:
    """One finding for the trace, or none."""
    limits = context.thresholds
    is_kernel = context.trace.op_kind == OpKind.KERNEL
    kernel_count = int(np.count_nonzero(is_kernel))
    tiny = is_kernel & (context.durations_ns <= limits.tiny_kernel_ns)
    tiny_count = int(np.count_nonzero(tiny))
    if (
        tiny_count < limits.tiny_count
        or 100 * tiny_count < limits.tiny_count_percent * kernel_count
    ):
        return []
    tiny_ns, kernel_ns = context.summed_ns(tiny), context.summed_ns(is_kernel)
    if not tiny_ns or 100 * tiny_ns < limits.tiny_time_percent * kernel_ns:
        return []
    return [_finding(context, tiny, tiny_ns, kernel_count, kernel_ns)]


def _finding(
    context: FindingContext,
    tiny: npt.NDArray[np.bool_],
    tiny_ns: int,
    kernel_count: int,
    kernel_ns: int,
) -> Finding:
    limit_ns = int(context.thresholds.tiny_kernel_ns)
    tiny_count = int(np.count_nonzero(tiny))
    texts = context.labels.texts
    fusible = _fusible(context, tiny)
    counts = code_counts(context.label_of_op[fusible], len(texts))
    most = [
        label for label in np.argsort(-counts, kind="stable")[:_SHOWN].tolist() if counts[label]
    ]
    named = ", ".join(f"{short_name(texts[label])} ({counts[label]:,})" for label in most)
    named = f": {named}" if named else ""
    pair = None if context.hides_ops else _most_frequent_pair(context, fusible)
    following = ""
    if pair is not None:
        following = (
            f"; most often {short_name(texts[pair.first])} is followed by "
            f"{short_name(texts[pair.second])}: {pair.times:,} times"
        )
    share = 100 * tiny_ns / kernel_ns
    return Finding(
        ID,
        Severity.INFO if context.is_little_work(tiny_ns) else Severity.WARNING,
        f"{100 * tiny_count / kernel_count:.0f} % of the kernels run for "
        f"{duration_text(limit_ns)} or less and take {share:.1f} % of kernel time",
        f"{count_text(tiny_count)} of {count_text(kernel_count)} kernels, "
        f"{duration_text(tiny_ns / tiny_count)} each{named}{following}",
        "fuse neighbours (torch.compile, a fused norm or activation kernel), and replay what "
        "remains as a graph: so short a kernel is mostly its fixed cost",
        "trace",
        gain_percent=share,
        gain_basis="of kernel time, all of them fused into neighbours that then take no longer; "
        "gaps not counted",
        sql=evidence_sql.short_kernels_sql(limit_ns),
        numbers={
            "tiny_count": tiny_count,
            "kernel_count": kernel_count,
            "tiny_ns": tiny_ns,
            "time_percent": share,
            "first_op": context.op_id(int(np.argmax(tiny))),
            "pair": f"{texts[pair.first]} > {texts[pair.second]}" if pair else None,
            "pair_count": pair.times if pair else None,
        },
    )


def _fusible(context: FindingContext, tiny: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """The tiny kernels that a program could fuse: those that it launches itself."""
    runtimes_own = [
        label for label, text in enumerate(context.labels.texts) if _RUNTIMES_OWN.search(text[:99])
    ]
    return tiny & ~np.isin(context.label_of_op, runtimes_own) if runtimes_own else tiny


def _most_frequent_pair(context: FindingContext, tiny: npt.NDArray[np.bool_]) -> _Pair | None:
    """The two tiny kernels that follow each other on a queue most often."""
    label_count = len(context.labels.texts)
    if label_count * label_count > _MOST_PAIRS:
        return None
    ops = context.trace.ops
    narrow = np.uint8 if label_count <= np.iinfo(np.uint8).max else np.int64
    marked = np.full(len(tiny), label_count, narrow)
    np.copyto(marked, context.label_of_op, casting="unsafe", where=tiny)
    grouped = grouped_rows(ops["gpu"], ops["queue"], (marked, ops["start_ns"]))
    labels, start_ns = grouped.columns
    inside = np.ones(max(len(labels) - 1, 0), bool)
    inside[grouped.bounds[1:-1] - 1] = False
    if np.any(inside & (start_ns[1:] < start_ns[:-1])):
        # Few traces have the ops of a queue in another order than that of time.
        sizes = np.diff(grouped.bounds)
        labels = labels[np.lexsort((start_ns, np.repeat(np.arange(len(sizes)), sizes)))]
    first, second = labels[:-1], labels[1:]
    inside &= (first != label_count) & (second != label_count)
    if not inside.any():
        return None
    pair_count = label_count * label_count
    counts = code_counts(paired(first[inside], second[inside], label_count, pair_count), pair_count)
    most = int(counts.max())
    texts = context.labels.texts
    pairs = (divmod(pair, label_count) for pair in np.flatnonzero(counts == most).tolist())
    # Of pairs that are equally frequent always the same one, however a file orders its names.
    return _Pair(*min(pairs, key=lambda pair: (texts[pair[0]], texts[pair[1]])), most)
