"""`wavescope profile`: collects hardware counters with rocprofv3, pass by pass."""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from wavescope.cli.command import Command, Example
from wavescope.cli.options import OutputOptions, add_format_flags, add_quiet_flag, row_count
from wavescope.cli.output import print_result
from wavescope.cli.terminal import say
from wavescope.errors import MachineError, UsageError
from wavescope.units import NS_PER, duration_text

if TYPE_CHECKING:
    from wavescope.analyze.counters.catalogue import Catalogue
    from wavescope.analyze.counters.pass_plan import CounterPass
    from wavescope.analyze.counters.profile_plan import ProfileChoice
    from wavescope.collect.counters.hsa_agents import GpuAgent
    from wavescope.collect.counters.rocprofv3_passes import PassEnd, PassRequest
    from wavescope.collect.counters.workload_folder import WorkloadRecord
    from wavescope.model.result import Result

_CHIPS = ("gfx906", "gfx908", "gfx90a", "gfx940", "gfx941", "gfx942", "gfx950")


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
    what.add_argument(
        "-k",
        "--kernel",
        metavar="TEXT",
        nargs="+",
        default=[],
        help="only kernels with this in their name",
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
    what.add_argument("--arch", choices=_CHIPS, help="chip, where no GPU tells it")
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
    command = _command(arguments, required=not (wants_list or arguments.plan))
    agent = None if arguments.arch and (wants_list or arguments.plan) else _agent(arguments)
    chip = arguments.arch or (agent.chip if agent else "")
    catalogue = catalogue_for(chip)
    if wants_list:
        print_result(_list(arguments, catalogue), output)
        return 0
    if arguments.plan:
        from wavescope.analyze.counters.profile_plan import (  # noqa: PLC0415
            plan_result,
            profile_passes,
        )

        print_result(plan_result(catalogue, profile_passes(catalogue, choice)), output)
        return 0
    assert agent is not None
    return _profile(arguments, output, command, (agent, catalogue, choice))


def _command(arguments: argparse.Namespace, *, required: bool) -> tuple[str, ...]:
    from wavescope.collect.counters.workload_path import require_no_launcher  # noqa: PLC0415

    command = tuple(arguments.command)
    if command[:1] == ("--",):
        command = command[1:]
    if not command and required:
        raise UsageError(
            "which program?", hint="wavescope profile -n vcopy -- ./vcopy -n 1048576 -b 256"
        )
    require_no_launcher(command)
    return command


def _agent(arguments: argparse.Namespace) -> GpuAgent:
    from wavescope.collect.counters.hsa_agents import gpu_agents  # noqa: PLC0415

    agents = gpu_agents()
    if arguments.device >= len(agents):
        raise MachineError(f"there is no GPU {arguments.device}: there are {len(agents)}")
    agent: GpuAgent = agents[arguments.device]
    return agent


def _list(arguments: argparse.Namespace, catalogue: Catalogue) -> Result:
    if arguments.list_available_metrics:
        from wavescope.analyze.counters.metric_list import metric_list  # noqa: PLC0415

        return metric_list(catalogue, "")
    from wavescope.analyze.counters.profile_plan import blocks_result, sets_result  # noqa: PLC0415

    return sets_result(catalogue) if arguments.list_sets else blocks_result(catalogue)


def _profile(
    arguments: argparse.Namespace,
    output: OutputOptions,
    command: tuple[str, ...],
    target: tuple[GpuAgent, Catalogue, ProfileChoice],
) -> int:
    from wavescope.analyze.counters.profile_plan import profile_passes  # noqa: PLC0415
    from wavescope.collect.att_capture import find_rocprofv3  # noqa: PLC0415
    from wavescope.collect.counters.workload_folder import (  # noqa: PLC0415
        WorkloadRequest,
        free_pass_names,
        opened_record,
    )

    agent, catalogue, choice = target
    rocprofv3 = find_rocprofv3(os.environ)
    folder = _folder(arguments, agent)
    if arguments.force:
        _empty(folder)
    request = WorkloadRequest(
        command, catalogue.chip, tuple(arguments.kernel), tuple(arguments.dispatch)
    )
    record = opened_record(folder, request)
    passes = profile_passes(catalogue, choice, record.collected())
    if arguments.resume and not record.passes:
        raise UsageError(f"there is nothing to resume in {folder}")
    complete = [name for name, each in record.passes.items() if each.complete]
    names = free_pass_names([each.name for each in passes], complete)
    passes = [each._replace(name=name) for each, name in zip(passes, names, strict=True)]
    folder.mkdir(parents=True, exist_ok=True)
    _write_system(folder, arguments, agent, command)
    _say(arguments, f"{len(passes)} passes of counters for {catalogue.chip} into {folder}")
    ends = _collect(
        arguments, (folder, rocprofv3), _request(arguments, folder, agent, command), passes, record
    )
    notes = _joined(folder)
    if not arguments.no_roof and not any(end.interrupted for end in ends):
        notes += _measure_ceilings(arguments, folder)
    print_result(_result(folder, ends, notes), output)
    return 1 if any(end.failure or end.interrupted for end in ends) else 0


def _folder(arguments: argparse.Namespace, agent: GpuAgent) -> Path:
    from wavescope.collect.counters.system_info import gpu_model  # noqa: PLC0415
    from wavescope.collect.counters.workload_path import Surroundings, workload_folder  # noqa: PLC0415
    from wavescope.collect.ranks import launcher_rank  # noqa: PLC0415

    rank = launcher_rank(os.environ)
    around = Surroundings(gpu_model(agent), socket.gethostname(), rank, os.environ)
    if arguments.name and arguments.output_directory:
        say("--output-directory is given: -n only names the workload", label="note")
    return workload_folder(arguments.name, arguments.output_directory, around)


def _empty(folder: Path) -> None:
    """Remove a workload's folder, and nothing that is not one."""
    from wavescope.collect.counters.workload_folder import RECORD_FILE  # noqa: PLC0415
    from wavescope.model.workload_layout import SYSTEM_FILE  # noqa: PLC0415

    if not folder.exists() or not any(folder.iterdir()):
        return
    if not any((folder / name).is_file() for name in (RECORD_FILE, SYSTEM_FILE)):
        raise UsageError(
            f"{folder} is not the folder of a workload", hint="--force removes only those"
        )
    shutil.rmtree(folder)


def _request(
    arguments: argparse.Namespace, folder: Path, agent: GpuAgent, command: tuple[str, ...]
) -> PassRequest:
    from wavescope.collect.counters.perfmon import ChannelLayout  # noqa: PLC0415
    from wavescope.collect.counters.rocprofv3_passes import PassRequest  # noqa: PLC0415
    from wavescope.collect.counters.system_info import Workload, system_row  # noqa: PLC0415
    from wavescope.collect.machine import Machine  # noqa: PLC0415

    row = system_row(Workload("", command, ()), agent, Machine())
    dies, channels = int(row["num_xcd"]), int(row["total_l2_chan"])
    return PassRequest(
        command=command,
        folder=folder,
        chip=agent.chip,
        channels=ChannelLayout(dies, channels // dies),
        kernels=tuple(arguments.kernel),
        iterations=tuple(arguments.dispatch),
        as_rocpd=arguments.format_rocprof_output == "rocpd",
        keep_raw=arguments.retain_rocpd_output,
    )


def _write_system(
    folder: Path, arguments: argparse.Namespace, agent: GpuAgent, command: tuple[str, ...]
) -> None:
    from wavescope.collect.counters.system_info import (  # noqa: PLC0415
        Workload,
        blocks_text,
        system_csv,
        system_row,
    )
    from wavescope.collect.machine import Machine  # noqa: PLC0415
    from wavescope.model.workload_layout import SYSTEM_FILE  # noqa: PLC0415

    workload = Workload(arguments.name or folder.name, command, blocks_text(arguments.block))
    (folder / SYSTEM_FILE).write_text(system_csv(system_row(workload, agent, Machine())))


def _collect(
    arguments: argparse.Namespace,
    place: tuple[Path, Path],
    request: PassRequest,
    passes: list[CounterPass],
    record: WorkloadRecord,
) -> list[PassEnd]:
    from wavescope.collect.counters.rocprofv3_passes import run_pass  # noqa: PLC0415

    folder, rocprofv3 = place
    began_ns = time.monotonic_ns()
    ends: list[PassEnd] = []
    for number, each in enumerate(passes):
        left = ""
        if number:
            per_pass_ns = (time.monotonic_ns() - began_ns) // number
            left = f", about {duration_text(per_pass_ns * (len(passes) - number))} left"
        _say(arguments, f"pass {number + 1} of {len(passes)}: {each.name}{left}")
        ends.append(run_pass(request, rocprofv3, each.name, each.counters))
        record.note(each.counters, ends[-1])
        record.save(folder)
        if ends[-1].interrupted:
            say("interrupted: `wavescope profile --resume` goes on with the rest", label="note")
            break
    if passes and not arguments.quiet:
        say(f"collected in {duration_text(max(NS_PER['ms'], time.monotonic_ns() - began_ns))}")
    return ends


def _joined(folder: Path) -> list[str]:
    """Join the passes into one file that other tools read; what did not fit together."""
    from wavescope.errors import UnreadableInputError  # noqa: PLC0415
    from wavescope.export.workload_csv import write_joined  # noqa: PLC0415
    from wavescope.load.counters.workload import read_workload  # noqa: PLC0415
    from wavescope.model.workload_layout import JOINED_FILE  # noqa: PLC0415

    (folder / JOINED_FILE).unlink(missing_ok=True)
    try:
        table = read_workload(folder)
    except UnreadableInputError as error:
        return [f"nothing to join: {error.reason}"]
    write_joined(table, folder / JOINED_FILE)
    return list(table.notes)


def _measure_ceilings(arguments: argparse.Namespace, folder: Path) -> list[str]:
    from wavescope.collect.ceilings.gpu_runtime import opened_gpu  # noqa: PLC0415
    from wavescope.collect.ceilings.measurements import MeasureOptions, measure  # noqa: PLC0415
    from wavescope.collect.ceilings.roofline_csv import roofline_csv  # noqa: PLC0415
    from wavescope.model.workload_layout import CEILINGS_FILE  # noqa: PLC0415

    target = folder / CEILINGS_FILE
    if target.is_file():
        return []
    _say(arguments, "measuring ceilings")
    try:
        with opened_gpu(arguments.device) as gpu:
            measured = measure(gpu, MeasureOptions(), lambda *_: None)
    except MachineError as error:
        return [f"ceilings were not measured: {error}"]
    target.write_text(roofline_csv({arguments.device: measured}))
    return []


def _result(folder: Path, ends: list[PassEnd], notes: list[str]) -> Result:
    from wavescope.model.result import (  # noqa: PLC0415
        Finding,
        Result,
        ResultColumn,
        ResultTable,
        Severity,
        Unit,
    )

    columns = (
        ResultColumn("pass", "Pass", Unit.NAME, "and the file its counters are in"),
        ResultColumn("dispatches", "Dispatches", Unit.COUNT, "that were counted"),
        ResultColumn("processes", "Processes", Unit.COUNT, "that launched them"),
        ResultColumn("counters", "Counters", Unit.COUNT, "that were read"),
        ResultColumn("missing", "Missing", Unit.COUNT, "counters asked for and not reported"),
        ResultColumn("outcome", "Outcome", Unit.NONE, "how the pass ended"),
    )
    rows = [
        (
            each.name,
            each.dispatches,
            each.processes,
            len(each.counters),
            len(each.missing),
            _outcome(each),
        )
        for each in ends
    ]
    result = Result("Profile", [ResultTable("passes", "Passes", columns, list(rows))])
    result.facts = {"path": str(folder), "passes": len(ends)}
    for each in ends:
        notes += [f"{each.name}: {note}" for note in each.notes]
        if each.missing:
            notes.append(f"{each.name}: not reported: {' '.join(each.missing[:8])}")
    result.findings = [
        Finding("profile-note", Severity.WARNING, note, "while joining the passes")
        for note in notes
    ]
    result.facts["next"] = f"wavescope analyze -p {folder}"
    return result


def _outcome(end: PassEnd) -> str:
    if end.interrupted:
        return "interrupted"
    if end.failure:
        return f"failed: {end.failure}"
    return "ok" if end.exit_code == 0 else f"partial: exit code {end.exit_code}"


def _say(arguments: argparse.Namespace, text: str) -> None:
    if not arguments.quiet:
        say(text)


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
