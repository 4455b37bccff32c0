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
from wavescope.units import bytes_text

_TEXT_COLUMNS = ("check", "state", "found")
"""A text table has no room for commands; the findings below it show them whole."""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--caches",
        action="store_true",
        help="only list the folders that wavescope has made for you, which stay when it is "
        "uninstalled, and how to remove them",
    )
    add_format_flags(parser)


def _run(arguments: argparse.Namespace) -> int:
    options = replace(OutputOptions.from_arguments(arguments), rows=0)
    if arguments.caches:
        return _print_caches(options)
    result = wavescope.doctor()
    if options.format is OutputFormat.TEXT:
        checks = result.table("checks").with_only_columns(_TEXT_COLUMNS)
        print_result(result.with_only_tables([checks]), options)
    else:
        print_result(result, options)
    return 0 if result.facts["analysis"] == READY else MachineError.exit_code


def _print_caches(options: OutputOptions) -> int:
    result = wavescope.kept_folders()
    if options.format is not OutputFormat.TEXT:
        print_result(result, options)
        return 0
    rows = result.table("folders").rows
    if not rows:
        print("wavescope keeps nothing for you on this machine")
    for purpose, size_bytes, folder, remove in rows:
        print(f"{folder}\n  {purpose}, {bytes_text(int(str(size_bytes)))}\n  -> {remove}")
    return 0


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
        Example("wavescope doctor --caches", "what would stay after `pip uninstall wavescope`"),
    ),
    _add_arguments,
    _run,
)
