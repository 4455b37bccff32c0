"""What one trace says: its rows, summary, findings and report page."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from wavescope.api.opened import PathLike, opened, paths_of
from wavescope.formats import open_trace
from wavescope.formats.files import replaced, require_free
from wavescope.model.result import Finding, Result
from wavescope.model.selection import Selection
from wavescope.model.trace import Trace

if TYPE_CHECKING:
    from wavescope.analyze.summary.trace_summary import SummaryOptions


def open(path: PathLike) -> Trace:  # noqa: A001  reads as wavescope.open(...)
    """The trace at `path`, in any known format; columns are loaded when first used."""
    return open_trace(path)


def summary(
    trace: Trace | PathLike,
    options: SummaryOptions | None = None,
    *,
    selection: Selection | None = None,
) -> Result:
    """Kernels, utilization, gaps, copies, host calls and findings of a trace."""
    from wavescope.analyze.summary.trace_summary import SummaryOptions, summarize  # noqa: PLC0415

    with opened(trace, selection) as chosen:
        return summarize(chosen, options or SummaryOptions())


def find(trace: Trace | PathLike, *, selection: Selection | None = None) -> list[Finding]:
    """What is worth changing, the gravest first, each with its numbers, SQL and next step."""
    from wavescope.analyze.findings.find_all import find as find_all  # noqa: PLC0415

    with opened(trace, selection) as chosen:
        return find_all(chosen)


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
    inputs = paths_of(traces)
    require_free(target, inputs, force=force)
    with ExitStack() as stack:
        opened = [stack.enter_context(open_trace(path)) for path in inputs]
        page = trace_page(opened, list(labels) or [path.name for path in inputs], title)
        temporary = stack.enter_context(replaced(target, inputs, force=force))
        with temporary.open("w", encoding="utf-8") as stream:
            write_page(page, stream)
    return target
