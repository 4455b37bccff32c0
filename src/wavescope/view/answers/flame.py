"""Flame graphs of the page: of the whole trace, made once, or of a range of time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from wavescope.analyze.flame import FlameTree, StackTime, flame_tree
from wavescope.analyze.ops.coverage import sampled_facts
from wavescope.errors import UsageError
from wavescope.model.selection import Selection
from wavescope.render.results.json_text import json_bytes
from wavescope.view.answers.name_matcher import NameMatcher
from wavescope.view.answers.question import Answer, Asked
from wavescope.view.opening import TraceView

MOST_NODES = 20_000
"""More than a screen has room for; what is left out stays in the totals of what it is below."""
_KEPT_TREES = 8
_Key = tuple[str, ...]


def flame(asked: Asked) -> Answer:
    """The tree of `of` (gpu or host), from `start` to `end` in ns from the first event if given.

    With `kinds=1` modules of a kind are together.
    """
    asked.view.require_whole()
    tree = _tree(asked)
    shown = tree.heaviest(MOST_NODES)
    asked.view.derived(_searched).keep(_key(asked), shown.names)
    return Answer(json_bytes(_document(asked.view, _stack_time(asked), tree, shown)))


def flame_search(asked: Asked) -> Answer:
    """Which of the names of that tree have `pattern` in them, capitals or not: their positions.

    Here and not in the page, which a pattern that takes forever would stop.
    """
    asked.view.require_whole()
    searched, key = asked.view.derived(_searched), _key(asked)
    if key not in searched.names:
        searched.keep(key, _tree(asked).heaviest(MOST_NODES).names)
    pattern = asked.text("pattern")
    hits = searched.matcher.matching(f"(?i:{pattern})" if pattern else "", searched.names[key])
    return Answer(json_bytes({"hits": hits}))


class _Searched:
    """The names of the trees that were asked for last, and who matches them."""

    def __init__(self) -> None:
        self.matcher = NameMatcher()
        self.names: dict[_Key, list[list[str]]] = {}

    def keep(self, key: _Key, names: Sequence[str]) -> None:
        if key in self.names:
            return
        if len(self.names) >= _KEPT_TREES:
            self.names = {}
        self.names = {**self.names, key: [[name] for name in names]}


def _key(asked: Asked) -> _Key:
    return tuple(asked.parameters.get(name, "") for name in ("of", "kinds", "start", "end"))


def _searched(_: TraceView) -> _Searched:
    return _Searched()


def _tree(asked: Asked) -> FlameTree:
    view, of = asked.view, _stack_time(asked)
    by_kind = asked.integer("kinds", 0) != 0
    if "start" not in asked.parameters and "end" not in asked.parameters:
        return view.derived(_WHOLE[of, by_kind])
    start_ns, end_ns = asked.window_ns
    part = Selection(start=str(start_ns), end=str(end_ns))
    with view.turn:
        return flame_tree(view.trace, of, part, by_kind=by_kind)


def _whole_tree(of: StackTime, by_kind: bool, view: TraceView) -> FlameTree:
    return flame_tree(view.trace, of, by_kind=by_kind)


_WHOLE = {
    (of, by_kind): partial(_whole_tree, of, by_kind)
    for of in StackTime
    for by_kind in (False, True)
}
"""Each is made once for a trace."""


def _stack_time(asked: Asked) -> StackTime:
    try:
        return StackTime(asked.text("of", StackTime.GPU.value))
    except ValueError:
        raise UsageError("a flame graph is of gpu or of host time") from None


def _document(view: TraceView, of: StackTime, tree: FlameTree, shown: FlameTree) -> dict[str, Any]:
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
