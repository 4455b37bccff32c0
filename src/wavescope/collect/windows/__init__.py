"""Parts of a recording that runs: a window of a dormant program, a snapshot, pauses."""

from wavescope.collect.running_sessions import set_process_recording
from wavescope.collect.windows.attachment import Attached, attach
from wavescope.collect.windows.snapshots import Snapshot, snapshot

__all__ = [
    "Attached",
    "Snapshot",
    "attach",
    "set_process_recording",
    "snapshot",
]
