"""The options of commands that run a program with the collector in it."""

from __future__ import annotations

import argparse
import re

from wavescope.errors import UsageError

_MODES = ("lite", "standard", "full", "hip")
_OTHER_TOOLS = ("keep", "off")


def add_command(parser: argparse.ArgumentParser) -> None:
    """The program, which is everything from its name on."""
    parser.add_argument(
        "command",
        metavar="CMD",
        nargs=argparse.REMAINDER,
        help="program to run with its arguments; -- before it is allowed",
    )


def add_program_options(parser: argparse.ArgumentParser) -> None:
    """How the program runs, and what of it can be recorded."""
    parser.add_argument(
        "-m",
        "--mode",
        choices=_MODES,
        default="standard",
        help="what is timed: dispatches without a signal of the program (lite), all but graph "
        "replays (standard, the default), all (full), all with the HIP calls (hip)",
    )
    parser.add_argument(
        "--softgpu",
        metavar="SPEC",
        nargs="?",
        const="",
        help="run on software GPUs; --softgpu=gfx90a,gpus=8,runtime=6.4 chooses chip, number and "
        "ROCm",
    )
    parser.add_argument(
        "--torch",
        action="store_true",
        help="put ranges around PyTorch's operators and modules, with the lines that called them",
    )
    parser.add_argument(
        "--other-tools",
        choices=_OTHER_TOOLS,
        default="keep",
        help="when another tool (rocprofv3, a library in HSA_TOOLS_LIB) is set up for the program: "
        "leave the GPU's work to it (keep, the default), or run without it (off)",
    )


def add_kernel_filter(group: argparse._ArgumentGroup) -> None:
    """--kernel."""
    group.add_argument(
        "--kernel",
        metavar="REGEX",
        default="",
        help="only kernels whose whole readable name matches somewhere",
    )


def program_command(arguments: argparse.Namespace, verb: str) -> tuple[str, ...]:
    """The program and its arguments; `verb` shows how to name one where there is none."""
    command = tuple(arguments.command)
    if command[:1] == ("--",):
        command = command[1:]
    if not command:
        raise UsageError("which program?", hint=f"wavescope {verb} python3 my_model.py")
    _require_expression(arguments.kernel)
    if arguments.torch:
        _require_ranges(command)
    return command


def _require_expression(pattern: str) -> None:
    try:
        re.compile(pattern)
        pattern.encode()
    except (re.error, UnicodeEncodeError, RecursionError, OverflowError) as error:
        raise UsageError(f"--kernel '{pattern}' is not a regular expression: {error}") from error


def _require_ranges(command: tuple[str, ...]) -> None:
    from wavescope.collect.torch_ranges.environment import (  # noqa: PLC0415  only for --torch
        without_ranges_because,
    )

    if reason := without_ranges_because(command):
        raise UsageError(f"--torch would have no effect: {reason}", hint="leave that option out")
