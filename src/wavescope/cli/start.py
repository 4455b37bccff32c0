"""`wavescope start`: see `control`."""

from __future__ import annotations

from wavescope.cli.control import control_command

COMMAND = control_command(
    "start",
    "Resume the recording of a running program, or begin it after `wavescope trace "
    "--start-paused`.",
    recording=True,
)
