"""The closing words of a recording: top kernels, utilization, coverage, files, next commands."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from wavescope.analyze.summary.coverage_sentence import coverage_sentence
from wavescope.analyze.summary.kernel_summary import KernelSummaryOptions, kernel_summary
from wavescope.analyze.summary.overview import marker_list
from wavescope.analyze.summary.utilization import utilization
from wavescope.cli.outputs import size_of, stdout_bytes
from wavescope.cli.progress import Progress
from wavescope.cli.terminal import say, terminal_width, wants_color
from wavescope.collect.recording.options import RecordOptions
from wavescope.collect.recording.recorder import Recording
from wavescope.formats import open_source, open_trace
from wavescope.formats.exporter import ExportOptions
from wavescope.formats.exporters import exporter_for
from wavescope.formats.write_output import write_output
from wavescope.model.result import Result, ResultTable
from wavescope.render.json_text import write_json
from wavescope.render.text import TextStyle, write_text
from wavescope.units import bytes_text, count_text

if TYPE_CHECKING:
    from wavescope.model.trace import Trace

_TOP_KERNELS = 5
_KERNEL_COLUMNS = ("name", "calls", "total_ns", "percent", "mean_ns")
_MARKER_COLUMNS = ("marker", "occurrences", "total_ns")
_GPU_COLUMNS = ("gpu", "op_count", "span_ns", "busy_ns", "busy_percent")


@dataclass(frozen=True)
class Told:
    """What there is to tell."""

    options: RecordOptions
    recording: Recording
    all_ranks: str
    """How to spell the traces of all ranks, for the first of several; else nothing."""
    timeline: Path | None


def write_timeline(trace: Path, timeline: Path, *, force: bool, quiet: bool) -> None:
    """Write the Perfetto file of a trace."""
    source = open_source(trace)
    try:
        with Progress(f"writing {timeline.name}", quiet=quiet) as progress:
            exporter = exporter_for(timeline, "perfetto")
            write_output(
                exporter,
                source,
                timeline,
                [trace],
                ExportOptions(gzip=timeline.name.endswith(".gz")),
                force=force,
                progress=progress,
            )
    finally:
        source.close()


def tell_recording(told: Told, *, quiet: bool, as_json: bool) -> None:
    """Say on standard error what was recorded; as JSON on standard output if asked."""
    assert told.recording.output is not None
    with open_trace(told.recording.output) as trace:
        result = _result(trace, told)
    if as_json:
        write_json(result, stdout_bytes())
    if quiet:
        return
    coverage = str(result.facts.pop("coverage"))
    result.facts = {}
    result.title = ""
    if any(table.rows for table in result.tables):
        sys.stdout.flush()
        write_text(result, sys.stderr, TextStyle(terminal_width(), wants_color(sys.stderr)))
    say(f"coverage: {coverage}")
    _tell_troubles(told.recording)
    _tell_files(told)


def _result(trace: Trace, told: Told) -> Result:
    result = Result("Recording")
    result.facts = {
        "path": str(told.recording.output),
        "program_end": told.recording.end.words,
        "exit_code": told.recording.end.exit_code,
        "op_count": len(trace.ops),
        "marker_count": len(trace.markers),
        "call_count": len(trace.calls),
        "coverage": coverage_sentence(trace),
    }
    if len(trace.ops):
        kernels = kernel_summary(trace, KernelSummaryOptions()).tables[0]
        result.tables.append(_narrow(kernels.head(_TOP_KERNELS), _KERNEL_COLUMNS))
        result.tables.append(_narrow(utilization(trace).tables[0], _GPU_COLUMNS))
    if len(trace.markers):
        markers = marker_list(trace)
        result.tables.append(
            _narrow(markers.head(_TOP_KERNELS), ("marker", "occurrences", "total_ns"))
        )
    result.tables = [table for table in result.tables if table.rows]
    return result


def _narrow(table: ResultTable, names: tuple[str, ...]) -> ResultTable:
    """Only the columns that a first look needs."""
    kept = [index for index, column in enumerate(table.columns) if column.name in names]
    columns = tuple(table.columns[index] for index in kept)
    rows = [tuple(row[index] for index in kept) for row in table.rows]
    return ResultTable(table.name, table.title, columns, rows, table.total_rows)


def _tell_troubles(recording: Recording) -> None:
    for sentence, count in recording.notes:
        say(f"{sentence}: {count_text(count)}" if count > 1 else sentence, label="note")
    if recording.running:
        tell_running(recording)


def tell_running(recording: Recording) -> None:
    """Say which processes go on, where they record, and how to get at that."""
    pids = ", ".join(str(pid) for pid in recording.running)
    session = shlex.quote(str(recording.kept_session))
    say(f"still running, and recorded into {session}: process {pids}", label="note")
    say(f"wavescope recover {session} makes a trace of all there is, now or later", label="hint")


def _tell_files(told: Told) -> None:
    output = told.options.output
    for path in (output, told.timeline, told.recording.kept_session):
        if path is not None:
            say(f"wrote {path} ({bytes_text(size_of(path))})")
    spelled = shlex.quote(str(output))
    say(f"next: wavescope summary {spelled}")
    if told.timeline is None:
        say(f"      wavescope convert {spelled}          # for https://ui.perfetto.dev")
    else:
        say(f"      open {told.timeline} at https://ui.perfetto.dev")
    if told.all_ranks:
        say(f"      wavescope merge {told.all_ranks} -o all.db          # all ranks in one")
