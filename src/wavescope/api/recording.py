"""Recording programs: as `wavescope trace`, `run`, `attach`, `snapshot`, `recover`, `pause` do.

What records is imported when it is used: the help of these commands need not wait for NumPy.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from wavescope.collect import AttachOptions, RecordOptions
from wavescope.model.progress import Progress, Tell, no_progress, tell_nobody
from wavescope.model.result import Result, ResultTable, Value

if TYPE_CHECKING:
    from wavescope.collect.recording import DormantRun, RecordedRun, Recording
    from wavescope.collect.windows import Attached, Snapshot
    from wavescope.model.paths import PathLike
    from wavescope.model.trace import Trace

_TOP_ROWS = 5
_KERNEL_COLUMNS = (
    "name",
    "calls",
    "total_ns",
    "percent",
    "mean_ns",
    # of sampled traces
    "low_percent",
    "high_percent",
    "estimated_total_ns",
)
_GPU_COLUMNS = (
    "gpu",
    "op_count",
    "span_ns",
    "busy_ns",
    "busy_percent",
    "busy_low_percent",
    "busy_high_percent",
)
_MARKER_COLUMNS = ("marker", "occurrences", "total_ns")


@dataclass(frozen=True)
class Recovered:
    """The trace of a recording whose recorder died."""

    output: Path
    notes: tuple[tuple[str, int], ...]
    """What the reader of its records skipped or repaired."""


def record(
    command: RecordOptions | Sequence[str],
    *,
    tell: Tell = tell_nobody,
    warn: Tell = tell_nobody,
    progress: Progress = no_progress,
) -> Recording:
    """Run a program, record what its GPUs do, and write the trace; what came of it.

    The program's streams are those of this process, and signals to this process reach it.
    """
    run = run_recorded(command, tell=tell, warn=warn)
    recording = write_recording(run, progress)
    write_timeline(run, recording)
    return recording


def run_recorded(
    command: RecordOptions | Sequence[str],
    *,
    tell: Tell = tell_nobody,
    warn: Tell = tell_nobody,
) -> RecordedRun:
    """Run the program; `write_recording` makes the trace. `tell` and `warn` hear sentences."""
    from wavescope.collect.recording import run_recorded as recorded_program  # noqa: PLC0415

    return recorded_program(_options(command), os.environ, tell=tell, warn=warn)


def write_recording(run: RecordedRun, progress: Progress = no_progress) -> Recording:
    """Write the trace of a program that ran; nothing is written where nothing was recorded."""
    from wavescope.collect.recording import merged  # noqa: PLC0415

    return merged(run, progress)


def write_timeline(
    run: RecordedRun, recording: Recording, progress: Progress = no_progress
) -> None:
    """Write the Perfetto timeline that the options of the run ask for, if they do."""
    from wavescope.formats import (  # noqa: PLC0415
        ExportOptions,
        exporter_for,
        open_source,
        write_source,
    )

    timeline = run.options.timeline
    if timeline is None or recording.output is None:
        return
    with closing(open_source(recording.output)) as source:
        write_source(
            source,
            timeline,
            exporter_for(timeline, "perfetto"),
            ExportOptions(gzip=timeline.name.endswith(".gz")),
            inputs=[recording.output],
            force=run.options.force,
            progress=progress,
        )


def run_dormant(
    command: RecordOptions | Sequence[str],
    *,
    tell: Tell = tell_nobody,
    warn: Tell = tell_nobody,
) -> DormantRun:
    """Run a program that is recorded only while somebody is attached to it; how it ended."""
    from wavescope.collect.recording import run_dormant as dormant_program  # noqa: PLC0415

    return dormant_program(_options(command), os.environ, tell=tell, warn=warn)


def attach(
    process: AttachOptions | int,
    *,
    begun: Callable[[], None] = lambda: None,
    progress: Progress = no_progress,
) -> Attached:
    """Record a window of a dormant program into a trace, and let it run on.

    `begun` is called when recording has begun; an interruption (Ctrl-C) ends the window early.
    """
    from wavescope.collect.windows import attach as attached_window  # noqa: PLC0415

    options = AttachOptions(process) if isinstance(process, int) else process
    return attached_window(options, os.environ, progress, begun)


def snapshot(
    process: int,
    output: PathLike = "snapshot.db",
    *,
    force: bool = False,
    progress: Progress = no_progress,
) -> Snapshot:
    """Write a trace of what the recording of a process has so far, while it goes on."""
    from wavescope.collect.windows import snapshot as taken_snapshot  # noqa: PLC0415

    return taken_snapshot(process, Path(output), os.environ, force=force, progress=progress)


def recover(
    session: PathLike,
    output: PathLike = "recovered.db",
    *,
    force: bool = False,
    progress: Progress = no_progress,
) -> Recovered:
    """Write the trace of a session folder that a recorder left behind when it died."""
    from wavescope.collect.recording import recovered  # noqa: PLC0415

    notes = recovered(Path(session), Path(output), force=force, progress=progress)
    return Recovered(Path(output), notes)


def pause_process(process: int) -> tuple[int, ...]:
    """Pause the recording of a running process and of those below it; their process ids."""
    from wavescope.collect.windows import set_process_recording  # noqa: PLC0415

    return set_process_recording(process, os.environ, recording=False)


def resume_process(process: int) -> tuple[int, ...]:
    """Resume the recording of a running process and of those below it; their process ids."""
    from wavescope.collect.windows import set_process_recording  # noqa: PLC0415

    return set_process_recording(process, os.environ, recording=True)


def recording_result(recording: Recording) -> Result:
    """A first look at what was recorded: top kernels, GPUs, markers, coverage."""
    from wavescope.formats import open_trace  # noqa: PLC0415

    assert recording.output is not None
    with open_trace(recording.output) as trace:
        facts: dict[str, Value] = {
            "path": str(recording.output),
            "program_end": recording.end.words,
            "exit_code": recording.end.exit_code,
            **_counts(trace),
        }
        return Result("Recording", _first_tables(trace), facts=facts)


def part_result(part: Attached | Snapshot) -> Result:
    """What is in the trace of a part of a recording."""
    from wavescope.collect.windows import Attached  # noqa: PLC0415
    from wavescope.formats import open_trace  # noqa: PLC0415

    window = (part.start_ns, part.end_ns) if isinstance(part, Attached) else (None, None)
    with open_trace(part.output) as trace:
        facts: dict[str, Value] = {
            "path": str(part.output),
            "pids": ", ".join(map(str, part.pids)),
            "window_start_ns": window[0],
            "window_end_ns": window[1],
            **_counts(trace),
        }
    return Result("Recording", facts=facts)


def _options(command: RecordOptions | Sequence[str]) -> RecordOptions:
    return command if isinstance(command, RecordOptions) else RecordOptions(tuple(command))


def _counts(trace: Trace) -> dict[str, Value]:
    from wavescope.analyze.ops.coverage import (  # noqa: PLC0415
        coverage_sentence,
        sampled_facts,
    )

    return {
        **sampled_facts(trace),
        "op_count": len(trace.ops),
        "marker_count": len(trace.markers),
        "call_count": len(trace.calls),
        "coverage": coverage_sentence(trace),
    }


def _first_tables(trace: Trace) -> list[ResultTable]:
    from wavescope.analyze.contents import marker_list  # noqa: PLC0415
    from wavescope.analyze.summary import (  # noqa: PLC0415
        KernelSummaryOptions,
        kernel_summary,
        utilization,
    )

    tables = []
    if len(trace.ops):
        kernels = kernel_summary(trace, KernelSummaryOptions()).tables[0]
        tables.append(kernels.head(_TOP_ROWS).with_only_columns(_KERNEL_COLUMNS))
        tables.append(utilization(trace).tables[0].with_only_columns(_GPU_COLUMNS))
    if len(trace.markers):
        tables.append(marker_list(trace).head(_TOP_ROWS).with_only_columns(_MARKER_COLUMNS))
    return [table for table in tables if table.rows]
