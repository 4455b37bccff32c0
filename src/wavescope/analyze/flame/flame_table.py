"""Time by stack as a table: one row for each path, below the one that it is part of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wavescope.analyze.flame.stack_time import StackTime, flame_tree
from wavescope.analyze.flame.tree import FlameTree
from wavescope.analyze.operators import NOT_RECORDED
from wavescope.analyze.ops.coverage import sampled_facts
from wavescope.model.result import (
    ColumnOf,
    Result,
    ResultColumn,
    ResultTable,
    Unit,
    Value,
)
from wavescope.model.selection import Selection, select
from wavescope.model.trace import Trace
from wavescope.units import percent_of

_COUNT_TITLES = {StackTime.GPU: "Ops", StackTime.HOST: "Calls"}
_COUNT_MEANINGS = {
    StackTime.GPU: "ops launched by it and what is below it",
    StackTime.HOST: "calls with exactly this path; of a thread those that lie in no other",
}


@dataclass(frozen=True)
class FlameOptions:
    """Which time, and how much of the tree (0: all)."""

    of: StackTime = StackTime.GPU
    most: int = 0
    """Only as many paths, those with most time."""
    depth: int = 0
    """Only paths of as many names."""
    by_kind: bool = False
    """Whether modules of a kind are together: `Block_1` and `Block_2` are `Block`."""
    joined: bool = False
    """Whether names that only pass their time on to one other stand in its row: for people."""


def flame_result(
    trace: Trace,
    options: FlameOptions | None = None,
    selection: Selection | None = None,
    captures: Sequence[Trace] = (),
) -> Result:
    """The table `flame`: paths depth first, the heaviest first; facts say what it is of."""
    options = options or FlameOptions()
    tree = flame_tree(trace, options.of, selection, captures, by_kind=options.by_kind)
    shown = tree.down_to(options.depth) if options.depth else tree
    shown = shown.joined() if options.joined else shown
    path_count = len(shown) if options.joined else len(tree)
    shown = shown.heaviest(options.most) if options.most else shown
    facts: dict[str, Value] = {
        "path": trace.path,
        "of": options.of.value,
        **(sampled_facts(select(trace, selection or Selection())) if len(trace.slices) else {}),
        "total_ns": tree.total_ns[0],
        "path_count": len(tree) - 1,
    }
    if options.of is StackTime.GPU:
        facts["launch_not_recorded_ns"] = _unlinked_ns(tree)
    return Result("Flame", [_table(shown, options.of, path_count)], facts=facts)


def _table(tree: FlameTree, of: StackTime, total_rows: int) -> ResultTable:
    whole = tree.total_ns[0]
    columns: tuple[ColumnOf[int], ...] = (
        ResultColumn("depth", "Depth", meaning="names above it; 0 is everything").of(
            lambda node: tree.depth[node]
        ),
        ResultColumn("name", "Stack", Unit.NAME, "last name of the path").of(tree.text),
        ResultColumn("total_ns", "Total", Unit.NS, "its time and that of what is below it").of(
            lambda node: tree.total_ns[node]
        ),
        ResultColumn("percent", "%", Unit.PERCENT, "total / total of everything").of(
            lambda node: percent_of(tree.total_ns[node], whole)
        ),
        ResultColumn("self_ns", "Self", Unit.NS, "time that nothing below it has").of(
            lambda node: tree.self_ns[node]
        ),
        ResultColumn("count", _COUNT_TITLES[of], Unit.COUNT, _COUNT_MEANINGS[of]).of(
            lambda node: tree.count[node]
        ),
    )
    rows = [tuple(column.value(node) for column in columns) for node in tree.depth_first()]
    # Without the row that it is below a row means nothing.
    kept = tuple(column.column for column in columns)
    return ResultTable("flame", "Time by stack", kept, rows, total_rows, is_whole=True)


def _unlinked_ns(tree: FlameTree) -> int:
    return sum(
        tree.total_ns[node]
        for node in range(1, len(tree))
        if tree.parent[node] == 0 and tree.text(node) == NOT_RECORDED
    )
