"""`wavescope traffic`: how kernels use L2 and memory, from counters."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from wavescope.cli.command import Command, Example
from wavescope.cli.counter_files import COLLECT_HINT, read_counter_files
from wavescope.cli.options import (
    FOR_PEOPLE,
    OutputOptions,
    add_output_flags,
    add_quiet_flag,
    numbers,
)
from wavescope.cli.output import print_result
from wavescope.cli.terminal import say
from wavescope.errors import UsageError

if TYPE_CHECKING:
    from wavescope.analyze.traffic.kernel_traffic import TrafficOptions
    from wavescope.model.dispatch_counters import DispatchCounters


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "traces",
        metavar="CSV",
        nargs="+",
        help="counter CSVs (long or wide), folders of them, rocpd files or traces with counters",
    )
    parser.add_argument(
        "--kernel", metavar="TEXT", default="", help="kernels whose name holds it, or matches it"
    )
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
    from wavescope.analyze.traffic.report import traffic_result  # noqa: PLC0415  slow to import

    output = OutputOptions.from_arguments(arguments)
    counters = _chosen(read_counter_files(arguments.traces, quiet=arguments.quiet), arguments)
    result = traffic_result(counters, _options(arguments, counters))
    for note in counters.notes:
        if not arguments.quiet:
            say(note, label="note")
    if output.format in FOR_PEOPLE and not output.tables and not arguments.dispatches:
        result.tables = [table for table in result.tables if table.name != "dispatches"]
    print_result(result, output)
    return 0


def _chosen(counters: DispatchCounters, arguments: argparse.Namespace) -> DispatchCounters:
    from wavescope.model.selection import compiled  # noqa: PLC0415  slow to import

    dispatches = list(counters.dispatches)
    if arguments.kernel:
        pattern = None if _is_plain(arguments.kernel, counters) else compiled(arguments.kernel)
        dispatches = [
            each
            for each in dispatches
            if (arguments.kernel in each.kernel if pattern is None else pattern.search(each.kernel))
        ]
    if arguments.dispatches:
        wanted = {str(number) for number in arguments.dispatches}
        dispatches = [each for each in dispatches if each.dispatch.strip() in wanted]
    if not dispatches:
        names = ", ".join(counters.kernels[:5])
        if not names:
            raise UsageError("these files hold no memory counters", hint=COLLECT_HINT)
        raise UsageError("no dispatch is left by the filters", hint=f"there are: {names}")
    return replace(counters, dispatches=dispatches)


def _is_plain(text: str, counters: DispatchCounters) -> bool:
    """Whether `text` occurs in a name as it stands: kernel names are full of regex characters."""
    return any(text in kernel for kernel in counters.kernels)


def _options(arguments: argparse.Namespace, counters: DispatchCounters) -> TrafficOptions:
    from wavescope.analyze.traffic.kernel_traffic import TrafficOptions  # noqa: PLC0415
    from wavescope.model.chips.catalogue import chip_named, find_chip  # noqa: PLC0415

    chip = chip_named(arguments.arch) if arguments.arch else find_chip(counters.chip)
    peak = arguments.peak_gbps
    if peak is None and chip is not None and not arguments.arch:
        product = chip.product_named(counters.product)
        peak = product.memory_gb_per_s if product else None
    return TrafficOptions(chip, peak, arguments.ideal_gb, arguments.ea_channels)


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
