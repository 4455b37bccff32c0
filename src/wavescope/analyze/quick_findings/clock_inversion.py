"""Ops that began before the call that launched them: clocks that disagree."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavescope.analyze.quick_findings.evidence_sql import inversions_sql
from wavescope.model.result import Finding, Severity
from wavescope.units import counted, duration_text

ID = "clock-inversion"


def clock_inversion(after_start_ns: npt.NDArray[np.int64]) -> list[Finding]:
    """One finding if any op began before its call; given is op start - call start of each."""
    inverted = after_start_ns[after_start_ns < 0]
    if not len(inverted):
        return []
    return [
        Finding(
            ID,
            Severity.WARNING,
            f"{counted(len(inverted), 'op')} began before the launching call",
            f"by up to {duration_text(-int(inverted.min()))}; of "
            f"{counted(len(after_start_ns), 'op')} with a call",
            "host and GPU clocks disagree: read launch latencies as differences only",
            sql=inversions_sql(),
            numbers={
                "inverted": len(inverted),
                "linked": len(after_start_ns),
                "largest_ns": -int(inverted.min()),
            },
        )
    ]
