"""`wavescope doctor`: what works on this machine, and how to get what is missing."""

from __future__ import annotations

import argparse
from dataclasses import replace

import wavescope
from wavescope.api.machine import READY
from wavescope.cli.command import Command, Example
from wavescope.cli.options import OutputFormat, OutputOptions, add_format_flags
from wavescope.cli.outputs import print_result
from wavescope.errors import MachineError

_TEXT_COLUMNS = ("check", "state", "found")
"""A text table has no room for commands; the findings below it show them whole."""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_format_flags(parser)


def _run(arguments: argparse.Namespace) -> int:
    options = replace(OutputOptions.from_arguments(arguments), rows=0)
    result = wavescope.doctor()
    if options.format is OutputFormat.TEXT:
        checks = result.table("checks").with_only_columns(_TEXT_COLUMNS)
        print_result(result.with_only_tables([checks]), options)
    else:
        print_result(result, options)
    return 0 if result.facts["analysis"] == READY else MachineError.exit_code


COMMAND = Command(
    "doctor",
    "Check what this machine can analyse and record: Python packages, the native library and the "
    "collector (a small real test each), AMD and NVIDIA runtimes, GPUs, permissions, ROCm's "
    "profiler for counters and instruction traces, what plots and jobs need, disk space. "
    "Each missing thing comes with the step that adds it. Exit code 4 only when analysing itself "
    "cannot work.",
    (
        Example("wavescope doctor", "all checks, and how to fix what is missing"),
        Example("wavescope doctor --json", "the same for scripts"),
    ),
    _add_arguments,
    _run,
)
