"""The options of commands that run a program with the collector in it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import wavescope
from wavescope.cli.options import add_kernel_flag, positive_milliseconds
from wavescope.errors import UsageError


def add_command(parser: argparse.ArgumentParser) -> None:
    """The program, which is everything from its name on."""
    parser.add_argument(
        "command",
        metavar="CMD",
        nargs=argparse.REMAINDER,
        help="program to run, with its arguments; -- may stand before it",
    )


def add_program_options(parser: argparse.ArgumentParser) -> None:
    """How the program runs, and what of it can be recorded."""
    parser.add_argument(
        "-m",
        "--mode",
        choices=wavescope.RecordMode.words(),
        default=wavescope.RecordMode.STANDARD.value,
        help="what is timed on AMD: dispatches that come one by one and without a signal of the "
        "program (lite), all (standard, the default, and full), all and the HIP calls (hip). On "
        "NVIDIA: samples, see --slices (lite), all kernels and copies (standard), also "
        "synchronization and allocations (full), also the CUDA calls (cuda, the same as hip)",
    )
    add_softgpu_option(parser)
    parser.add_argument(
        "--torch",
        action="store_true",
        help="put ranges around PyTorch's operators and modules, with the lines that called them",
    )
    parser.add_argument(
        "--other-tools",
        choices=[choice.value for choice in wavescope.OtherTools],
        default=wavescope.OtherTools.AUTO.value,
        help="when another tool wants the program's GPU work: one that you set up (rocprofv3, a "
        "library in HSA_TOOLS_LIB or CUDA_INJECTION64_PATH) gets it, a profiler that PyTorch or "
        "JAX brings along does not (auto, the default); any gets it (keep); the program runs "
        "without those that you set up (off)",
    )
    add_interception_option(parser)


def add_interception_option(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """--interception."""
    parser.add_argument(
        "--interception",
        choices=[choice.value for choice in wavescope.Interception],
        help="what intercepts dispatches on AMD GPUs: the HSA runtime (runtime, the default), or a "
        "ring of packets of wavescope's own before each queue (own), which costs about half, but "
        "was tried on software GPUs only",
    )


def add_nvidia_options(group: argparse._ArgumentGroup) -> None:
    """--slices and --flush-period, which say how records of NVIDIA GPUs are taken."""
    group.add_argument(
        "--slices",
        metavar="MS/MS|off",
        type=wavescope.Slices.parse,
        help="with --mode lite on NVIDIA GPUs: record kernels for so many milliseconds of every so "
        "many (default 20/400); off records kernels all the time, and graphs as a whole",
    )
    group.add_argument(
        "--flush-period",
        metavar="TIME",
        type=positive_milliseconds,
        help="on NVIDIA GPUs: how often records are fetched, and so what a kill can lose (default "
        "250ms)",
    )


def add_softgpu_option(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """--softgpu."""
    parser.add_argument(
        "--softgpu",
        metavar="SPEC",
        nargs="?",
        const="",
        help="run on software GPUs; --softgpu=gfx90a,gpus=8,runtime=6.4 chooses chip, number and "
        "ROCm",
    )


def add_kernel_filter(group: argparse._ArgumentGroup) -> None:
    """--kernel."""
    add_kernel_flag(group, "only kernels whose full readable name contains a match")


def program_options(arguments: argparse.Namespace, verb: str) -> dict[str, Any]:
    """What the arguments say of the program, by the names of `RecordOptions`."""
    return {
        "command": program_command(arguments.command, verb),
        "mode": wavescope.RecordMode(arguments.mode),
        "softgpu": arguments.softgpu,
        "kernel": arguments.kernel,
        "torch": arguments.torch,
        "other_tools": wavescope.OtherTools(arguments.other_tools),
        "interception": arguments.interception,
        "slices": arguments.slices,
        "flush_ms": arguments.flush_period,
    }


def program_command(words: Sequence[str], verb: str) -> tuple[str, ...]:
    """The program and its arguments; `verb` shows how to name one where there is none."""
    command = tuple(words[1:] if words[:1] == ["--"] else words)
    if not command:
        raise UsageError(
            "no program to run was given", hint=f"wavescope {verb} python3 my_model.py"
        )
    return command
