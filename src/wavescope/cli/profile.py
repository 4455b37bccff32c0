"""`wavescope counters collect`: collects hardware counters with rocprofv3, pass by pass."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import wavescope
from wavescope.cli.command import Command, Example
from wavescope.cli.metrics import in_short
from wavescope.cli.options import (
    FOR_PEOPLE,
    OutputOptions,
    add_format_flags,
    add_kernel_flag,
    add_limit_flag,
    add_quiet_flag,
    natural_number,
)
from wavescope.cli.outputs import print_result
from wavescope.cli.terminal import say
from wavescope.errors import UsageError
from wavescope.model.progress import tell_nobody
from wavescope.model.result import Result
from wavescope.model.workload_layout import COUNTED_CHIPS

if TYPE_CHECKING:
    from wavescope import CollectOptions


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "command",
        metavar="CMD",
        nargs=argparse.REMAINDER,
        help="program to run, with its arguments; after --",
    )
    parser.add_argument("-n", "--name", default="", help="name of the workload")
    parser.add_argument(
        "--output-directory",
        metavar="DIR",
        default="",
        help="where to (default workloads/NAME/MODEL, or /RANK); %%hostname%%, %%gpumodel%%, "
        "%%rank%% and %%env{NAME}%% are filled in",
    )
    _add_deprecated(parser)
    what = parser.add_argument_group("what is collected")
    what.add_argument(
        "-b",
        "--block",
        metavar="ID",
        nargs="+",
        default=[],
        help="panels, tables, metrics or aliases",
    )
    what.add_argument("--set", metavar="NAME", default="", help="metrics that one run can collect")
    what.add_argument("--roof-only", action="store_true", help="only what a roofline needs")
    what.add_argument("--no-roof", action="store_true", help="do not measure ceilings")
    add_kernel_flag(what, "only kernels whose name contains a match")
    what.add_argument(
        "-k",
        dest="kernels",
        metavar="TEXT",
        nargs="+",
        default=[],
        help="only kernels with this text in their name",
    )
    what.add_argument(
        "-d",
        "--dispatch",
        metavar="N",
        nargs="+",
        default=[],
        help="launches of each kernel, from 1: 1 3:5",
    )
    what.add_argument(
        "--device", metavar="N", type=natural_number, default=0, help="GPU of the ceilings"
    )
    what.add_argument("--arch", choices=COUNTED_CHIPS, help="chip, where no GPU tells it")
    _add_ways(parser)
    add_format_flags(parser)
    add_quiet_flag(parser)


def _add_deprecated(parser: argparse.ArgumentParser) -> None:
    """What older command lines of ROCm Compute Profiler say in place of --output-directory."""
    parser.add_argument("-p", "--path", metavar="DIR", default="", help=argparse.SUPPRESS)
    parser.add_argument(
        "--subpath", choices=("node_name", "gpu_model"), default="", help=argparse.SUPPRESS
    )


_OF_SUBPATH = {"node_name": "%hostname%", "gpu_model": "%gpumodel%"}


def _output_directory(arguments: argparse.Namespace) -> str:
    """--output-directory, or what the deprecated --path and --subpath mean, with a warning."""
    directory: str = arguments.output_directory
    given = [option for option in ("path", "subpath") if getattr(arguments, option)]
    if not given:
        return directory
    if directory:
        raise UsageError(f"--{given[0]} and --output-directory cannot be used together")
    if not arguments.path and not arguments.name:
        raise UsageError("the workload needs a name: -n NAME, or --output-directory DIR")
    folder = arguments.path or f"workloads/{arguments.name}"
    if arguments.subpath:
        folder = f"{folder}/{_OF_SUBPATH[arguments.subpath]}"
    options = " and ".join(f"--{option}" for option in given)
    say(f"{options}: deprecated, write --output-directory {shlex.quote(folder)}", label="note")
    return folder


def _add_ways(parser: argparse.ArgumentParser) -> None:
    how = parser.add_argument_group("how")
    how.add_argument(
        "--format-rocprof-output",
        choices=("csv", "rocpd"),
        default="csv",
        help="what rocprofv3 writes",
    )
    how.add_argument(
        "--retain-rocpd-output", action="store_true", help="keep what rocprofv3 wrote, in out/"
    )
    how.add_argument(
        "--iteration-multiplexing",
        nargs="?",
        const="kernel_launch_params",
        choices=("kernel", "kernel_launch_params"),
        help="run the program once, counting something else at every launch; launches of a kernel "
        "(and of the same size) are taken to be alike",
    )
    how.add_argument(
        "--torch-trace",
        action="store_true",
        help="record which PyTorch operator launched each kernel",
    )
    how.add_argument(
        "--pc-sampling-method",
        choices=("stochastic", "host_trap"),
        default="",
        help="of -b 21 (default stochastic where the chip can)",
    )
    how.add_argument(
        "--pc-sampling-interval",
        metavar="N",
        type=natural_number,
        default=0,
        help="of -b 21: cycles (stochastic, 1048576), or microseconds (host_trap, 512)",
    )
    how.add_argument(
        "--attach-pid",
        metavar="PID",
        type=natural_number,
        default=0,
        help="count in a program that runs already (started with ROCP_TOOL_ATTACH=1): one pass",
    )
    how.add_argument(
        "--attach-duration-msec",
        metavar="N",
        type=natural_number,
        default=0,
        help="for so many milliseconds (default: until Enter is pressed)",
    )
    add_limit_flag(how)
    how.add_argument("--resume", action="store_true", help="go on with passes that are missing")
    how.add_argument(
        "--force", action="store_true", help="begin anew: removes the workload's folder"
    )
    how.add_argument("--plan", action="store_true", help="only show the runs and their counters")
    shown = parser.add_argument_group("lists, without a GPU when --arch is given")
    shown.add_argument(
        "--list-available-metrics", action="store_true", help="metrics and their ids"
    )
    shown.add_argument("--list-sets", action="store_true", help="sets for --set")
    shown.add_argument(
        "--list-blocks", action="store_true", help="panels for -b, and runs they take"
    )


def _run(arguments: argparse.Namespace) -> int:

    output = replace(OutputOptions.from_arguments(arguments), rows=0)
    options = _options(arguments)
    if arguments.list_available_metrics or arguments.list_sets or arguments.list_blocks:
        print_result(_list(arguments, options, for_people=output.format in FOR_PEOPLE), output)
        return 0
    if arguments.plan:
        print_result(wavescope.collection_plan(options), output)
        return 0
    tell = tell_nobody if arguments.quiet else say
    done = wavescope.collect_counters(options, tell=tell, warn=partial(say, label="note"))
    print_result(done.result, output)
    return 0 if done.is_complete else 1


def _options(arguments: argparse.Namespace) -> CollectOptions:

    command = tuple(arguments.command)
    return wavescope.CollectOptions(
        command=command[1:] if command[:1] == ("--",) else command,
        name=arguments.name,
        output_directory=_output_directory(arguments),
        blocks=tuple(arguments.block),
        metric_set=arguments.set,
        roof_only=arguments.roof_only,
        ceilings=not arguments.no_roof,
        kernels=tuple(arguments.kernels),
        kernel=arguments.kernel,
        dispatches=tuple(arguments.dispatch),
        device=arguments.device,
        chip=arguments.arch or "",
        as_rocpd=arguments.format_rocprof_output == "rocpd",
        keep_raw=arguments.retain_rocpd_output,
        multiplexing=arguments.iteration_multiplexing or "",
        torch_trace=arguments.torch_trace,
        pc_sampling_method=arguments.pc_sampling_method,
        pc_sampling_interval=arguments.pc_sampling_interval,
        resume=arguments.resume,
        force=arguments.force,
        limit_s=arguments.limit,
        attach_pid=arguments.attach_pid,
        attach_duration_ms=arguments.attach_duration_msec,
    )


def _list(arguments: argparse.Namespace, options: CollectOptions, *, for_people: bool) -> Result:

    chip = options.chip or wavescope.gpu_chip(options.device)
    if arguments.list_sets:
        return wavescope.metric_sets(chip)
    if arguments.list_blocks:
        return wavescope.counter_blocks(chip)
    result = wavescope.metrics(chip=chip)
    if not for_people:
        return result
    return result.with_only_tables([result.table("panels"), in_short(result.table("metrics"))])


COMMAND = Command(
    "profile",
    "Collect hardware counters of a program's kernels with rocprofv3, in as few runs as the "
    "hardware allows, for `wavescope counters`. What is collected stays: another -b adds to "
    "it, --resume goes on after an interruption. docs/collecting-counters.md explains it.",
    (
        Example("wavescope counters collect -n vcopy -- ./vcopy -n 1048576", "all metrics"),
        Example(
            "wavescope counters collect -n vcopy -b sol l2 -k vecCopy -- ./vcopy",
            "two panels, one kernel",
        ),
        Example(
            "wavescope counters collect -n vcopy --set mem_thruput -- ./vcopy", "in a single run"
        ),
        Example("mpirun -n 4 wavescope counters collect -n cfd -- ./cfd", "a folder for each rank"),
        Example("wavescope counters collect --list-blocks --arch gfx942", "without a GPU"),
    ),
    _add_arguments,
    _run,
)
