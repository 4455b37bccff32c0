"""`wavescope ceilings`: how fast this GPU can be, measured."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from wavescope.cli.command import Command, Example
from wavescope.cli.options import (
    OutputOptions,
    add_force_flag,
    add_output_flags,
    add_quiet_flag,
    row_count,
    size_bytes,
)
from wavescope.cli.outputs import print_result
from wavescope.cli.progress import Progress
from wavescope.cli.terminal import say

if TYPE_CHECKING:
    from wavescope.collect.ceilings.measurements import MeasuredCeiling
    from wavescope.model.result import Result


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--device", metavar="N", type=row_count, default=0, help="number of the GPU (default 0)"
    )
    parser.add_argument(
        "--only", metavar="NAMES", help="measure only these, separated by commas: HBM,L2,FP32"
    )
    parser.add_argument(
        "--samples", metavar="N", type=row_count, default=30, help="runs of each (default 30)"
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
    from wavescope.collect.ceilings.gpu_runtime import opened_gpu  # noqa: PLC0415  loads runtimes
    from wavescope.collect.ceilings.measurements import (  # noqa: PLC0415
        MeasureOptions,
        chosen_ceilings,
        measure,
    )
    from wavescope.formats.output import require_free  # noqa: PLC0415

    output = OutputOptions.from_arguments(arguments)
    names = tuple(filter(None, (arguments.only or "").split(",")))
    chosen_ceilings(names)
    if arguments.output:
        require_free(arguments.output, (), force=arguments.force)
    options = MeasureOptions(max(1, arguments.samples), arguments.memory, names)
    with (
        opened_gpu(arguments.device) as gpu,
        Progress(f"measuring {gpu.name}", quiet=arguments.quiet) as progress,
    ):
        measured = measure(gpu, options, lambda _, done, total: progress(done, total))
        gpu_name = gpu.name
    if arguments.output:
        _write(arguments, measured)
    print_result(_result(gpu_name, measured), output)
    return 0


def _write(arguments: argparse.Namespace, measured: list[MeasuredCeiling]) -> None:
    from wavescope.collect.ceilings.measurements import ceilings_text  # noqa: PLC0415
    from wavescope.formats.output import replaced  # noqa: PLC0415

    with replaced(arguments.output, (), force=arguments.force) as path:
        path.write_text(ceilings_text({arguments.device: measured}), encoding="utf-8")
    if not arguments.quiet:
        say(f"wrote {arguments.output}")


def _result(gpu_name: str, measured: list[MeasuredCeiling]) -> Result:
    from wavescope.model.result import Result, ResultColumn, ResultTable, Unit  # noqa: PLC0415

    columns = (
        ResultColumn("ceiling", "Ceiling", Unit.NAME, "what is limited"),
        ResultColumn("mean", "Mean", Unit.NONE, "mean over samples"),
        ResultColumn("deviation", "Std", Unit.NONE, "standard deviation over samples"),
        ResultColumn("unit", "Unit", Unit.NAME, "of mean and standard deviation"),
        ResultColumn("samples", "Samples", Unit.COUNT, "timed runs"),
        ResultColumn("kernel", "Kernel", Unit.NAME, "what was run"),
    )
    rows = [
        (
            each.ceiling.name,
            round(each.mean, 1),
            round(each.deviation, 1),
            each.ceiling.unit,
            each.samples,
            each.kernel,
        )
        for each in measured
    ]
    table = ResultTable("ceilings", "Ceilings", columns, list(rows))
    return Result("Ceilings", [table], facts={"gpu": gpu_name})


COMMAND = Command(
    "ceilings",
    "Measure what limits kernels on this GPU: bandwidth of memory, caches and LDS, and peak rates "
    "of vector and matrix arithmetic by data type. Kernels are compiled at run time, for AMD by "
    "HIPRTC and for NVIDIA by NVRTC. `wavescope roofline` draws the result. docs/ceilings.md tells "
    "what is run and what was verified where.",
    (
        Example("wavescope ceilings", "all ceilings of GPU 0"),
        Example("wavescope ceilings -o roofline.csv --device 1", "for the roofline of a workload"),
        Example("wavescope ceilings --only HBM,L2 --samples 100", "two of them, more precisely"),
    ),
    _add_arguments,
    _run,
)
