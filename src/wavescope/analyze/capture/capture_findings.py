"""What a capture lacks and what was odd in it, for every report that is made of it."""

from __future__ import annotations

from wavescope.model.capture import ThreadTrace
from wavescope.model.result import Finding, Severity


def capture_findings(trace: ThreadTrace) -> list[Finding]:
    """A finding for everything that is missing, then for everything that was left out or mended."""
    missing = [
        Finding("capture-partial", Severity.WARNING, "The capture is not whole", sentence)
        for sentence in trace.missing
    ]
    odd = [
        Finding("capture-repaired", Severity.INFO, "The capture has oddities", sentence)
        for sentence in trace.notes
    ]
    return missing + odd
