"""`wavescope profile`: collects hardware counters with rocprofv3, pass by pass."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from wavescope.cli.command import Command, Example
from wavescope.cli.options import (
    FOR_PEOPLE,
    OutputOptions,
    add_format_flags,
    add_kernel_flag,
    add_quiet_flag,
    row_count,
)
from wavescope.cli.outputs import print_result
from wavescope.errors import MachineError, UsageError
from wavescope.model.workload_layout import COUNTED_CHIPS

if TYPE_CHECKING:
    from wavescope.analyze.counters.catalogue import Catalogue
    from wavescope.collect.counters.hsa_agents import GpuAgent
    from wavescope.model.result import Result


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "command", metavar="CMD", nargs=argparse.REMAINDER, help="program to run, after --"
    )
    parser.add_argument("-n", "--name", default="", help="name of the workload")
    parser.add_argument(
        "--output-directory",
        metavar="DIR",
        default="",
        help="where to (default workloads/NAME/MODEL, or /RANK); %%hostname%%, %%gpumodel%%, "
        "%%rank%% and %%env{NAME}%% are filled in",
    )
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
    add_kernel_flag(what, "only kernels whose name matches somewhere")
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
        "--device", metavar="N", type=row_count, default=0, help="GPU of the ceilings"
    )
    what.add_argument("--arch", choices=COUNTED_CHIPS, help="chip, where no GPU tells it")
    _add_ways(parser)
    add_format_flags(parser)
    add_quiet_flag(parser)


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
        help="tell by which PyTorch operator each kernel was launched",
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
        type=row_count,
        default=0,
        help="of -b 21: cycles (stochastic, 1048576), or microseconds (host_trap, 512)",
    )
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
    from wavescope.analyze.counters.catalogue import catalogue_for  # noqa: PLC0415  slow to import
    from wavescope.analyze.counters.profile_plan import ProfileChoice  # noqa: PLC0415

    output = replace(OutputOptions.from_arguments(arguments), rows=0)
    choice = ProfileChoice(tuple(arguments.block), arguments.set, arguments.roof_only)
    wants_list = arguments.list_available_metrics or arguments.list_sets or arguments.list_blocks
    if arguments.kernel and arguments.kernels:
        raise UsageError("-k and --kernel exclude each other", hint="write both as one --kernel")
    if arguments.torch_trace and arguments.format_rocprof_output == "rocpd":
        raise UsageError("--torch-trace needs --format-rocprof-output csv, which is the default")
    command = _command(arguments, required=not (wants_list or arguments.plan))
    agent = None if arguments.arch and (wants_list or arguments.plan) else _agent(arguments)
    chip = arguments.arch or (agent.chip if agent else "")
    catalogue = catalogue_for(chip)
    if wants_list:
        print_result(_list(arguments, catalogue, for_people=output.format in FOR_PEOPLE), output)
        return 0
    if arguments.plan:
        from wavescope.analyze.counters.profile_plan import (  # noqa: PLC0415
            plan_result,
            profile_passes,
        )

        print_result(plan_result(catalogue, profile_passes(catalogue, choice)), output)
        return 0
    assert agent is not None
    from wavescope.cli.profiling import ProfileTarget, profiled  # noqa: PLC0415

    done = profiled(arguments, ProfileTarget(command, agent, catalogue, choice))
    print_result(done.result, output)
    return 0 if done.complete else 1


def _command(arguments: argparse.Namespace, *, required: bool) -> tuple[str, ...]:
    from wavescope.collect.counters.workload_path import (  # noqa: PLC0415
        require_no_launcher,
        require_runnable,
    )

    command = tuple(arguments.command)
    if command[:1] == ("--",):
        command = command[1:]
    if not command and required:
        raise UsageError(
            "which program?", hint="wavescope profile -n vcopy -- ./vcopy -n 1048576 -b 256"
        )
    require_no_launcher(command)
    if required:
        require_runnable(command)
    return command


def _agent(arguments: argparse.Namespace) -> GpuAgent:
    from wavescope.collect.counters.hsa_agents import gpu_agents  # noqa: PLC0415

    agents = gpu_agents()
    if arguments.device >= len(agents):
        raise MachineError(f"there is no GPU {arguments.device}: there are {len(agents)}")
    agent: GpuAgent = agents[arguments.device]
    return agent


def _list(arguments: argparse.Namespace, catalogue: Catalogue, *, for_people: bool) -> Result:
    if arguments.list_available_metrics:
        from wavescope.analyze.counters.metric_list import in_short, metric_list  # noqa: PLC0415

        result = metric_list(catalogue)
        if for_people:
            panels, metrics = result.tables
            result.tables = [panels, in_short(metrics)]
        return result
    from wavescope.analyze.counters.profile_plan import blocks_result, sets_result  # noqa: PLC0415

    return sets_result(catalogue) if arguments.list_sets else blocks_result(catalogue)


COMMAND = Command(
    "profile",
    "Collect hardware counters of a program's kernels with rocprofv3, in as few runs as the "
    "hardware allows, for `wavescope analyze`. What is collected stays: another -b adds to "
    "it, --resume goes on after an interruption. docs/profile.md tells more.",
    (
        Example("wavescope profile -n vcopy -- ./vcopy -n 1048576", "all metrics"),
        Example(
            "wavescope profile -n vcopy -b sol l2 -k vecCopy -- ./vcopy", "two panels, one kernel"
        ),
        Example("wavescope profile -n vcopy --set mem_thruput -- ./vcopy", "in a single run"),
        Example("mpirun -n 4 wavescope profile -n cfd -- ./cfd", "a folder for each rank"),
        Example("wavescope profile --list-blocks --arch gfx942", "without a GPU"),
    ),
    _add_arguments,
    _run,
)
