"""The work behind `wavescope profile`: passes into a folder, joined, with ceilings."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import socket
from pathlib import Path
from typing import NamedTuple

from wavescope.analyze.counters.catalogue import Catalogue
from wavescope.analyze.counters.pass_plan import CounterPass
from wavescope.analyze.counters.profile_plan import ProfileChoice, profile_passes, wants_pc_samples
from wavescope.cli.profile_result import profile_result, write_down
from wavescope.cli.profile_runs import ProfileRuns
from wavescope.cli.terminal import say
from wavescope.collect.capture import find_rocprofv3
from wavescope.collect.ceilings.gpu_runtime import opened_gpu
from wavescope.collect.ceilings.measurements import MeasureOptions, ceilings_text, measure
from wavescope.collect.counters.hsa_agents import GpuAgent
from wavescope.collect.counters.known_counters import known_counters, unknown_counters
from wavescope.collect.counters.pc_sampling_run import PcSampling, is_sampled, pc_sampling
from wavescope.collect.counters.perfmon import ChannelLayout
from wavescope.collect.counters.profile_log import ProfileLog, write_options
from wavescope.collect.counters.rocprofv3_passes import PassRequest, require_able
from wavescope.collect.counters.system_info import (
    Workload,
    gpu_model,
    system_csv,
    system_row,
)
from wavescope.collect.counters.workload_folder import (
    WorkloadRecord,
    WorkloadRequest,
    free_pass_names,
    opened_record,
)
from wavescope.collect.counters.workload_path import Surroundings, workload_folder
from wavescope.collect.machine import Machine
from wavescope.collect.recording.ranks import launcher_rank
from wavescope.collect.torch_ranges.environment import without_ranges_because
from wavescope.errors import MachineError, UnreadableInputError, UsageError
from wavescope.formats.counters import read_workload, write_counter_csv
from wavescope.formats.counters.torch_operators import passes_with_operators, write_consolidated
from wavescope.model.result import Result
from wavescope.model.workload_layout import CEILINGS_FILE, JOINED_FILE, RECORD_FILE, SYSTEM_FILE


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
    request = _request(arguments, folder, agent, command)
    require_able(rocprofv3, request)
    if arguments.force:
        _empty(folder)
    record = _record(arguments, folder, target)
    passes = _planned(rocprofv3, target, record)
    sampling = _sampling(arguments, catalogue, choice, record)
    folder.mkdir(parents=True, exist_ok=True)
    log = ProfileLog(folder)
    log.begin(command, rocprofv3)
    _write_system(folder, arguments, agent, command)
    write_options(folder, _options(arguments, command))
    noun = "pass" if len(passes) == 1 else "passes"
    _say(arguments, f"{len(passes)} {noun} of counters for {catalogue.chip} into {folder}")
    run_count = 1 if arguments.iteration_multiplexing else len(passes)
    _warn_of_ranks(run_count + (sampling is not None))
    runs = ProfileRuns(rocprofv3, request, record, arguments.quiet)
    if arguments.iteration_multiplexing:
        ends = runs.at_once(passes, arguments.iteration_multiplexing)
        notes = _read_notes(folder)
    else:
        ends = runs.one_by_one(passes)
        notes = _joined(folder)
    is_interrupted = any(end.interrupted for end in ends)
    if sampling and not is_interrupted:
        ends.append(runs.sampled(sampling))
    if arguments.torch_trace:
        notes += _operators(folder, record, command)
    if not arguments.no_roof and not is_interrupted:
        notes += _measure_ceilings(arguments, folder)
    result = profile_result(folder, ends, notes)
    write_down(log, ends, result)
    return Profiled(result, not any(end.failure or end.interrupted for end in ends))


def _record(arguments: argparse.Namespace, folder: Path, target: ProfileTarget) -> WorkloadRecord:
    """What the folder holds of this request already."""
    request = WorkloadRequest(
        target.command, target.catalogue.chip, _kernels(arguments), tuple(arguments.dispatch)
    )
    record = opened_record(folder, request)
    if arguments.resume and not record.is_begun:
        raise UsageError(f"there is nothing to resume in {folder}")
    return record


def _kernels(arguments: argparse.Namespace) -> tuple[str, ...]:
    """The kernels that are meant, as they are written down."""
    pattern = (f"/{arguments.kernel}/",) if arguments.kernel else ()
    return (*arguments.kernels, *pattern)


def _planned(rocprofv3: Path, target: ProfileTarget, record: WorkloadRecord) -> list[CounterPass]:
    """The passes that are to be run; counters that rocprofv3 does not know are noted instead."""
    catalogue, choice = target.catalogue, target.choice
    collected = record.collected()
    passes = profile_passes(catalogue, choice, collected)
    wanted = sorted({counter for each in passes for counter in each.counters})
    unknown = unknown_counters(wanted, known_counters(rocprofv3), catalogue.chip)
    if unknown:
        passes = profile_passes(catalogue, choice, {*collected, *unknown})
    record.unknown = sorted({*unknown, *record.unknown} - (set(wanted) - set(unknown)))
    complete = [name for name, each in record.passes.items() if each.complete]
    names = free_pass_names([each.name for each in passes], complete)
    return [each._replace(name=name) for each, name in zip(passes, names, strict=True)]


def _sampling(
    arguments: argparse.Namespace,
    catalogue: Catalogue,
    choice: ProfileChoice,
    record: WorkloadRecord,
) -> PcSampling | None:
    """How program counters are to be sampled, if they are and were not yet."""
    method, interval = arguments.pc_sampling_method, arguments.pc_sampling_interval
    if not wants_pc_samples(catalogue, choice):
        if method or interval:
            raise UsageError("program counters are not sampled", hint="-b 21 asks for it")
        return None
    if is_sampled(record.samples, method, interval):
        return None
    return pc_sampling(catalogue.chip, method, interval)


def _options(arguments: argparse.Namespace, command: tuple[str, ...]) -> dict[str, object]:
    """The options as ROCm Compute Profiler writes them down.

    The format is what the joined file has, which is a row for each dispatch either way.
    """
    return {
        "filter_blocks": list(arguments.block),
        "filter_metrics": list(arguments.block),
        "format_rocprof_output": "csv",
        "iteration_multiplexing": arguments.iteration_multiplexing,
        "kernel": list(_kernels(arguments)),
        "dispatch": list(arguments.dispatch),
        "set_selected": arguments.set,
        "roof_only": arguments.roof_only,
        "no_roof": arguments.no_roof,
        "torch_trace": arguments.torch_trace,
        "device": arguments.device,
        "name": arguments.name,
        "remaining": shlex.join(command),
    }


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
        kernels=tuple(arguments.kernels),
        kernel=arguments.kernel,
        iterations=tuple(arguments.dispatch),
        as_rocpd=arguments.format_rocprof_output == "rocpd",
        keep_raw=arguments.retain_rocpd_output,
        torch=arguments.torch_trace,
    )


def _write_system(
    folder: Path, arguments: argparse.Namespace, agent: GpuAgent, command: tuple[str, ...]
) -> None:
    workload = Workload(arguments.name or folder.name, command, tuple(arguments.block) or ("all",))
    (folder / SYSTEM_FILE).write_text(
        system_csv(system_row(workload, agent, Machine())), encoding="utf-8"
    )


def _read_notes(folder: Path) -> list[str]:
    try:
        return read_workload(folder).notes.sentences()
    except UnreadableInputError as error:
        return [f"nothing to analyse: {error.reason}"]


def _joined(folder: Path) -> list[str]:
    """Join the passes into one file that other tools read; what did not fit together."""
    (folder / JOINED_FILE).unlink(missing_ok=True)
    try:
        table = read_workload(folder)
    except UnreadableInputError as error:
        return [f"nothing to join: {error.reason}"]
    write_counter_csv(table, folder / JOINED_FILE)
    return table.notes.sentences()


def _operators(folder: Path, record: WorkloadRecord, command: tuple[str, ...]) -> list[str]:
    """Join operators and dispatches, beginning with the pass that has most of them."""
    recorded = set(passes_with_operators(folder))
    order = sorted(
        (name for name in record.passes if name in recorded),
        key=lambda name: -record.passes[name].dispatches,
    )
    rows = write_consolidated(folder, order)
    why = without_ranges_because(command) or "does the program import torch?"
    return [] if rows else [f"no PyTorch operator was seen: {why}"]


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
    target.write_text(ceilings_text({arguments.device: measured}), encoding="utf-8")
    return []


def _say(arguments: argparse.Namespace, text: str) -> None:
    if not arguments.quiet:
        say(text)
