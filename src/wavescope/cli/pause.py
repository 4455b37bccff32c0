"""`wavescope pause` and `wavescope resume`: a running recording, from outside the program."""

from __future__ import annotations

import argparse
from collections.abc import Callable

import wavescope
from wavescope.cli.command import Command, Example
from wavescope.cli.options import add_json_flag, add_quiet_flag, process_id
from wavescope.cli.terminal import print_json, say
from wavescope.model.result import Result


def add_process(parser: argparse.ArgumentParser) -> None:
    """The process whose recording is meant."""
    parser.add_argument(
        "pid",
        metavar="PID",
        type=process_id,
        help="process id of a recorded process, of one above it, or of `wavescope trace` for all "
        "it records",
    )


def add_control_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of both commands."""
    add_process(parser)
    add_quiet_flag(parser)
    add_json_flag(parser)


def control(
    arguments: argparse.Namespace, act: Callable[[int], tuple[int, ...]], *, recording: bool
) -> int:
    """Do it, and say which processes record from now on, or do not."""
    pids = ", ".join(map(str, act(arguments.pid)))
    if arguments.json:
        result = Result("Recording", facts={"recording": recording, "pids": pids})
        print_json(result)
    if not arguments.quiet:
        say(f"{'recording' if recording else 'paused'}: process {pids}")
    return 0


def _run(arguments: argparse.Namespace) -> int:
    return control(arguments, wavescope.pause_process, recording=False)


COMMAND = Command(
    "pause",
    "Pause the recording of a running program; the program goes on. The trace is written when it "
    "ends, and says how many dispatches were not recorded. `wavescope stop` is the same command.",
    (Example("wavescope pause 4711", "pause the recording of that process"),),
    add_control_arguments,
    _run,
)
