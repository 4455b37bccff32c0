"""`wavescope work`: how near to the GPU's peak operators run."""

from __future__ import annotations

import argparse

import wavescope
from wavescope.cli.command import Command, Example
from wavescope.cli.inputs import add_capture_flag, add_trace_argument, joined_text
from wavescope.cli.options import (
    FOR_PEOPLE,
    OutputOptions,
    add_filter_flags,
    add_output_flags,
    add_quiet_flag,
    selection_from,
)
from wavescope.cli.outputs import print_result
from wavescope.cli.progress import Progress
from wavescope.cli.terminal import say

_NO_OPERATORS = (
    "no operator with a formula launched a kernel here: record with "
    "torch.profiler.profile(record_shapes=True)"
)
_NO_SHAPES = "no shapes were recorded: record with torch.profiler.profile(record_shapes=True)"
_FOR_PROGRAMS = frozenset({"flops_per_byte", "flops", "bytes", "kernel"})
"""Left to --json and --format csv: the rates say it, too."""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_trace_argument(parser)
    add_capture_flag(parser)
    add_filter_flags(parser)
    add_output_flags(parser)
    add_quiet_flag(parser)


def _run(arguments: argparse.Namespace) -> int:
    output = OutputOptions.from_arguments(arguments)
    with Progress(f"analysing {arguments.trace}", quiet=arguments.quiet) as progress:
        result = wavescope.work(
            arguments.trace,
            captures=arguments.capture,
            selection=selection_from(arguments),
            tell=progress.tell,
        )
    table = result.table("work")
    if not arguments.quiet and not table.rows and "sampled" not in result.facts:
        say(_NO_OPERATORS, label="note")
    elif not arguments.quiet and table.rows and not result.facts["modelled_time_ns"]:
        say(_NO_SHAPES, label="note")
    if arguments.capture and not arguments.quiet:
        say(joined_text(result.facts), label="note")
    if output.format in FOR_PEOPLE:
        shown = [column.name for column in table.columns if column.name not in _FOR_PROGRAMS]
        result = result.with_only_tables([table.with_only_columns(shown)])
    print_result(result, output)
    return 0


COMMAND = Command(
    "work",
    "Show what framework operators had to do, from their recorded shapes and data types: FLOPs, "
    "bytes, the rates they ran at, what bounds them on this GPU, their share of its published "
    "peak, and the time above the roofline. docs/work-model.md has every formula and peak.",
    (
        Example("wavescope work trace.json.gz", "the operators with most GPU time"),
        Example("wavescope work trace.json.gz --marker prefill -n 0", "all of prefill"),
        Example(
            "wavescope work decode.json.gz --capture capture.json.gz",
            "operators of replayed graphs",
        ),
        Example("wavescope work trace.json.gz --json", "with FLOPs, bytes and kernels"),
    ),
    _add_arguments,
    _run,
)
