"""One collection of hardware counters with rocprofv3, from the request to the workload's folder."""

from __future__ import annotations

import os
import shlex
import socket
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from wavescope.collect.capture import find_rocprofv3
from wavescope.collect.ceilings import CeilingOptions, ceilings_text, measure, opened_gpu
from wavescope.collect.counters.attachment import (
    HOW_TO_ALLOW,
    SYNC_OPTION,
    Attachment,
    is_known_not_to_allow,
    require_one_pass,
    require_running,
)
from wavescope.collect.counters.extra_counters import ChannelLayout
from wavescope.collect.counters.rocprofv3_passes import (
    PassRequest,
    known_counters,
    require_able,
    unknown_counters,
)
from wavescope.collect.counters.runs import (
    CounterRuns,
    PcSampling,
    collection_result,
    is_sampled,
    pc_sampling,
    write_down,
)
from wavescope.collect.counters.system_info import (
    GpuAgent,
    Workload,
    gpu_here,
    gpu_model,
    system_csv,
    system_row,
)
from wavescope.collect.counters.workload_folder import (
    ProfileLog,
    Surroundings,
    WorkloadRecord,
    WorkloadRequest,
    emptied,
    free_pass_names,
    opened_record,
    require_no_launcher,
    require_runnable,
    workload_folder,
    write_options,
)
from wavescope.collect.machine import Machine
from wavescope.collect.ranks import launcher_rank
from wavescope.collect.rocprofv3_patterns import require_rocprofv3_pattern
from wavescope.collect.torch_ranges import without_ranges_because
from wavescope.errors import MachineError, UnreadableInputError, UsageError
from wavescope.formats.counters import read_workload, write_counter_csv, write_operators
from wavescope.model.counters import CounterPass
from wavescope.model.progress import Tell, no_progress, tell_nobody
from wavescope.model.result import Result
from wavescope.model.workload_layout import CEILINGS_FILE, JOINED_FILE, SYSTEM_FILE
from wavescope.placing import alone_in


@dataclass(frozen=True)
class CollectOptions:
    """What is run, what is collected of it, and how; nothing chosen means everything."""

    command: tuple[str, ...] = ()
    """The program and its arguments."""
    name: str = ""
    """Of the workload, whose folder is workloads/NAME/MODEL."""
    output_directory: str = ""
    """The folder instead, in which %hostname%, %gpumodel%, %rank% and %env{NAME}% are filled in."""
    blocks: tuple[str, ...] = ()
    """Panels, tables or metrics: 2, 2.1, 2.1.4, sol, l2_hit_rate."""
    metric_set: str = ""
    roof_only: bool = False
    ceilings: bool = True
    """Whether the peaks of the GPU are measured, too."""
    kernels: tuple[str, ...] = ()
    """Parts of kernel names: only these are counted."""
    kernel: str = ""
    """A regular expression that is found in names of kernels instead."""
    dispatches: tuple[str, ...] = ()
    """Launches of each kernel, from 1: `1` or `3:5`."""
    device: int = 0
    chip: str = ""
    """Such as gfx942, where no GPU tells it."""
    as_rocpd: bool = False
    keep_raw: bool = False
    multiplexing: str = ""
    """One run that counts something else at every launch; alike are launches of a `kernel`, or
    `kernel_launch_params`: of the same size, too."""
    torch_trace: bool = False
    pc_sampling_method: str = ""
    pc_sampling_interval: int = 0
    resume: bool = False
    force: bool = False
    limit_s: float = 0.0
    """How long each run may take; unless stated, many times as long as those before it."""
    attach_pid: int = 0
    """A process that runs already is counted, instead of a command."""
    attach_duration_ms: int = 0
    """For how long; until Enter is pressed, if 0."""

    def __post_init__(self) -> None:
        if self.kernel and self.kernels:
            raise UsageError(
                "-k and --kernel cannot be used together", hint="write both as one --kernel"
            )
        require_rocprofv3_pattern(self.kernel)
        self._require_attachable()
        if self.torch_trace and self.as_rocpd:
            raise UsageError(
                "--torch-trace needs --format-rocprof-output csv, which is the default"
            )

    def _require_attachable(self) -> None:
        if not self.attach_pid:
            if self.attach_duration_ms:
                raise UsageError("--attach-duration-msec goes with --attach-pid PID")
            return
        unable = {
            "a program to run": self.command,
            "--iteration-multiplexing": self.multiplexing,
            "--torch-trace": self.torch_trace,
        }
        for what, is_asked in unable.items():
            if is_asked:
                raise UsageError(
                    f"--attach-pid and {what} cannot be used together",
                    hint="a program that runs already is counted as it is, in one pass",
                )

    @property
    def attachment(self) -> Attachment | None:
        """The running process that is meant, if any."""
        if not self.attach_pid:
            return None
        return Attachment(self.attach_pid, self.attach_duration_ms)

    @property
    def written_command(self) -> tuple[str, ...]:
        """What is counted, as it is written down."""
        return self.command if self.attachment is None else self.attachment.words

    @property
    def written_kernels(self) -> tuple[str, ...]:
        """The kernels that are meant, as they are written down."""
        return (*self.kernels, *((f"/{self.kernel}/",) if self.kernel else ()))


class CounterPlan(NamedTuple):
    """What is to be collected on a chip."""

    chip: str
    passes: Callable[[Collection[str]], list[CounterPass]]
    """The runs for all that is wanted but the counters that it is given."""
    samples: bool
    """Whether program counters are to be sampled, too."""


class Collected(NamedTuple):
    """A row for each run, and whether all of them went to their end."""

    result: Result
    is_complete: bool


def collect(
    options: CollectOptions,
    planned_for: Callable[[str], CounterPlan],
    *,
    tell: Tell = tell_nobody,
    warn: Tell = tell_nobody,
) -> Collected:
    """Run the program in passes until all that is planned and not there yet is collected.

    `tell` hears how far it is, `warn` what is worth knowing in any case.
    """
    _require_program(options, warn)
    agent = gpu_here(options.device)
    plan = planned_for(options.chip or agent.chip)
    rocprofv3 = find_rocprofv3(os.environ)
    folder = _folder(options, agent, warn)
    request = _able_request(rocprofv3, _request(options, folder, agent))
    with alone_in(folder):
        return _collected(options, request, plan, rocprofv3, agent, tell=tell, warn=warn)


def _collected(
    options: CollectOptions,
    request: PassRequest,
    plan: CounterPlan,
    rocprofv3: Path,
    agent: GpuAgent,
    *,
    tell: Tell,
    warn: Tell,
) -> Collected:
    folder = request.folder
    if options.force:
        emptied(folder)
    record = _record(options, folder, plan.chip)
    passes = _missing_passes(rocprofv3, plan, record)
    sampling = _sampling(options, plan, record)
    if request.attachment is not None:
        require_one_pass(len(passes) + (sampling is not None))
    log = ProfileLog(folder)
    log.begin(options.written_command, rocprofv3)
    _write_about(folder, options, agent)
    noun = "pass" if len(passes) == 1 else "passes"
    tell(f"{len(passes)} {noun} of counters for {plan.chip} into {folder}")
    runs = CounterRuns(rocprofv3, request, record, tell, warn, options.limit_s)
    program_runs = len(runs.taking_turns(passes) if options.multiplexing else passes)
    _warn_of_ranks(program_runs + (sampling is not None), warn)
    if options.multiplexing:
        ends = runs.at_once(passes, options.multiplexing)
        notes = _read_notes(folder)
    else:
        ends = runs.one_by_one(passes)
        notes = _joined(folder)
    is_interrupted = any(end.interrupted for end in ends)
    if sampling and not is_interrupted:
        ends.append(runs.sampled(sampling))
    if options.torch_trace:
        notes += _operators(folder, record, options.command)
    if options.ceilings and not is_interrupted:
        notes += _measure_ceilings(options, folder, tell)
    result = collection_result(folder, ends, notes)
    write_down(log, ends, result)
    is_whole = not any(end.failure or end.interrupted or end.given_up for end in ends)
    return Collected(result, is_whole)


def _require_program(options: CollectOptions, warn: Tell) -> None:
    """Refuse what cannot be run in passes, or attached to."""
    pid = options.attach_pid
    if pid:
        require_running(pid)
        if is_known_not_to_allow(pid):
            warn(f"process {pid} may refuse rocprofv3: {HOW_TO_ALLOW}")
        return
    if not options.command:
        raise UsageError(
            "no program to run was given",
            hint="wavescope counters collect -n vcopy -- ./vcopy -n 1048576 -b 256",
        )
    require_no_launcher(options.command)
    require_runnable(options.command)


def _record(options: CollectOptions, folder: Path, chip: str) -> WorkloadRecord:
    """What the folder holds of this request already."""
    request = WorkloadRequest(
        options.written_command, chip, options.written_kernels, options.dispatches
    )
    record = opened_record(folder, request)
    if options.resume and not record.is_begun:
        raise UsageError(f"there is nothing to resume in {folder}")
    return record


def _missing_passes(
    rocprofv3: Path, plan: CounterPlan, record: WorkloadRecord
) -> list[CounterPass]:
    """The passes that are to be run; counters that rocprofv3 does not know are noted instead."""
    collected = record.collected()
    passes = plan.passes(collected)
    wanted = sorted({counter for each in passes for counter in each.counters})
    unknown = unknown_counters(wanted, known_counters(rocprofv3), plan.chip)
    if unknown:
        passes = plan.passes({*collected, *unknown})
    record.unknown = sorted({*unknown, *record.unknown} - (set(wanted) - set(unknown)))
    complete = [name for name, each in record.passes.items() if each.complete]
    names = free_pass_names([each.name for each in passes], complete)
    return [each._replace(name=name) for each, name in zip(passes, names, strict=True)]


def _sampling(
    options: CollectOptions, plan: CounterPlan, record: WorkloadRecord
) -> PcSampling | None:
    """How program counters are to be sampled, if they are and were not yet."""
    method, interval = options.pc_sampling_method, options.pc_sampling_interval
    if not plan.samples:
        if method or interval:
            raise UsageError("program counters are not sampled", hint="-b 21 asks for it")
        return None
    if is_sampled(record.samples, method, interval):
        return None
    return pc_sampling(plan.chip, method, interval)


def _folder(options: CollectOptions, agent: GpuAgent, warn: Tell) -> Path:
    rank = launcher_rank(os.environ)
    around = Surroundings(gpu_model(agent), socket.gethostname(), rank, os.environ)
    if options.name and options.output_directory:
        warn("--output-directory is given: -n only names the workload")
    return workload_folder(options.name, options.output_directory, around)


def _warn_of_ranks(runs: int, warn: Tell) -> None:
    rank = launcher_rank(os.environ)
    if runs > 1 and rank.world_size > 1 and rank.rank == 0:
        warn(
            f"{rank.world_size} ranks run the program in {runs} passes, each rank on its own: a "
            "job that cannot be repeated so needs one pass: --iteration-multiplexing, or --set"
        )


def _request(options: CollectOptions, folder: Path, agent: GpuAgent) -> PassRequest:
    row = system_row(Workload("", options.command, ()), agent, Machine())
    dies, channels = int(row["num_xcd"]), int(row["total_l2_chan"])
    return PassRequest(
        command=options.command,
        folder=folder,
        chip=agent.chip,
        channels=ChannelLayout(dies, channels // dies),
        kernels=options.kernels,
        kernel=options.kernel,
        iterations=options.dispatches,
        as_rocpd=options.as_rocpd,
        keep_raw=options.keep_raw,
        torch=options.torch_trace,
        attachment=options.attachment,
    )


def _able_request(rocprofv3: Path, request: PassRequest) -> PassRequest:
    """The request with the options that this rocprofv3 has; refused when it lacks one."""
    abilities = require_able(rocprofv3, request)
    if request.attachment is None or SYNC_OPTION not in abilities:
        return request
    return replace(request, attachment=replace(request.attachment, waits_for_files=True))


def _write_about(folder: Path, options: CollectOptions, agent: GpuAgent) -> None:
    """Write down what is measured on which machine, and the options as ROCm Compute Profiler does.

    The format is what the joined file has, which is a row for each dispatch either way.
    """
    command = options.written_command
    workload = Workload(options.name or folder.name, command, options.blocks or ("all",))
    row = system_row(workload, agent, Machine())
    (folder / SYSTEM_FILE).write_text(system_csv(row), encoding="utf-8")
    written: dict[str, object] = {
        "filter_blocks": list(options.blocks),
        "filter_metrics": list(options.blocks),
        "format_rocprof_output": "csv",
        "iteration_multiplexing": options.multiplexing or None,
        "kernel": list(options.written_kernels),
        "dispatch": list(options.dispatches),
        "set_selected": options.metric_set,
        "roof_only": options.roof_only,
        "no_roof": not options.ceilings,
        "torch_trace": options.torch_trace,
        "device": options.device,
        "name": options.name,
        "remaining": shlex.join(command),
    }
    write_options(folder, written)


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
    rows = write_operators(folder, {name: each.dispatches for name, each in record.passes.items()})
    why = without_ranges_because(command) or "does the program import torch?"
    return [] if rows else [f"no PyTorch operator was seen: {why}"]


def _measure_ceilings(options: CollectOptions, folder: Path, tell: Tell) -> list[str]:
    target = folder / CEILINGS_FILE
    if target.is_file():
        return []
    tell("measuring ceilings")
    try:
        with opened_gpu(options.device) as gpu:
            measured = measure(gpu, CeilingOptions(), no_progress)
    except MachineError as error:
        return [f"ceilings were not measured: {error}"]
    target.write_text(ceilings_text({options.device: measured}), encoding="utf-8")
    return []
