"""`wavescope capture`: trace a kernel's instructions with rocprofv3 and analyse them."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import wavescope
from wavescope.cli.command import Command, Example
from wavescope.cli.commands import command_of, entry_for
from wavescope.cli.options import (
    FOR_PEOPLE,
    OutputFormat,
    OutputOptions,
    add_force_flag,
    add_kernel_flag,
    add_limit_flag,
    add_output_flags,
    add_quiet_flag,
)
from wavescope.cli.outputs import print_result
from wavescope.cli.terminal import say
from wavescope.errors import UsageError
from wavescope.model.result import Result

_SIZE = re.compile(r"(\d{1,12})([KMG]?)(?:i?B)?|0x([0-9a-f]{1,10})", re.ASCII | re.IGNORECASE)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "command",
        metavar="-- CMD",
        nargs=argparse.REMAINDER,
        help="program to run, with its arguments; after --",
    )
    add_kernel_flag(parser, "trace kernels whose name contains a match", required=True)
    parser.add_argument(
        "--iterations",
        metavar="N,...",
        default="1,3",
        help="launches of each kernel to trace, counted from 1: 3-4 or 1,3 (default 1,3)",
    )
    parser.add_argument(
        "--cu", metavar="N", type=int, default=1, help="compute unit to trace (default 1)"
    )
    parser.add_argument(
        "--se-mask",
        metavar="MASK",
        type=_mask,
        default=0xF,
        help="shader engines to trace (default 0xf)",
    )
    parser.add_argument(
        "--simd",
        metavar="MASK",
        type=_mask,
        default=0xF,
        help="SIMDs of the compute unit to trace (default 0xf)",
    )
    parser.add_argument(
        "--buffer",
        metavar="SIZE",
        type=_size,
        default=96 << 20,
        help="trace buffer, such as 192M (default 96M)",
    )
    parser.add_argument(
        "--decoder", metavar="DIR", type=Path, help="folder with librocprof-trace-decoder.so"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        type=Path,
        default=Path("kernel_trace_output"),
        help="folder that rocprofv3 writes to (default kernel_trace_output)",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="only print the input file and the command"
    )
    parser.add_argument(
        "--no-analysis", action="store_true", help="only capture, and list the folders written"
    )
    add_force_flag(parser)
    add_output_flags(parser)
    add_limit_flag(parser)
    add_quiet_flag(parser)


def _run(arguments: argparse.Namespace) -> int:
    output = OutputOptions.from_arguments(arguments)
    options = _options(arguments)
    if arguments.dry_run:
        _print_dry_run(wavescope.record_capture(options, dry_run=True), output)
        return 0
    result = wavescope.record_capture(
        options, force=arguments.force, keeps_stdout=output.format not in FOR_PEOPLE
    )
    for finding in result.findings:
        say(finding.evidence, label="note")
    folders = [str(folder) for folder in result.table("folders").column("folder")]
    if not arguments.quiet:
        for folder in folders:
            say(f"wrote {folder}")
    if arguments.no_analysis:
        print_result(result, output)
        return 0
    return _analyse(folders[-1], arguments)


def _options(arguments: argparse.Namespace) -> wavescope.CaptureOptions:
    command = tuple(arguments.command)
    if command[:1] == ("--",):
        command = command[1:]
    if not command:
        raise UsageError(
            "no program to run was given",
            hint="wavescope capture --kernel REGEX -- python3 bench.py",
        )
    return wavescope.CaptureOptions(
        command=command,
        kernel=arguments.kernel,
        iterations=arguments.iterations,
        target_cu=arguments.cu,
        shader_engine_mask=arguments.se_mask,
        simd_select=arguments.simd,
        buffer_bytes=arguments.buffer,
        output=arguments.output,
        decoder=arguments.decoder,
        limit_s=arguments.limit,
    )


def _print_dry_run(result: Result, output: OutputOptions) -> None:
    if output.format is OutputFormat.JSON:
        print_result(result, output)
        return
    facts = result.facts
    print(f"# {facts['path']}\n{facts['input_file']}\n# command\n{facts['command']}")


def _analyse(folder: str, arguments: argparse.Namespace) -> int:
    """What `wavescope hotspots --plan` shows of the folder, in the format that was asked for."""
    line = [folder, "--plan"]
    if arguments.format or arguments.json:
        line += ["--format", "json" if arguments.json else arguments.format]
    if arguments.quiet:
        line.append("--quiet")
    analysis = command_of(entry_for("hotspots"))
    return analysis.run(analysis.parser().parse_args(line))


def _mask(text: str) -> int:
    try:
        return int(text, 16 if text.lower().startswith("0x") else 10)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a mask such as 0xf") from None


def _size(text: str) -> int:
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise argparse.ArgumentTypeError(f"'{text}' is not a size such as 96M or 0x6000000")
    if found.group(3):
        return int(found.group(3), 16)
    return int(found.group(1)) << {"": 0, "K": 10, "M": 20, "G": 30}[found.group(2).upper()]


COMMAND = Command(
    "capture",
    "Trace the instructions of a kernel with rocprofv3 and show what stalls. Writes rocprofv3's "
    "input file, checks that rocprofv3 and the trace decoder are there, runs the program, finds "
    "the folder it wrote and analyses it. docs/plan.md explains the options.",
    (
        Example(
            "wavescope capture --kernel pa_decode --iterations 3-4 -- python3 bench.py",
            "the third and fourth launch of a kernel",
        ),
        Example(
            "wavescope capture --kernel gemm --se-mask 0x11111111 --buffer 192M -- ./app",
            "more shader engines, for kernels with few waves",
        ),
        Example(
            "wavescope capture --kernel gemm --dry-run -- ./app",
            "show the input file and the command",
        ),
    ),
    _add_arguments,
    _run,
)
