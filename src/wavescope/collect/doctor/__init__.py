"""What works on this machine, and how to get what is missing; works without NumPy, too."""

from wavescope.collect.doctor.preflight import (
    Check,
    CheckState,
    analysis_works,
    checked_machine,
    profiling_states,
    recording_state,
)

__all__ = [
    "Check",
    "CheckState",
    "analysis_works",
    "checked_machine",
    "profiling_states",
    "recording_state",
]
