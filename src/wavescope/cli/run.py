"""`wavescope run --dormant`: runs a program that others can attach to."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from wavescope.cli.command import Command, Example
from wavescope.cli.options import add_json_flag, add_quiet_flag
from wavescope.cli.outputs import stdout_bytes
from wavescope.cli.program_options import (
    add_command,
    add_kernel_filter,
    add_program_options,
    program_command,
)
from wavescope.cli.terminal import say
from wavescope.errors import UsageError


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_command(parser)
    parser.add_argument(
        "--dormant",
        action="store_true",
        help="record nothing but what `wavescope attach PID` asks for",
    )
    add_program_options(parser)
    add_kernel_filter(parser.add_argument_group("what is recorded"))
    add_quiet_flag(parser)
    add_json_flag(parser)


def _run(arguments: argparse.Namespace) -> int:
    from wavescope.collect.recording.options import OtherTools, RecordMode, RecordOptions  # noqa: PLC0415
    from wavescope.collect.recording.other_tools import other_tools_sentences  # noqa: PLC0415
    from wavescope.collect.windows.dormant import run_dormant  # noqa: PLC0415  slow to import

    command = program_command(arguments, "run --dormant")
    if not arguments.dormant:
        raise UsageError(
            "run it how?",
            hint="`wavescope run --dormant CMD` for `attach` later, or `wavescope trace CMD`",
        )
    options = RecordOptions(
        command=command,
        output=Path(Path(command[0]).name),
        mode=RecordMode(arguments.mode),
        softgpu=arguments.softgpu,
        kernel=arguments.kernel,
        torch=arguments.torch,
        other_tools=OtherTools(arguments.other_tools),
    )
    for sentence in other_tools_sentences(options.other_tools, os.environ):
        say(sentence, label="note")
    run = run_dormant(options, os.environ, None if arguments.quiet else say)
    if run.running:
        pids = ", ".join(map(str, run.running))
        say(f"still running, and to be recorded no more: process {pids}", label="note")
    if run.end.trouble:
        say(f"nobody looked after attachers that died: {run.end.trouble}", label="note")
    if arguments.json:
        from wavescope.model.result import Result  # noqa: PLC0415
        from wavescope.render.json_text import write_json  # noqa: PLC0415

        result = Result("Run")
        result.facts = {"program_end": run.end.words, "exit_code": run.end.exit_code}
        write_json(result, stdout_bytes())
    return run.end.exit_code


COMMAND = Command(
    "run",
    "Run a program with the collector loaded but asleep: it records nothing and writes no trace "
    "until `wavescope attach PID` asks for a window of it. Its output, signals and exit code pass "
    "through. Meant for servers, which are to be recorded for some seconds without a restart.",
    (
        Example("wavescope run --dormant ./server -p 80", "then: wavescope attach PID"),
        Example("wavescope run --dormant --mode hip ./server", "attach records HIP calls too"),
    ),
    _add_arguments,
    _run,
)
