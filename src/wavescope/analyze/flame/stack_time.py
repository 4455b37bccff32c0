"""Which time is added up by stack, and of which part of a trace."""

from __future__ import annotations

import enum
from collections.abc import Sequence

import numpy as np

from wavescope.analyze.flame.gpu_stacks import gpu_tree
from wavescope.analyze.flame.host_stacks import host_tree
from wavescope.analyze.flame.tree import FlameTree
from wavescope.analyze.operators import frame_text, module_kind
from wavescope.model.selection import Selection, select
from wavescope.model.trace import Trace


class StackTime(str, enum.Enum):
    """What a flame graph is of."""

    GPU = "gpu"
    """Durations of ops, by the stack of the call that launched each."""
    HOST = "host"
    """Time of host threads, by what they were in."""


def flame_tree(
    trace: Trace,
    of: StackTime = StackTime.GPU,
    selection: Selection | None = None,
    captures: Sequence[Trace] = (),
    *,
    by_kind: bool = False,
) -> FlameTree:
    """The time of the chosen part of `trace` by stack; `by_kind` with modules of a kind together.

    Ops count whole where they begin inside a window, as everywhere; of calls what is inside counts.
    """
    chosen = selection or Selection()
    named = _kind_text if by_kind else frame_text
    part = select(trace, chosen)
    if of is StackTime.GPU:
        return gpu_tree(part, captures, named)
    window = None if part.part_of is None else part.part_of.window
    # The part has no calls that begin before its window.
    processes = Selection(processes=chosen.processes, ranks=chosen.ranks)
    return host_tree(select(_with_earlier_calls(trace), processes), window, named)


def _kind_text(name: str) -> str:
    return frame_text(module_kind(name))


def _with_earlier_calls(trace: Trace) -> Trace:
    """Where `trace` is itself a part, all calls of its processes."""
    if trace.part_of is None:
        return trace
    calls = trace.whole.calls
    mine = np.isin(calls["process"], np.unique(trace.calls["process"]))
    return trace.whole.with_tables((calls.take(mine),))
