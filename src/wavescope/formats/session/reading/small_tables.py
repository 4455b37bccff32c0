"""The tables of few rows: processes, threads, GPUs, queues, slices and the run's facts."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import PurePath

import numpy as np

from wavescope.formats.session.layout import SKIP_OUTSIDE_SLICES
from wavescope.formats.session.reading.coverage_rows import counter_records
from wavescope.formats.session.reading.facts import ClockPair, Fact, address, integer, text, words
from wavescope.formats.session.reading.numbering import NumberedQueue, Numbering
from wavescope.formats.session.reading.process import ProcessChunks
from wavescope.model.builder import TraceBuilder
from wavescope.model.columns import (
    AGENTS,
    METADATA,
    PROCESSES,
    QUEUES,
    SLICES,
    THREADS,
    UNKNOWN,
)
from wavescope.model.slices import slice_rows
from wavescope.units import bytes_text, duration_text


def add_processes(builder: TraceBuilder, processes: Sequence[ProcessChunks], origin: str) -> None:
    """One row for each process, and its named threads."""
    for index, process in enumerate(processes):
        facts = process.facts.process
        builder.add_row(
            PROCESSES,
            pid=process.pid,
            parent_pid=integer(facts, "ppid"),
            rank=integer(facts, "rank"),
            world_size=integer(facts, "world_size"),
            host=process.host,
            name=_program(text(facts, "command")),
            command=text(facts, "command"),
            start_ns=process.start_ns,
            end_ns=process.end_ns,
            origin=origin,
        )
        for thread, name in process.facts.threads.items():
            if name:
                builder.add_row(THREADS, process=index, thread=thread, name=name)


def add_agents(
    builder: TraceBuilder, processes: Sequence[ProcessChunks], numbering: Numbering
) -> None:
    """One row for each GPU, as the first process that describes it does."""
    described: set[int] = set()
    for process, gpus in zip(processes, numbering.gpus, strict=True):
        for local, gpu in gpus.items():
            agent = process.facts.agents.get(local)
            if agent is None or gpu in described:
                continue
            described.add(gpu)
            seen_by = numbering.seen_by[gpu]
            builder.add_row(
                AGENTS,
                gpu=gpu,
                process=next(iter(seen_by)) if len(seen_by) == 1 else UNKNOWN,
                local_index=local,
                host=process.host,
                uuid=text(agent, "uuid"),
                chip=text(agent, "name"),
                model=text(agent, "product"),
                **{
                    member: integer(agent, member)
                    for member in ("cu_count", "clock_mhz", "wave_size", "memory_bytes")
                },
            )


def add_queues(
    builder: TraceBuilder, processes: Sequence[ProcessChunks], numbering: Numbering
) -> None:
    """A name for each queue, with the process where there are several."""
    for row in numbering.queues:
        name = _queue_name(processes[row.process], row)
        if len(processes) > 1:
            name += f" of process {processes[row.process].pid}"
        builder.add_row(QUEUES, gpu=row.gpu, queue=row.queue, name=name)


def _queue_name(process: ProcessChunks, row: NumberedQueue) -> str:
    """As the process calls it, else by its number; streams are numbered within their context."""
    if row.recorded.is_copy:
        return row.recorded.name
    stated = process.facts.queues.get(row.recorded.index, {})
    name, context = text(stated, "name"), integer(stated, "context")
    if not name:
        return row.recorded.name
    contexts = {
        integer(fact, "context")
        for fact in process.facts.queues.values()
        if text(fact, "name") == name and integer(fact, "gpu") == row.recorded.gpu
    }
    return f"{name} of context {context}" if len(contexts) > 1 else name


def add_slices(builder: TraceBuilder, processes: Sequence[ProcessChunks]) -> None:
    """The times at which every kernel was recorded, of processes that were recorded in slices.

    One that ended before its first slice was over has an empty one.
    """
    for index, process in enumerate(processes):
        pairs = process.facts.slices
        if not pairs and _skipped_outside_slices(process):
            pairs = [(process.start_ns, process.start_ns)]
        if pairs:
            starts, ends = np.array(pairs, np.int64).T
            window = (process.window.start_ns, process.window.end_ns) if process.window else None
            builder.add(SLICES, slice_rows(index, starts, ends, window))


def _skipped_outside_slices(process: ProcessChunks) -> bool:
    return any(record["skipped"][SKIP_OUTSIDE_SLICES] for record in counter_records(process))


def add_metadata(
    builder: TraceBuilder,
    processes: Sequence[ProcessChunks],
    numbering: Numbering,
    session: Mapping[str, str],
) -> None:
    """Facts of the run: of the recorder, of the first process, and what differs in others."""
    known = dict(session)
    for process in processes:
        for tag, value in _process_facts(process).items():
            if value and known.setdefault(tag, value) != value:
                known.setdefault(f"process {process.pid}: {tag}", value)
    cut_off = [str(process.pid) for process in processes if process.is_cut_off]
    for pid in cut_off:
        builder.notes.add(f"the recording of process {pid} was cut off")
    if cut_off:
        known["cut_off_processes"] = ", ".join(cut_off)
    for process in processes:
        if process.is_running and process.window is None:
            builder.notes.add(f"process {process.pid} is still being recorded")
    for process, gpus in zip(processes, numbering.gpus, strict=True):
        for local, clock in process.clocks.items():
            if clock.pairs and local in gpus:
                known.setdefault(f"clock of GPU {gpus[local]}", _spelled_clock(clock.pairs))
    for tag, value in known.items():
        builder.add_row(METADATA, tag=tag, value=value)


def _process_facts(process: ProcessChunks) -> dict[str, str]:
    facts = process.facts.process
    found = {
        "command": text(facts, "command"),
        "host": process.host,
        "mode": process.mode,
        "collector_version": text(facts, "collector_version"),
        "environment_names": " ".join(sorted(words(facts, "environment"))),
    }
    for runtime in process.facts.runtimes:
        name = f"runtime {text(runtime, 'name')}"
        found[name] = _spelled_runtime(runtime)
        found[f"{name}: limits"] = "; ".join(words(runtime, "limits"))
        found[f"{name}: interception"] = text(runtime, "interception")
    for label in process.facts.labels:
        what, identity = text(label, "what").replace("_", " "), address(label, "id")
        found[f"{what} {identity:#x}"] = text(label, "name")
    if process.facts.costs:
        found["collector_cost"] = _spelled_cost(process.facts.costs)
    if process.facts.end:
        found["end"] = text(process.facts.end, "reason")
    return found


def _spelled_runtime(runtime: Fact) -> str:
    """Which one it is, as far as it is known: the release, the versions, the file."""
    rocm, extension = text(runtime, "rocm"), text(runtime, "extension")
    version, driver = text(runtime, "version"), text(runtime, "driver")
    if extension:
        version += f" with AMD's extensions {extension}"
    if driver:
        version += f" with driver {driver}"
    if rocm:
        version = f"ROCm {rocm}, version {version}"
    return " ".join(filter(None, (version, text(runtime, "path"))))


def _spelled_cost(costs: Sequence[Fact]) -> str:
    """What the collector itself used."""
    totals = {
        member: sum(max(0, integer(cost, member)) for cost in costs)
        for member in ("worker_cpu_ns", "sweeps", "bytes")
    }
    used = duration_text(totals["worker_cpu_ns"])
    return f"{used} of CPU in {totals['sweeps']} sweeps, {bytes_text(totals['bytes'])} written"


def _spelled_clock(pairs: Sequence[ClockPair]) -> str:
    """The calibration at the start and at the end."""
    first, last = pairs[0], pairs[-1]
    text = f"{len(pairs)} readings, tick {first.ticks} at {first.ns} ns"
    if last == first:
        return text
    rate = (last.ticks - first.ticks) * 1e9 / (last.ns - first.ns)
    return f"{text} to tick {last.ticks} at {last.ns} ns, {rate:.3f} ticks/s"


def _program(command: str) -> str:
    """The name of the program in a command line."""
    try:
        parts = shlex.split(command)
    except ValueError:
        parts = command.split()
    return PurePath(parts[0]).name if parts else ""
