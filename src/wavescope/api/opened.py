"""Traces that are opened, whole or a part of them, as all functions of the interface do it:

def summary(trace, options=None, *, selection=None, **where: Unpack[Where]):
    with opened(trace, selection, where) as chosen:    # summary("trace.db", marker="decode")
        ...
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import takewhile
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, TypedDict

from wavescope.errors import UsageError
from wavescope.formats import open_trace
from wavescope.model.paths import PathLike
from wavescope.model.progress import Tell
from wavescope.model.result import Result
from wavescope.model.selection import Selection, trace_span
from wavescope.model.selection import select as selected_part
from wavescope.model.trace import Trace
from wavescope.units import count_text, counted

if TYPE_CHECKING:
    from typing_extensions import Unpack


_NO_OPS_LEFT = "no GPU op passes the filters: `wavescope info` shows what the trace holds"
_NO_OPS = "there are no GPU ops in the trace: `wavescope info` shows what it holds"


class Where(TypedDict, total=False):
    """The conditions of a `Selection` as keywords of a function."""

    start: str
    end: str
    gpus: int | Sequence[int]
    processes: int | Sequence[int]
    ranks: int | Sequence[int]
    kernel: str
    marker: str


def selection_of(selection: Selection | None, where: Where) -> Selection:
    """`selection` with the conditions of `where` in place of its own."""
    given: dict[str, Any] = dict(where)
    for name in ("gpus", "processes", "ranks"):
        if name in given:
            numbers = given[name]
            given[name] = (numbers,) if isinstance(numbers, int) else tuple(numbers)
    return replace(selection or Selection(), **given)


@contextmanager
def opened(
    trace: Trace | PathLike, selection: Selection | None = None, where: Where | None = None
) -> Iterator[Trace]:
    """The chosen part of a trace; one that is named by its path is closed again."""
    chosen = selection_of(selection, where or {})
    if isinstance(trace, Trace):
        yield selected_part(trace, chosen)
        return
    with open_trace(trace) as whole:
        yield selected_part(whole, chosen)


def concluded(result: Result, parts: Sequence[Trace], selection: Selection, tell: Tell) -> Result:
    """The result with its selection and origin of times; tells where a part has no ops.

    To be asked after the analysis, which reads all the columns it needs in one pass.
    """
    if not all(len(part.ops) for part in parts):
        tell_no_ops(selection, tell)
    if len(parts) == 1:
        result = result.with_origin(lambda: trace_span(parts[0].whole)[0])
    return result.with_facts(selection.facts)


def tell_shortcomings(traces: Sequence[Trace], selection: Selection, tell: Tell) -> None:
    """Tell that there is nothing to see, and what readers skipped or repaired."""
    if not any(len(trace.ops) for trace in traces):
        tell_no_ops(selection, tell)
    for trace in traces:
        for sentence, count in trace.notes:
            tell(f"{sentence}: {count_text(count)}")


def tell_no_ops(selection: Selection, tell: Tell) -> None:
    """Tell why there is nothing to see: the filters, or the trace itself."""
    tell(_NO_OPS if selection.is_everything else _NO_OPS_LEFT)


def with_notes(result: Result, traces: Sequence[Trace]) -> Result:
    """The result, and a finding for everything that readers skipped or repaired."""
    from wavescope.analyze.quick_findings import input_repaired  # noqa: PLC0415

    return result.with_findings(finding for trace in traces for finding in input_repaired(trace))


def paths_of(given: PathLike | Sequence[PathLike]) -> list[Path]:
    """One path or many, as a list that is not empty."""
    paths = [given] if isinstance(given, str | os.PathLike) else list(given)
    if not paths:
        raise UsageError("no path was given")
    return [Path(path) for path in paths]


def labels_of(paths: Sequence[PurePath], labels: Sequence[str]) -> list[str]:
    """What the traces are called: as told, else by file, with folders where files are alike.

    One file given twice is numbered.
    """
    if labels:
        if len(labels) != len(paths):
            raise UsageError(
                f"{counted(len(labels), 'label')} for {counted(len(paths), 'trace')}",
                hint="give a label for each trace, in the same order",
            )
        return list(labels)
    names = [path.name for path in paths]
    if len(set(names)) == len(names):
        return names
    levels = zip(*(path.parts[:-1] for path in paths), strict=False)
    shared = sum(1 for _ in takewhile(lambda level: len(set(level)) == 1, levels))
    names = [str(PurePath(*path.parts[shared:])) for path in paths]
    before = [names[:place].count(name) for place, name in enumerate(names)]
    return [
        f"{name} ({count + 1})" if count else name
        for name, count in zip(names, before, strict=True)
    ]


def open(  # noqa: A001  reads as wavescope.open(...)
    path: PathLike, *, counter_instances: bool = False
) -> Trace:
    """The trace at `path`, in any known format; columns are loaded when first used.

    With `counter_instances` hardware counters are by instance of their block, not summed up.
    """
    return open_trace(path, counter_instances=counter_instances)


def select(trace: Trace, selection: Selection | None = None, **where: Unpack[Where]) -> Trace:
    """A part of a trace, which is a trace: `select(trace, marker="decode", gpus=0)`."""
    return selected_part(trace, selection_of(selection, where))
