"""`wavescope resume`: see `pause`."""

from __future__ import annotations

import argparse

import wavescope
from wavescope.cli.command import Command, Example
from wavescope.cli.pause import add_control_arguments, control


def _run(arguments: argparse.Namespace) -> int:
    return control(arguments, wavescope.resume_process, recording=True)


COMMAND = Command(
    "resume",
    "Resume the recording of a running program, or begin it after `wavescope trace "
    "--start-paused`. `wavescope start` is the same command.",
    (Example("wavescope resume 4711", "resume the recording of that process"),),
    add_control_arguments,
    _run,
)
