"""The Python interface: what `import wavescope` offers, documented in docs/python.md."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from wavescope.analyze.compare.comparison import CompareOptions
from wavescope.analyze.compare.comparison import compare as compare_traces
from wavescope.analyze.findings.find_all import find as find_all
from wavescope.analyze.phases.phase_tables import PhaseTableOptions, phase_tables
from wavescope.analyze.trace_summary import SummaryOptions, summarize
from wavescope.errors import UsageError
from wavescope.export.exporter import ExportOptions
from wavescope.export.output import write_output
from wavescope.export.registry import exporter_for
from wavescope.load import open_source, open_trace, selected_source
from wavescope.model.result import Finding, Result
from wavescope.model.selection import Selection
from wavescope.model.trace import Trace
from wavescope.store.merge_plan import RankFrom
from wavescope.store.output import replaced, require_free
from wavescope.store.sqlite_writer import no_progress, write_trace

PathLike = str | os.PathLike[str]


def open(path: PathLike) -> Trace:  # noqa: A001  reads as wavescope.open(...)
    """The trace at `path`, in any known format; columns are loaded when first used."""
    return open_trace(path)


def summary(trace: Trace | PathLike, options: SummaryOptions | None = None) -> Result:
    """Kernels, utilization, gaps, copies, host calls and findings of a trace."""
    if isinstance(trace, Trace):
        return summarize(trace, options or SummaryOptions())
    with open_trace(trace) as opened:
        return summarize(opened, options or SummaryOptions())


def phases(trace: Trace | PathLike, options: PhaseTableOptions | None = None) -> Result:
    """What each marked phase of a trace did: times, ops, top kernels."""
    if isinstance(trace, Trace):
        return phase_tables(trace, options)
    with open_trace(trace) as opened:
        return phase_tables(opened, options)


def compare(traces: Sequence[Trace | PathLike], options: CompareOptions | None = None) -> Result:
    """What changed from the first trace to each of the others, and which parts account for it."""
    if len(traces) < 2:
        raise UsageError("at least two traces are compared")
    with ExitStack() as stack:
        opened = [
            trace if isinstance(trace, Trace) else stack.enter_context(open_trace(trace))
            for trace in traces
        ]
        return compare_traces(opened, options)


def find(trace: Trace | PathLike) -> list[Finding]:
    """What is worth changing, the gravest first, each with its numbers, SQL and next step."""
    if isinstance(trace, Trace):
        return find_all(trace)
    with open_trace(trace) as opened:
        return find_all(opened)


def convert(
    path: PathLike,
    output: PathLike,
    *,
    format: str = "",  # noqa: A002  named as on the command line
    selection: Selection | None = None,
    force: bool = False,
) -> Path:
    """Write the trace at `path` to `output`, in the format its suffix or `format` names."""
    target = Path(output)
    exporter = exporter_for(target, format)
    require_free(target, [Path(path)], force=force)
    options = ExportOptions(gzip=target.name.endswith(".gz"))
    with closing(open_source(path)) as source:
        chosen = selected_source(source, selection or Selection())
        write_output(
            exporter, chosen, target, [Path(path)], options, force=force, progress=no_progress
        )
    return target


def merge(
    paths: Sequence[PathLike],
    output: PathLike,
    *,
    rank_from: RankFrom = RankFrom.NOWHERE,
    force: bool = False,
) -> Path:
    """Write the traces at `paths` into one trace file, losing nothing."""
    target = Path(output)
    with ExitStack() as stack:
        inputs = [Path(path) for path in paths]
        temporary = stack.enter_context(replaced(target, inputs, force=force))
        sources = [stack.enter_context(closing(open_source(path))) for path in paths]
        write_trace(sources, temporary, rank_from=rank_from)
    return target


def report(
    traces: PathLike | Sequence[PathLike],
    output: PathLike,
    *,
    labels: Sequence[str] = (),
    title: str = "",
    force: bool = False,
) -> Path:
    """Write one page of HTML that shows a trace, or compares several with the first."""
    from wavescope.render.html.page import write_page  # noqa: PLC0415  slow to import
    from wavescope.render.html.trace_pages import trace_page  # noqa: PLC0415

    target = Path(output)
    given = [traces] if isinstance(traces, str | os.PathLike) else list(traces)
    inputs = [Path(path) for path in given]
    require_free(target, inputs, force=force)
    with ExitStack() as stack:
        opened = [stack.enter_context(open_trace(path)) for path in given]
        page = trace_page(opened, list(labels) or [path.name for path in inputs], title)
        temporary = stack.enter_context(replaced(target, inputs, force=force))
        with temporary.open("w", encoding="utf-8") as stream:
            write_page(page, stream)
    return target
