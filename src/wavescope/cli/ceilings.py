"""`wavescope ceilings`: how fast this GPU can be, measured."""

from __future__ import annotations

import argparse
from pathlib import Path

import wavescope
from wavescope.cli.command import Command, Example
from wavescope.cli.options import (
    OutputOptions,
    add_force_flag,
    add_output_flags,
    add_quiet_flag,
    natural_number,
    size_bytes,
)
from wavescope.cli.outputs import print_result
from wavescope.cli.progress import Progress
from wavescope.cli.terminal import say


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--device",
        metavar="N",
        type=natural_number,
        default=0,
        help="number of the GPU (default 0)",
    )
    parser.add_argument(
        "--only", metavar="NAMES", help="measure only these, separated by commas: HBM,L2,FP32"
    )
    parser.add_argument(
        "--samples", metavar="N", type=natural_number, default=30, help="runs of each (default 30)"
    )
    parser.add_argument(
        "--memory",
        metavar="BYTES",
        type=size_bytes,
        default=4_000_000_000,
        help="memory to read for HBM: 512M, 4G (default 4G; far more than any cache)",
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help="also write a roofline.csv"
    )
    add_force_flag(parser)
    add_output_flags(parser)
    add_quiet_flag(parser)


def _run(arguments: argparse.Namespace) -> int:
    output = OutputOptions.from_arguments(arguments)
    names = tuple(filter(None, (arguments.only or "").split(",")))
    options = wavescope.CeilingOptions(max(1, arguments.samples), arguments.memory, names)
    with Progress(f"measuring GPU {arguments.device}", quiet=arguments.quiet) as progress:
        result = wavescope.ceilings(
            options,
            device=arguments.device,
            output=arguments.output,
            force=arguments.force,
            progress=progress,
        )
    if arguments.output and not arguments.quiet:
        say(f"wrote {arguments.output}")
    print_result(result, output)
    return 0


COMMAND = Command(
    "ceilings",
    "Measure what limits kernels on this GPU: bandwidth of memory, caches and LDS, and peak rates "
    "of vector and matrix arithmetic by data type. Kernels are compiled at run time, for AMD by "
    "HIPRTC and for NVIDIA by NVRTC. `wavescope roofline` draws the result. docs/ceilings.md says "
    "what is run, and where it was verified.",
    (
        Example("wavescope ceilings", "all ceilings of GPU 0"),
        Example("wavescope ceilings -o roofline.csv --device 1", "for the roofline of a workload"),
        Example("wavescope ceilings --only HBM,L2 --samples 100", "two of them, more precisely"),
    ),
    _add_arguments,
    _run,
)
