"""What the functions of the interface share: inputs by path or object, notes as findings."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from wavescope.errors import UsageError
from wavescope.formats import open_trace
from wavescope.model.result import Result
from wavescope.model.selection import Selection, select
from wavescope.model.trace import Trace

PathLike = str | os.PathLike[str]


@contextmanager
def opened(trace: Trace | PathLike, selection: Selection | None = None) -> Iterator[Trace]:
    """The chosen part of a trace; one that is named by its path is closed again."""
    chosen = selection or Selection()
    if isinstance(trace, Trace):
        yield select(trace, chosen)
        return
    with open_trace(trace) as whole:
        yield select(whole, chosen)


def with_notes(result: Result, traces: Sequence[Trace]) -> Result:
    """The result, and a finding for everything that readers skipped or repaired."""
    from wavescope.analyze.findings.input_repaired import input_repaired  # noqa: PLC0415

    notes = (finding for trace in traces for finding in input_repaired(trace))
    return result.with_findings(notes)


def paths_of(given: PathLike | Sequence[PathLike]) -> list[Path]:
    """One path or many, as a list that is not empty."""
    paths = [given] if isinstance(given, str | os.PathLike) else list(given)
    if not paths:
        raise UsageError("no path is given")
    return [Path(path) for path in paths]
