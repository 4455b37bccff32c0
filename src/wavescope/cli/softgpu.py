"""`wavescope softgpu`: runs a ROCm program without a GPU."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from wavescope.cli.command import Command, Example
from wavescope.cli.inputs import DURATIONS_FILE
from wavescope.cli.options import add_force_flag, add_json_flag
from wavescope.cli.softgpu_model import add_model_arguments, model_only
from wavescope.cli.softgpu_runtimes import add_runtime_arguments, runtime_of, runtime_only
from wavescope.cli.terminal import say
from wavescope.collect.machine import Machine
from wavescope.collect.runtimes import command_on
from wavescope.collect.softgpu import CHIPS, PARTITIONS, SoftGpuOptions, child_variables
from wavescope.errors import OutputExistsError, UsageError


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "command",
        metavar="CMD",
        nargs=argparse.REMAINDER,
        help="program to run with its arguments, after --; without one the variables that make "
        "programs run on the software GPU are printed",
    )
    parser.add_argument("--chip", metavar="CHIP", help=f"one of {', '.join(CHIPS)}")
    parser.add_argument("--gpus", metavar="N", type=int, help="number of GPUs, 1 to 16 (default 1)")
    parser.add_argument(
        "--partition",
        metavar="MODE",
        choices=PARTITIONS,
        help="spx (default): a GPU is one device; cpx: each compute die of a gfx942 or gfx950 is",
    )
    parser.add_argument(
        "--kernel-ns",
        metavar="NS",
        help="duration of kernels (default 2000): nanoseconds, uniform:LOW:HIGH, "
        "exponential:MEAN or lognormal:MEDIAN:SIGMA",
    )
    parser.add_argument(
        "--durations",
        metavar="FILE",
        type=DURATIONS_FILE,
        help="durations by kernel name: lines PATTERN,DURATION; the first that matches counts",
    )
    parser.add_argument("--seed", metavar="N", type=int, help="seed of drawn durations")
    parser.add_argument(
        "--contention",
        metavar="PERCENT",
        type=int,
        help="how much each other busy queue of a GPU lengthens a kernel (default 0)",
    )
    parser.add_argument(
        "--truth",
        metavar="FILE",
        type=Path,
        help="write what the GPUs executed, one CSV line per op; %%p becomes the process id",
    )
    parser.add_argument(
        "--fault",
        metavar="SPEC",
        action="append",
        help="KIND[,key=value]..., may be repeated: hang, fail, queue_error, lost_timestamps, "
        "equal_timestamps, reversed_timestamps, slow_interrupt, clock_jump, clock_drift",
    )
    add_runtime_arguments(parser)
    add_model_arguments(parser)
    add_force_flag(parser)
    add_json_flag(parser)


def _run(arguments: argparse.Namespace) -> int:
    if runtime_only(arguments) or model_only(arguments):
        return 0
    options = _options(arguments)
    variables = child_variables(options, os.environ, Machine())
    command: list[str] = arguments.command
    if command[:1] == ["--"]:
        command = command[1:]
    if not command:
        if options.other_runtime is not None:
            raise UsageError(
                "which program? no variables make programs run on another runtime",
                hint=f"wavescope softgpu --runtime {options.other_runtime} -- rocminfo",
            )
        _print_variables(variables, as_json=arguments.json)
        return 0
    environment = {**os.environ, **variables}
    execute = command_on(runtime_of(arguments), command, environment, say)
    if arguments.truth is not None:
        _make_room(arguments.truth, force=arguments.force)
    return _become(execute, environment)


def _options(arguments: argparse.Namespace) -> SoftGpuOptions:
    if arguments.durations is not None:
        Path(arguments.durations).open("rb").close()  # the program would find out too late
    return SoftGpuOptions(
        chip=arguments.chip,
        gpus=arguments.gpus,
        partition=arguments.partition,
        kernel_ns=arguments.kernel_ns,
        durations=_absolute(arguments.durations),
        seed=arguments.seed,
        contention=arguments.contention,
        truth=_absolute(arguments.truth),
        runtime=arguments.runtime,
        faults=tuple(arguments.fault or ()),
    )


def _absolute(path: Path | str | None) -> str | None:
    """The program may change its folder before it opens the GPUs."""
    return None if path is None else str(Path(path).absolute())


def _print_variables(variables: dict[str, str], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(variables, indent=2))
        return
    for name, value in variables.items():
        print(f"export {name}={shlex.quote(value)}")


def _make_room(truth: Path, *, force: bool) -> None:
    if not truth.exists():
        return
    if not force:
        raise OutputExistsError(truth)
    truth.unlink()


def _become(command: Sequence[str], environment: dict[str, str]) -> NoReturn:
    """Replace this process by the program, so that exit code and signals are its own."""
    sys.stdout.flush()
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and exec keeps that
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvpe(command[0], list(command), environment)  # noqa: S606  no shell is wanted
    except (FileNotFoundError, PermissionError, NotADirectoryError) as error:
        raise UsageError(f"cannot run {command[0]}: {error.strerror}") from error


COMMAND = Command(
    "softgpu",
    "Run a ROCm program (HSA or HIP) on GPUs made of software: queues, copies, streams, events and "
    "graphs run for real in the installed runtime, kernels take the time they are told to and "
    "compute nothing. Needs no GPU, no driver and no privileges. docs/software-gpu.md tells more; "
    "docs/runtimes.md how to run on another ROCm than the machine's.",
    (
        Example("wavescope softgpu -- ./hip_program", "on one gfx90a"),
        Example(
            "wavescope softgpu --gpus 8 --truth truth.%p.csv -- ./hip_program",
            "on eight, and note what they executed",
        ),
        Example(
            "wavescope softgpu --fault hang,kernel=gemm,ms=50,every=100 -- ./hip_program",
            "every hundredth gemm takes 50 ms longer",
        ),
        Example(
            "wavescope softgpu --chip gfx1030", "variables to export, for all programs of a shell"
        ),
        Example("wavescope softgpu --runtime 6.4 -- rocminfo", "on ROCm 6.4, fetched once"),
        Example("wavescope softgpu --tiny-model model.gguf", "a model for llama.cpp to run"),
        Example("wavescope softgpu --list-runtimes", "the versions of ROCm to choose from"),
    ),
    _add_arguments,
    _run,
)
