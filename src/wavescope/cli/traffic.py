"""`wavescope traffic`: how kernels use L2 and memory, from counters."""

from __future__ import annotations

import argparse
from functools import partial

import wavescope
from wavescope.cli.command import Command, Example
from wavescope.cli.inputs import add_counter_files_argument
from wavescope.cli.options import (
    FOR_PEOPLE,
    OutputOptions,
    add_kernel_flag,
    add_output_flags,
    add_quiet_flag,
    numbers,
)
from wavescope.cli.outputs import print_result
from wavescope.cli.progress import Progress
from wavescope.cli.terminal import say
from wavescope.model.progress import tell_nobody


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_counter_files_argument(
        parser, "counter CSVs (long or wide), folders of them, rocpd files or traces with counters"
    )
    add_kernel_flag(parser, "only kernels whose name contains a match")
    parser.add_argument(
        "--dispatches", metavar="N,...", type=numbers, help="only these dispatches: 3-4 or 1,5"
    )
    parser.add_argument(
        "--ideal-gb",
        metavar="GB",
        type=_positive,
        help="what one dispatch must read at least, in 10^9 bytes: gives the over-fetch",
    )
    parser.add_argument("--arch", metavar="CHIP", help="such as gfx942, where files do not say")
    parser.add_argument(
        "--peak-gbps", metavar="GB/S", type=_positive, help="memory bandwidth to compare with"
    )
    parser.add_argument(
        "--ea-channels",
        metavar="N",
        type=int,
        choices=range(1, 17),
        help="estimate bytes as 64 B requests times N, instead of by the vendor's formula",
    )
    add_output_flags(parser)
    add_quiet_flag(parser)


def _run(arguments: argparse.Namespace) -> int:
    options = wavescope.TrafficOptions(
        None, arguments.peak_gbps, arguments.ideal_gb, arguments.ea_channels
    )
    output = OutputOptions.from_arguments(arguments)
    quiet = arguments.quiet
    result = wavescope.traffic(
        arguments.files,
        options,
        chip=arguments.arch or "",
        kernel=arguments.kernel,
        dispatches=arguments.dispatches or (),
        watched=lambda path: Progress(f"reading {path}", quiet=quiet),
        warn=tell_nobody if quiet else partial(say, label="note"),
    )
    if output.format in FOR_PEOPLE and not output.tables and not arguments.dispatches:
        result = result.with_only_tables([result.table("kernels")])
    print_result(result, output)
    return 0


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e9:
        raise argparse.ArgumentTypeError(f"'{text}' is not a positive number")
    return value


COMMAND = Command(
    "traffic",
    "Show how kernels use L2 and memory: hit rate, partial reads, over-fetch, bandwidth against "
    "the peak, and what that comes to in words. Counters of several passes or runs are put "
    "together per kernel. docs/traffic.md defines every number and lists what to collect.",
    (
        Example("wavescope traffic out_counter_collection.csv", "all kernels of a run"),
        Example(
            "wavescope traffic l2.csv ea.csv --kernel pa_decode --ideal-gb 4.3 --arch gfx942",
            "two passes of one kernel, with what it must read",
        ),
        Example("wavescope traffic pmc_perf.csv --dispatches 3-4", "two dispatches by themselves"),
        Example("wavescope traffic out.csv --ea-channels 2", "the estimate of older reports"),
    ),
    _add_arguments,
    _run,
)
