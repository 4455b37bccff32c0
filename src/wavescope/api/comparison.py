"""What changed between traces, and whether repeated runs of a new version are slower."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from wavescope.analyze import compare as comparing
from wavescope.analyze.compare import CompareOptions, regression
from wavescope.analyze.compare.regression import CheckOptions
from wavescope.api.opened import (
    Where,
    concluded,
    opened,
    selection_of,
    with_notes,
)
from wavescope.errors import UsageError
from wavescope.model.paths import PathLike
from wavescope.model.progress import Tell, tell_nobody
from wavescope.model.result import Finding, Result
from wavescope.model.selection import Selection
from wavescope.model.trace import Trace

if TYPE_CHECKING:
    from typing_extensions import Unpack


def compare(
    traces: Sequence[Trace | PathLike],
    options: CompareOptions | None = None,
    *,
    captures: Sequence[Trace | PathLike] = (),
    selection: Selection | None = None,
    tell: Tell = tell_nobody,
    **where: Unpack[Where],
) -> Result:
    """What changed from the first trace to each of the others, and which parts account for it.

    `captures` are traces in which graphs were captured that any of them replays: replayed kernels
    have the operators of the capture that they fit.
    """
    if len(traces) < 2:
        raise UsageError(
            "at least two traces are needed to compare",
            hint="wavescope compare old.db new.db, or --base old*.db --new new*.db for a verdict",
        )
    chosen = selection_of(selection, where)
    with ExitStack() as stack:
        parts = [stack.enter_context(opened(trace, chosen)) for trace in traces]
        shown = tuple(stack.enter_context(opened(capture)) for capture in captures)
        result = comparing.compare(parts, _with_captures(options or CompareOptions(), shown))
        return concluded(with_notes(result, parts), parts, chosen, tell)


def _with_captures(options: CompareOptions, captures: tuple[Trace, ...]) -> CompareOptions:
    figures = options.figures
    if not captures:
        return options
    return replace(options, figures=replace(figures, captures=(*figures.captures, *captures)))


def check_runs(
    base: Sequence[Trace | PathLike],
    new: Sequence[Trace | PathLike],
    options: CheckOptions | None = None,
    *,
    selection: Selection | None = None,
    **where: Unpack[Where],
) -> Result:
    """Whether the runs of a new version are slower than those of the base.

    The fact `verdict` is pass, improvement, regression or inconclusive; the tables say why.
    """
    if not base or not new:
        raise UsageError(
            "a verdict needs the runs of both versions",
            hint="wavescope compare --base old1.db old2.db --new new1.db new2.db",
        )
    options = options or CheckOptions()
    selection = selection_of(selection, where)
    _require_distinct([*base, *new])
    notes: list[Finding] = []
    base_values, new_values = (
        [_run_values(run, options, selection, notes) for run in runs] for runs in (base, new)
    )
    renamed: Sequence[comparing.Rename] = ()
    if options.match_renamed and regression.may_be_renamed(base_values, new_values):
        with opened(base[0], selection) as first, opened(new[0], selection) as other:
            renamed = comparing.renamed_between(first, other, options.runs.figures)
    _, result = regression.check_regression(base_values, new_values, options, renamed)
    result = result.with_findings(notes).with_facts({"metric": options.runs.metric.value})
    return result.with_facts(selection.facts)


def _require_distinct(runs: Sequence[Trace | PathLike]) -> None:
    """A trace given twice is one run, and would make the noise look smaller than it is."""
    seen: set[str] = set()
    for run in runs:
        path = run.path if isinstance(run, Trace) else os.fspath(run)
        place = os.path.realpath(path)
        if place in seen:
            raise UsageError(
                f"{path} is given twice", hint="each run counts once: record another one"
            )
        seen.add(place)


def _run_values(
    run: Trace | PathLike,
    options: CheckOptions,
    selection: Selection | None,
    notes: list[Finding],
) -> regression.RunValues:
    """The values of one run; `notes` is told what its reader had to skip or repair.

    The trace is closed again, so that many runs need little memory.
    """
    with opened(run, selection) as trace:
        values = regression.run_values(trace, options.runs)
        notes += with_notes(Result(""), [trace]).findings
        return values
