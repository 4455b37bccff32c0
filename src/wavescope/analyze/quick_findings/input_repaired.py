"""What the reader of the trace skipped or repaired: conclusions must not rest on it."""

from __future__ import annotations

from wavescope.model.result import Finding, Severity
from wavescope.model.trace import Trace

ID = "input-repaired"


def input_repaired(trace: Trace) -> list[Finding]:
    """A finding for each note of the reader."""
    return [
        Finding(
            ID,
            Severity.INFO,
            f"{sentence}: {count:,}",
            f"{trace.format} reader, {trace.path}",
            "check the recording if these rows matter",
            numbers={"rows": count},
        )
        for sentence, count in trace.notes
    ]
