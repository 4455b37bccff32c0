"""`wavescope info`: what a trace holds, without judging it."""

from __future__ import annotations

import argparse
from dataclasses import replace

import wavescope
from wavescope.cli.command import Command, Example
from wavescope.cli.inputs import add_counter_instances_flag, add_trace_argument
from wavescope.cli.options import (
    FOR_PEOPLE,
    OutputOptions,
    add_output_flags,
    add_quiet_flag,
)
from wavescope.cli.outputs import print_result
from wavescope.cli.progress import Progress
from wavescope.errors import UsageError

_SHOWN_AS = {"unresolved_symbol_count": "unresolved"}
"""Facts that a page of text calls by fewer words."""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_trace_argument(parser, required=False)
    parser.add_argument(
        "--markers", action="store_true", help="list the markers: how often, and their total time"
    )
    parser.add_argument(
        "--kernels",
        action="store_true",
        help="list the kernels by their full names, with registers",
    )
    parser.add_argument(
        "--counters", action="store_true", help="list what hardware counters counted, by kernel"
    )
    add_counter_instances_flag(
        parser,
        "the same for each instance of a hardware block, such as an L2 channel, and how even "
        "they are (rocprofv3 JSON; other formats have sums)",
    )
    parser.add_argument(
        "--formats", action="store_true", help="list the formats that can be read and written"
    )
    add_output_flags(parser)
    add_quiet_flag(parser)


def _run(arguments: argparse.Namespace) -> int:
    options = OutputOptions.from_arguments(arguments)
    if arguments.formats:
        print_result(wavescope.known_formats(), options)
        return 0
    if arguments.trace is None:
        raise UsageError(
            "no trace was given", hint="wavescope info TRACE, or wavescope info --formats"
        )
    with Progress(f"reading {arguments.trace}", quiet=arguments.quiet):
        found = wavescope.info(
            arguments.trace,
            markers=arguments.markers,
            kernels=arguments.kernels,
            counters=arguments.counters,
            counter_instances=arguments.counter_instances,
        )
    if options.format in FOR_PEOPLE:
        facts = {_SHOWN_AS.get(key, key): value for key, value in found.facts.items()}
        found = replace(found, facts=facts)
    print_result(found, options)
    return 0


COMMAND = Command(
    "info",
    "Show what a trace holds: format, span, GPUs, processes, queues, tables, coverage, metadata, "
    "and what had to be skipped or repaired while reading it.",
    (
        Example("wavescope info trace.db", "everything the trace says about itself"),
        Example("wavescope info trace.json.gz --markers", "markers by name, the longest first"),
        Example("wavescope info trace.db --kernels -n 0 --format csv", "all kernel names as CSV"),
        Example("wavescope info out_results.json --counter-instances", "counters of each channel"),
        Example("wavescope info --formats", "formats that can be read and written"),
    ),
    _add_arguments,
    _run,
)
