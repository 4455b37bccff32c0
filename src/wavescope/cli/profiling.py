"""The work behind `wavescope profile`: passes into a folder, joined, with ceilings."""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import time
from pathlib import Path
from typing import NamedTuple

from wavescope.analyze.counters.catalogue import Catalogue
from wavescope.analyze.counters.pass_plan import CounterPass
from wavescope.analyze.counters.profile_plan import ProfileChoice, profile_passes
from wavescope.cli.terminal import say
from wavescope.collect.att_capture import find_rocprofv3
from wavescope.collect.ceilings.gpu_runtime import opened_gpu
from wavescope.collect.ceilings.measurements import MeasureOptions, measure
from wavescope.collect.ceilings.roofline_csv import roofline_csv
from wavescope.collect.counters.hsa_agents import GpuAgent
from wavescope.collect.counters.perfmon import ChannelLayout
from wavescope.collect.counters.rocprofv3_passes import (
    PassEnd,
    PassRequest,
    require_able,
    run_multiplexed,
    run_pass,
)
from wavescope.collect.counters.system_info import (
    Workload,
    blocks_text,
    gpu_model,
    system_csv,
    system_row,
)
from wavescope.collect.counters.workload_folder import (
    RECORD_FILE,
    WorkloadRecord,
    WorkloadRequest,
    free_pass_names,
    opened_record,
)
from wavescope.collect.counters.workload_path import Surroundings, workload_folder
from wavescope.collect.machine import Machine
from wavescope.collect.ranks import launcher_rank
from wavescope.errors import MachineError, UnreadableInputError, UsageError
from wavescope.export.workload_csv import write_joined
from wavescope.load.counters.torch_operators import passes_with_operators, write_consolidated
from wavescope.load.counters.workload import read_workload
from wavescope.model.result import Finding, Result, ResultColumn, ResultTable, Severity, Unit
from wavescope.model.workload_layout import CEILINGS_FILE, JOINED_FILE, SYSTEM_FILE
from wavescope.units import NS_PER, duration_text


class ProfileTarget(NamedTuple):
    """What is run, on which GPU, and what is to be measured."""

    command: tuple[str, ...]
    agent: GpuAgent
    catalogue: Catalogue
    choice: ProfileChoice


class Profiled(NamedTuple):
    """What came of it."""

    result: Result
    complete: bool


def profiled(arguments: argparse.Namespace, target: ProfileTarget) -> Profiled:
    """Collect what is asked for and not there yet."""
    command, agent, catalogue, choice = target
    rocprofv3 = find_rocprofv3(os.environ)
    folder = _folder(arguments, agent)
    request_of_passes = _request(arguments, folder, agent, command)
    require_able(rocprofv3, request_of_passes)
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
    _warn_of_ranks(1 if arguments.iteration_multiplexing else len(passes))
    if arguments.iteration_multiplexing:
        ends = [_collect_at_once(arguments, rocprofv3, request_of_passes, passes, record)]
        notes = _read_notes(folder)
    else:
        ends = _collect(arguments, rocprofv3, request_of_passes, passes, record)
        notes = _joined(folder)
    if arguments.torch_trace:
        notes += _operators(folder, record)
    if not arguments.no_roof and not any(end.interrupted for end in ends):
        notes += _measure_ceilings(arguments, folder)
    failed = any(end.failure or end.interrupted for end in ends)
    return Profiled(_result(folder, ends, notes), not failed)


def _folder(arguments: argparse.Namespace, agent: GpuAgent) -> Path:

    rank = launcher_rank(os.environ)
    around = Surroundings(gpu_model(agent), socket.gethostname(), rank, os.environ)
    if arguments.name and arguments.output_directory:
        say("--output-directory is given: -n only names the workload", label="note")
    return workload_folder(arguments.name, arguments.output_directory, around)


def _warn_of_ranks(passes: int) -> None:

    rank = launcher_rank(os.environ)
    if passes > 1 and rank.world_size > 1 and rank.rank == 0:
        say(
            f"{rank.world_size} ranks run the program in {passes} passes, each rank on its own: a "
            "job that cannot be repeated so needs one pass: --iteration-multiplexing, or --set",
            label="note",
        )


def _empty(folder: Path) -> None:
    """Remove a workload's folder, and nothing that is not one."""
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
        torch=arguments.torch_trace,
    )


def _write_system(
    folder: Path, arguments: argparse.Namespace, agent: GpuAgent, command: tuple[str, ...]
) -> None:

    workload = Workload(arguments.name or folder.name, command, blocks_text(arguments.block))
    (folder / SYSTEM_FILE).write_text(system_csv(system_row(workload, agent, Machine())))


def _collect_at_once(
    arguments: argparse.Namespace,
    rocprofv3: Path,
    request: PassRequest,
    passes: list[CounterPass],
    record: WorkloadRecord,
) -> PassEnd:
    if record.passes:
        raise UsageError(
            f"{request.folder} holds counters already",
            hint="multiplexed counters do not add to others: choose another name, or --force",
        )
    groups = [each.counters for each in passes]
    policy = arguments.iteration_multiplexing
    _say(arguments, f"one run, {len(groups)} groups of counters in turn")
    end = run_multiplexed(request, rocprofv3, "pmc_perf_0", groups, policy)
    record.note([counter for group in groups for counter in group], end)
    record.save(request.folder)
    return end


def _collect(
    arguments: argparse.Namespace,
    rocprofv3: Path,
    request: PassRequest,
    passes: list[CounterPass],
    record: WorkloadRecord,
) -> list[PassEnd]:

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
        record.save(request.folder)
        if ends[-1].interrupted:
            say("interrupted: `wavescope profile --resume` goes on with the rest", label="note")
            break
    if passes and not arguments.quiet:
        say(f"collected in {duration_text(max(NS_PER['ms'], time.monotonic_ns() - began_ns))}")
    return ends


def _read_notes(folder: Path) -> list[str]:
    try:
        return list(read_workload(folder).notes)
    except UnreadableInputError as error:
        return [f"nothing to analyse: {error.reason}"]


def _joined(folder: Path) -> list[str]:
    """Join the passes into one file that other tools read; what did not fit together."""

    (folder / JOINED_FILE).unlink(missing_ok=True)
    try:
        table = read_workload(folder)
    except UnreadableInputError as error:
        return [f"nothing to join: {error.reason}"]
    write_joined(table, folder / JOINED_FILE)
    return list(table.notes)


def _operators(folder: Path, record: WorkloadRecord) -> list[str]:
    """Join operators and dispatches, beginning with the pass that has most of them."""
    recorded = set(passes_with_operators(folder))
    order = sorted(
        (name for name in record.passes if name in recorded),
        key=lambda name: -record.passes[name].dispatches,
    )
    rows = write_consolidated(folder, order)
    return [] if rows else ["no PyTorch operator was seen: does the program import torch?"]


def _measure_ceilings(arguments: argparse.Namespace, folder: Path) -> list[str]:

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
