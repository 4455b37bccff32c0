"""`wavescope run --dormant`: runs a program that others can attach to."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import wavescope
from wavescope.cli.command import Command, Example
from wavescope.cli.options import add_json_flag, add_quiet_flag
from wavescope.cli.program_code import if_heard, program_code_kept
from wavescope.cli.program_options import (
    add_command,
    add_kernel_filter,
    add_nvidia_options,
    add_program_options,
    program_options,
)
from wavescope.cli.recording_report import print_left, say_note
from wavescope.cli.terminal import print_json, say
from wavescope.errors import UsageError
from wavescope.model.progress import tell_nobody
from wavescope.model.result import Result

if TYPE_CHECKING:
    from wavescope.collect.recording import DormantRun


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_command(parser)
    parser.add_argument(
        "--dormant",
        action="store_true",
        help="record only when `wavescope attach PID` asks for it (required)",
    )
    add_program_options(parser)
    group = parser.add_argument_group("what is recorded")
    add_kernel_filter(group)
    add_nvidia_options(group)
    add_quiet_flag(parser)
    add_json_flag(parser)


def _run(arguments: argparse.Namespace) -> int:
    options = wavescope.RecordOptions(**program_options(arguments, "run --dormant"))
    if not arguments.dormant:
        raise UsageError(
            "`wavescope run` needs --dormant",
            hint="`wavescope run --dormant CMD` to attach later; `wavescope trace CMD` records all",
        )
    tell = tell_nobody if arguments.quiet else say
    run = wavescope.run_dormant(options, tell=if_heard(tell), warn=if_heard(say_note))
    with program_code_kept():
        _report(run, as_json=arguments.json)
    return run.end.exit_code


def _report(run: DormantRun, *, as_json: bool) -> None:
    if run.running:
        pids = ", ".join(map(str, run.running))
        say_note(f"still running, and can no longer be recorded: process {pids}")
    print_left(run.left_session)
    if run.end.trouble:
        say_note(
            f"cleaning up after interrupted `wavescope attach` commands failed: {run.end.trouble}"
        )
    if as_json:
        end = run.end
        result = Result("Run", facts={"program_end": end.words, "exit_code": end.exit_code})
        print_json(result)


COMMAND = Command(
    "run",
    "Run a program ready to be recorded: nothing is recorded and no trace is written until "
    "`wavescope attach PID` asks for some seconds of it. The program's output, signals and exit "
    "code pass through. Use it for servers that you want to record now and then.",
    (
        Example("wavescope run --dormant ./server -p 80", "then: wavescope attach PID"),
        Example(
            "wavescope run --dormant --mode hip ./server", "attach records HIP or CUDA calls too"
        ),
    ),
    _add_arguments,
    _run,
)
