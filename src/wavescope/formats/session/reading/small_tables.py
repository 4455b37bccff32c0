"""The tables of few rows: processes, threads, GPUs, queues, coverage and the run's facts."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath

import numpy as np

from wavescope.formats.session.layout import (
    ALL_QUEUES,
    ANY_GPU,
    COPY_QUEUE,
    COUNTER_KIND,
    LOSS_REASONS,
    SKIP_FILTER,
    SKIP_OUTSIDE_SLICES,
    SKIP_REASONS,
    SKIP_REASONS_OF_CUDA,
    SKIP_SHARED_SIGNAL,
)
from wavescope.formats.session.reading.facts import ClockPair, Fact, address, integer, text, words
from wavescope.formats.session.reading.numbering import NumberedQueue, Numbering
from wavescope.formats.session.reading.op_rows import OpSurvey
from wavescope.formats.session.reading.process import (
    DROPPED_REASON,
    FALLEN_OUT_REASON,
    ProcessChunks,
    not_in_the_trace,
)
from wavescope.formats.session.record_file import RecordedQueue, queue_key
from wavescope.model.builder import TraceBuilder
from wavescope.model.columns import (
    AGENTS,
    COVERAGE,
    METADATA,
    PROCESSES,
    QUEUES,
    SLICES,
    THREADS,
    UNKNOWN,
)
from wavescope.model.slices import slice_rows
from wavescope.units import bytes_text, duration_text

_LITE = "lite"
_CUT_OFF_REASON = "not finished when the process was killed"
_RUNNING_REASON = "not finished yet"
_UNANSWERED_REASON = "not noted before the process ended: its machine was too busy"
_MOST_COUNT = (1 << 62) - 1


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
    return any(record["skipped"][SKIP_OUTSIDE_SLICES] for record in _counter_records(process))


def add_coverage(
    builder: TraceBuilder,
    processes: Sequence[ProcessChunks],
    surveys: Sequence[OpSurvey],
    numbering: Numbering,
) -> None:
    """What each queue's counters say; further reasons of one queue have rows of their own.

    Coverage is about dispatches: what is missing of copies becomes notes.
    """
    for index, (process, survey) in enumerate(zip(processes, surveys, strict=True)):
        timed = 0
        for record in _counter_records(process):
            if int(record["queue"]) == COPY_QUEUE:
                _note_copies(builder, process, record)
                continue
            gpu = numbering.gpus[index].get(int(record["gpu"]), int(record["gpu"]))
            key = queue_key(int(record["gpu"]), int(record["queue"]))
            queue = numbering.queue_numbers[index].get(key, UNKNOWN)
            filtered = _counted_at(survey.filtered, key)
            if not process.is_whole:
                # Counters are brought up to date after the records, and know of no window and of
                # nothing that was dropped.
                record["timed"] = _counted_at(survey.timed, key)
            else:
                record["timed"] -= min(filtered, int(record["timed"]))
            record["skipped"][SKIP_FILTER] += filtered
            record["seen"] = max(0, int(record["seen"]) - _counted_at(survey.beyond, key))
            timed += _count(record["timed"])
            missing = _missing(process, record, _older(process, survey, record, key))
            place: Place = {"process": index, "gpu": gpu, "queue": queue, "mode": process.mode}
            _add_counter(builder, record, missing, place)
        _add_dropped_elsewhere(builder, process, index)
        if timed > survey.dispatches:
            builder.notes.add(
                "dispatches that were timed, but whose records are not in the files",
                timed - survey.dispatches,
            )


def _counted_at(totals: Mapping[int, int], key: int) -> int:
    """What `totals`, by queue key, say of one queue, or of all queues of its GPU."""
    wanted = RecordedQueue.from_key(key)
    if wanted.is_copy or wanted.index != ALL_QUEUES:
        return totals.get(key, 0)
    return sum(
        count for each, count in totals.items() if RecordedQueue.from_key(each).gpu == wanted.gpu
    )


def _counter_records(process: ProcessChunks) -> Iterator[np.void]:
    window = process.window
    if window is not None and window.counters is not None:
        yield from window.counters[window.counters["kind"] == COUNTER_KIND].copy()
        return
    for block in process.counters.blocks() if process.counters else ():
        yield from block.records[block.records["kind"] == COUNTER_KIND].copy()


def _fallen_out(process: ProcessChunks, survey: OpSurvey, key: int) -> int:
    """Dispatches of a queue that were counted and recorded, but before the window."""
    if process.window is None or not process.window.is_newest_part:
        return 0
    return _counted_at(survey.before, key) + _counted_at(process.window.fallen_out, key)


def _note_copies(builder: TraceBuilder, process: ProcessChunks, record: np.void) -> None:
    for skipped, lost, reason in _missing(process, record, []):
        builder.notes.add(not_in_the_trace("copies", reason), skipped + lost)


def _older(
    process: ProcessChunks, survey: OpSurvey, record: np.void, key: int
) -> list[tuple[int, str]]:
    """How many dispatches of a queue are too old to be in the trace, by reason."""
    dropped = _counted_at(process.dropped_dispatches, key)
    if process.window is not None and not process.window.is_newest_part:
        # Some were of the time before the window, which did not count them.
        accounted = sum(int(record[name].sum()) for name in ("timed", "skipped", "lost"))
        dropped = min(dropped, max(0, int(record["seen"]) - accounted))
    older = [
        (_fallen_out(process, survey, key), FALLEN_OUT_REASON),
        (dropped, DROPPED_REASON),
    ]
    return [(count, reason) for count, reason in older if count]


def _add_dropped_elsewhere(builder: TraceBuilder, process: ProcessChunks, index: int) -> None:
    """Dispatches of more queues than the collector counts one by one what it drops."""
    count = process.dropped_dispatches.get(queue_key(ANY_GPU, ALL_QUEUES), 0)
    if count:
        builder.add_row(
            COVERAGE, process=index, mode=process.mode, skipped=count, reason=DROPPED_REASON
        )


def _missing(
    process: ProcessChunks, record: np.void, older: Sequence[tuple[int, str]]
) -> list[tuple[int, int, str]]:
    """How many were skipped and lost, by reason."""
    rows = [(count, 0, reason) for count, reason in older]
    is_of_cuda = int(record["queue"]) == ALL_QUEUES
    reasons = SKIP_REASONS_OF_CUDA if is_of_cuda else SKIP_REASONS
    if process.mode not in ("", _LITE):
        reasons = (SKIP_SHARED_SIGNAL, *reasons[1:])
    rows += [(count, 0, reason) for count, reason in _counts(record, "skipped", reasons)]
    rows += [(0, count, reason) for count, reason in _counts(record, "lost", LOSS_REASONS)]
    accounted = _count(record["timed"]) + sum(skipped + lost for skipped, lost, _ in rows)
    unfinished = _count(record["seen"]) - accounted
    if not process.is_settled and unfinished > 0:
        rows.append((0, unfinished, _unfinished_reason(process)))
    return rows


def _unfinished_reason(process: ProcessChunks) -> str:
    if process.is_running:
        return _RUNNING_REASON
    return _CUT_OFF_REASON if process.is_cut_off else _UNANSWERED_REASON


def _count(value: np.uint64) -> int:
    return min(int(value), _MOST_COUNT)


Place = dict[str, int | str]
"""Process, GPU and queue of a row, and how it was recorded."""


def _add_counter(
    builder: TraceBuilder,
    record: np.void,
    missing: Sequence[tuple[int, int, str]],
    place: Place,
) -> None:
    first, *more = missing or [(0, 0, "")]
    builder.add_row(
        COVERAGE,
        **place,
        seen=_count(record["seen"]),
        timed=_count(record["timed"]),
        skipped=first[0],
        lost=first[1],
        reason=first[2],
    )
    for skipped, lost, reason in more:
        builder.add_row(
            COVERAGE, **place, seen=0, timed=0, skipped=skipped, lost=lost, reason=reason
        )


def _counts(record: np.void, member: str, reasons: Sequence[str]) -> list[tuple[int, str]]:
    counts = [_count(count) for count in record[member]]
    return [(count, reason) for count, reason in zip(counts, reasons, strict=True) if count]


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
