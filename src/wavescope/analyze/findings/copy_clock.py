"""Copies whose recorded times contradict the calls that made them.

A copy cannot begin before its call, and one to the host cannot end after a call that waits for it
has returned. rocprofv3 corrects the times of copies by an estimate of its own and is seen to move
them by hundreds of microseconds; kernels keep theirs.
"""

from __future__ import annotations

import re

import numpy as np

from wavescope.analyze.findings.context import FindingContext
from wavescope.analyze.quick_findings import evidence_sql
from wavescope.model.op_kinds import OpKind
from wavescope.model.result import Finding, Severity
from wavescope.units import duration_text

ID = "copy-clock"
_WAITING_COPY = re.compile(r"(?:hip|cuda|cu)Memcpy(?!\w*Async)")
_TO_HOST = "CopyDeviceToHost"
_CORRECTED_BY = {"rocprofv3 CSV", "rocprofv3 JSON", "rocpd", "Perfetto"}


def copy_clock(context: FindingContext) -> list[Finding]:
    """One finding if a copy began long before its call, or ended long after one that waited."""
    links, trace = context.links, context.trace
    if links is None:
        return []
    is_copy = trace.op_kind[links.op_rows] == OpKind.COPY
    ops, calls = links.op_rows[is_copy], links.call_rows[is_copy]
    if not len(ops):
        return []
    early_ns = trace.calls["start_ns"][calls] - trace.ops["start_ns"][ops]
    late_ns = trace.ops["end_ns"][ops] - trace.calls["end_ns"][calls]
    to_host = trace.ops["type"][ops] == trace.strings.code(_TO_HOST)
    names = trace.strings.decode(trace.calls["name"][calls])
    is_awaited = to_host & np.array([_WAITING_COPY.match(name) is not None for name in names])
    shift_ns = np.maximum(early_ns, np.where(is_awaited, late_ns, 0))
    worst = int(np.argmax(shift_ns))
    largest_ns = int(shift_ns[worst])
    if largest_ns < max(1, context.thresholds.copy_clock_ns):
        return []
    moved = int((shift_ns > 0).sum())
    by = "rocprofv3's own clock correction" if trace.format in _CORRECTED_BY else "another clock"
    return [
        Finding(
            ID,
            Severity.INFO,
            f"the times of {moved:,} of {len(ops):,} copies contradict their calls",
            f"by up to {duration_text(largest_ns)}, op {context.op_id(int(ops[worst]))}: {by} "
            "moved them",
            "trust how long copies took, not when, against calls and kernels",
            sql=evidence_sql.copy_calls_sql(),
            numbers={
                "copies": moved,
                "linked": len(ops),
                "largest_ns": largest_ns,
                "first_op": context.op_id(int(ops[worst])),
            },
        )
    ]
