"""Ops whose launch is not in the trace though others' are."""

from __future__ import annotations

import numpy as np

from wavescope.analyze.findings.context import FindingContext
from wavescope.analyze.quick_findings import evidence_sql
from wavescope.model.result import Finding, Severity

ID = "unknown-launches"


def unknown_launches(context: FindingContext) -> list[Finding]:
    """One finding if the trace has launches, but not those of many of its ops."""
    if context.links is None:
        return []
    linked = np.zeros(len(context.trace.ops), bool)
    linked[context.links.op_rows] = True
    missing = context.working & ~linked
    count, whole = int(np.count_nonzero(missing)), int(np.count_nonzero(context.working))
    share = 100 * count / whole if whole else 0.0
    if share < context.thresholds.unlinked_percent:
        return []
    first = int(np.argmax(missing))
    return [
        Finding(
            ID,
            Severity.INFO,
            f"{share:.1f} % of the ops have no launch in the trace",
            f"{count:,} of {whole:,} ops, the first of them op {context.op_id(first)} "
            f"({context.op_name(first)}); usually they were launched before recording began",
            "what the host did before them cannot be told (their gaps are called unlinked), and "
            "their phases go by time; tools that drop such ops report less GPU time than there was",
            "trace",
            sql=evidence_sql.unlinked_sql(),
            numbers={
                "unlinked": count,
                "ops": whole,
                "unlinked_percent": share,
                "first_op": context.op_id(first),
            },
        )
    ]
