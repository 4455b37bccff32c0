"""What works on this machine, and how to get what is missing; works without NumPy, too.

More than six names go out: `wavescope doctor` shows checks, states and kept folders, each alone in
Python.
"""

from wavescope.collect.doctor.check import (
    Check,
    CheckState,
    analysis_works,
    profiling_states,
    recording_state,
)
from wavescope.collect.doctor.preflight import checked_machine
from wavescope.collect.doctor.user_folders import KeptFolder, kept_folders

__all__ = [
    "Check",
    "CheckState",
    "KeptFolder",
    "analysis_works",
    "checked_machine",
    "kept_folders",
    "profiling_states",
    "recording_state",
]
