"""Very many small copies or fills."""

from __future__ import annotations

import enum
import re
from typing import NamedTuple

import numpy as np

from wavescope.analyze.findings.context import FindingContext
from wavescope.analyze.ops.op_labels import meaning_of_label
from wavescope.analyze.quick_findings import evidence_sql
from wavescope.model.result import Finding, Severity
from wavescope.names.kernel_names import COPY_FILL, short_name
from wavescope.units import count_text, duration_text

ID = "copy-storm"
_SHOWN = 3
_MOST_NAMES = 20
_FILL = re.compile(r"fill|memset|zero", re.IGNORECASE)
_RUNTIME = re.compile(r"rocclr|^Memcpy|^Copy|^MEMORY_COPY")


class _Kind(enum.Enum):
    """What is copied or filled by whom, and what can be done about it."""

    FILL = "fills"
    RUNTIME_COPY = "copies by the runtime"
    TENSOR_COPY = "copies of tensors"

    @classmethod
    def of(cls, name: str) -> _Kind:
        if _FILL.search(name):
            return cls.FILL
        return cls.RUNTIME_COPY if _RUNTIME.search(name) else cls.TENSOR_COPY


_ADVICE = {
    _Kind.FILL: "allocate without clearing (empty instead of zeros), clear once for many steps, or "
    "let the kernel that writes the data clear it",
    _Kind.RUNTIME_COPY: "batch small copies between buffers, keep inputs in place between graph "
    "replays, or copy with one kernel",
    _Kind.TENSOR_COPY: "copies that change type or layout or join tensors: keep one data type "
    "through the layer, write into place, or let torch.compile fuse them",
}


class _Copies(NamedTuple):
    """The small copies or fills with one label."""

    text: str
    calls: int
    total_ns: int


def copy_storm(context: FindingContext) -> list[Finding]:
    """A finding for each kind of small copies that take much time by their number."""
    limits, whole_ns = context.thresholds, context.duration_sum_ns
    op_count = int(np.count_nonzero(context.working))
    fewest = max(limits.storm_count, limits.storm_count_percent * op_count / 100)
    found = []
    for kind, members in _small_copies(context).items():
        calls = sum(each.calls for each in members)
        total_ns = sum(each.total_ns for each in members)
        is_much = 100 * total_ns >= limits.storm_percent * whole_ns
        if calls >= fewest and is_much and not context.is_little_work(total_ns):
            found.append(_finding(kind, members, 100 * total_ns / whole_ns if whole_ns else 0.0))
    return found


def _small_copies(context: FindingContext) -> dict[_Kind, list[_Copies]]:
    """Labels of copies and fills that are small on average, by kind, most time first."""
    statistics = context.by_label
    found: dict[_Kind, list[_Copies]] = {}
    for label, calls, total_ns in zip(
        statistics.groups.tolist(), statistics.counts.tolist(), statistics.totals, strict=True
    ):
        text = context.labels.texts[label]
        is_small = total_ns <= calls * context.thresholds.storm_mean_ns
        if is_small and meaning_of_label(text).category == COPY_FILL:
            kind = _Kind.of(short_name(text))
            found.setdefault(kind, []).append(_Copies(text, calls, total_ns))
    for members in found.values():
        members.sort(key=lambda each: -each.total_ns)
    return found


def _finding(kind: _Kind, members: list[_Copies], share: float) -> Finding:
    calls = sum(each.calls for each in members)
    total_ns = sum(each.total_ns for each in members)
    shown = ", ".join(
        f"{short_name(each.text)} ({each.calls:,} of {duration_text(each.total_ns / each.calls)})"
        for each in members[:_SHOWN]
    )
    return Finding(
        ID,
        Severity.WARNING,
        f"{count_text(calls)} small {kind.value} take {share:.1f} % of GPU time",
        f"{duration_text(total_ns / calls)} each, together {duration_text(total_ns)}: {shown}",
        _ADVICE[kind],
        "trace",
        gain_percent=share,
        gain_basis="of the time of all ops, none of these copies or fills left",
        sql=evidence_sql.labelled_ops_sql([each.text for each in members[:_MOST_NAMES]]),
        numbers={
            "kind": kind.value,
            "name": members[0].text,
            "calls": calls,
            "total_ns": total_ns,
            "mean_ns": total_ns / calls,
            "percent": share,
        },
    )
