"""`wavescope stop`: see `control`."""

from __future__ import annotations

from wavescope.cli.control import control_command

COMMAND = control_command(
    "stop",
    "Pause the recording of a running program; the program goes on. The trace is written when it "
    "ends, and says how many dispatches passed meanwhile.",
    recording=False,
)
