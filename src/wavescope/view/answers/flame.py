"""Flame graphs of the page: of the whole trace, made once, or of a range of time."""

from __future__ import annotations

from functools import partial
from typing import Any

from wavescope.analyze.flame import FlameTree, StackTime, flame_tree
from wavescope.analyze.ops.coverage import sampled_facts
from wavescope.errors import UsageError
from wavescope.model.selection import Selection
from wavescope.render.results.json_text import json_bytes
from wavescope.view.answers.question import Answer, Asked
from wavescope.view.opening import TraceView

MOST_NODES = 20_000
"""More than a screen has room for; what is left out stays in the totals of what it is below."""


def flame(asked: Asked) -> Answer:
    """The tree of `of` (gpu or host), from `start` to `end` in ns from the first event if given.

    With `kinds=1` modules of a kind are together.
    """
    view = asked.view
    view.require_whole()  # until then an earlier event may be the first
    of = _stack_time(asked.text("of", StackTime.GPU.value))
    by_kind = asked.integer("kinds", 0) != 0
    if "start" not in asked.parameters and "end" not in asked.parameters:
        tree = view.derived(_WHOLE[of, by_kind])
        return Answer(json_bytes(_document(view, of, tree)))
    start, end = asked.integer("start"), asked.integer("end")
    if start >= end:
        raise UsageError("the range is empty")
    first_ns = view.loaded.first_ns
    part = Selection(start=str(first_ns + start), end=str(first_ns + end))
    with view.turn:
        tree = flame_tree(view.trace, of, part, by_kind=by_kind)
    return Answer(json_bytes(_document(view, of, tree)))


def _whole_tree(of: StackTime, by_kind: bool, view: TraceView) -> FlameTree:
    return flame_tree(view.trace, of, by_kind=by_kind)


_WHOLE = {
    (of, by_kind): partial(_whole_tree, of, by_kind)
    for of in StackTime
    for by_kind in (False, True)
}
"""Each is made once for a trace."""


def _stack_time(text: str) -> StackTime:
    try:
        return StackTime(text)
    except ValueError:
        raise UsageError("a flame graph is of gpu or of host time") from None


def _document(view: TraceView, of: StackTime, tree: FlameTree) -> dict[str, Any]:
    shown = tree.heaviest(MOST_NODES)
    return {
        "unit": "ns",
        "of": of.value,
        "total": tree.total_ns[0],
        "names": shown.names,
        "nodes": {
            "parent": shown.parent,
            "name": shown.name,
            "value": shown.total_ns,
            "self": shown.self_ns,
            "count": shown.count,
        },
        "left_out": len(tree) - len(shown),
        "sampled": view.derived(_sampled),
    }


def _sampled(view: TraceView) -> str:
    """That kernels were recorded in slices only, where they were."""
    return str(sampled_facts(view.trace).get("sampled", ""))
