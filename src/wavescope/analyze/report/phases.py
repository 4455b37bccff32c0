"""The phase of each op, as far as the trace tells."""

from __future__ import annotations

from wavescope.analyze.report.colouring import Colouring
from wavescope.model.trace import Trace


def phase_colouring(trace: Trace) -> Colouring | None:
    """The phase of each op; None where nothing tells phases apart."""
    del trace
    return None
