"""A tree of paths with the time of each: what a flame graph draws."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from wavescope.analyze.flame.paths import ROOT, Numbers, Paths
from wavescope.arrays import Array
from wavescope.arrays.coded_columns import code_counts
from wavescope.arrays.groups import group_sums

ALL = "all"
"""What the root is called."""
_SHOWN_NAMES = 3


@dataclass(frozen=True)
class FlameTree:
    """Nodes, each after its parent; the first is the root, which everything is below."""

    names: Sequence[str]
    """Different names; `name` counts in them."""
    parent: Sequence[int]
    """Of the root -1."""
    name: Sequence[int]
    self_ns: Sequence[int]
    """Time of the node that none of those below it has."""
    total_ns: Sequence[int]
    """Its own and that of all below it."""
    count: Sequence[int]
    """How many calls (of host time) or ops (of GPU time) the time is of."""

    def __len__(self) -> int:
        return len(self.parent)

    def text(self, node: int) -> str:
        """What a node is called."""
        return self.names[self.name[node]]

    @cached_property
    def depth(self) -> list[int]:
        """How many nodes each is below."""
        depths = [0] * len(self)
        for node in range(1, len(self)):
            depths[node] = depths[self.parent[node]] + 1
        return depths

    def heaviest(self, most: int) -> FlameTree:
        """The `most` nodes with most time, and never one without its parent.

        What is left out stays part of the totals.
        """
        if len(self) <= most:
            return self
        # A parent has no less time than its child and comes before it: it is chosen first.
        order = sorted(range(len(self)), key=lambda node: (-self.total_ns[node], node))
        return self._only(sorted(order[: max(most, 1)]))

    def down_to(self, depth: int) -> FlameTree:
        """The nodes at most `depth` below the root; totals stay."""
        kept = [node for node, at in enumerate(self.depth) if at <= depth]
        return self if len(kept) == len(self) else self._only(kept)

    def joined(self) -> FlameTree:
        """The tree with one node for each chain of nodes that only pass their time on.

        Self and count are those of the last of a chain.
        """
        below = [0] * len(self)
        for parent in self.parent[1:]:
            below[parent] += 1
        group_of: list[int] = [ROOT]
        groups: list[list[int]] = [[ROOT]]
        for node in range(1, len(self)):
            parent = self.parent[node]
            if parent != ROOT and below[parent] == 1 and not self.self_ns[parent]:
                group_of.append(group_of[parent])
                groups[group_of[parent]].append(node)
            else:
                group_of.append(len(groups))
                groups.append([node])
        numbers: dict[str, int] = {}
        names = [_chain_text([self.text(node) for node in group]) for group in groups]
        return FlameTree(
            list(dict.fromkeys(names)),
            [-1, *(group_of[self.parent[group[0]]] for group in groups[1:])],
            [numbers.setdefault(name, len(numbers)) for name in names],
            [self.self_ns[group[-1]] for group in groups],
            [self.total_ns[group[-1]] for group in groups],
            [self.count[group[-1]] for group in groups],
        )

    def depth_first(self) -> Iterator[int]:
        """All nodes, each followed by what is below it, the heaviest first."""
        children: list[list[int]] = [[] for _ in range(len(self))]
        for node in range(1, len(self)):
            children[self.parent[node]].append(node)
        waiting = [ROOT]
        while waiting:
            node = waiting.pop()
            yield node
            below = children[node]
            below.sort(key=lambda each: (-self.total_ns[each], self.text(each)), reverse=True)
            waiting += below

    def _only(self, nodes: list[int]) -> FlameTree:
        place = {node: number for number, node in enumerate(nodes)}
        used = sorted({self.name[node] for node in nodes})
        number_of = {name: number for number, name in enumerate(used)}
        return FlameTree(
            [self.names[name] for name in used],
            [-1, *(place[self.parent[node]] for node in nodes[1:])],
            [number_of[self.name[node]] for node in nodes],
            [self.self_ns[node] for node in nodes],
            [self.total_ns[node] for node in nodes],
            [self.count[node] for node in nodes],
        )


def _chain_text(names: list[str]) -> str:
    """The names of a chain; of a long one the first and the last."""
    if len(names) <= _SHOWN_NAMES:
        return " > ".join(names)
    return f"{names[0]} > ({len(names) - 2} more) > {names[-1]}"


def added_up(
    paths: Paths, nodes: Numbers, self_ns: Array, *, counts_below: Numbers | None = None
) -> FlameTree:
    """The tree of `paths` with the time `self_ns` at each of `nodes`.

    Each of them counts at its own node; from the nodes `counts_below` on also at their parents
    (None: from all on).
    """
    size = len(paths)
    own_ns = group_sums(nodes, self_ns, size)
    counts: list[int] = code_counts(nodes, size).tolist()
    parent: list[int] = paths.parents.tolist()
    total_ns = list(own_ns)
    passes_on = np.full(size, counts_below is None)
    if counts_below is not None:
        passes_on[counts_below] = True
    does_pass = passes_on.tolist()
    for node in range(size - 1, 0, -1):
        total_ns[parent[node]] += total_ns[node]
        if does_pass[node]:
            counts[parent[node]] += counts[node]
    return FlameTree(
        [ALL, *paths.texts], parent, [0, *(paths.names + 1).tolist()], own_ns, total_ns, counts
    )
