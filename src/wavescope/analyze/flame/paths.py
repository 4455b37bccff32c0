"""Numbers for paths of names: equal paths are one node, whatever frames they were found as."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from wavescope.arrays import Array
from wavescope.arrays.coded_columns import DistinctRows

Numbers = npt.NDArray[np.int64]

FrameNames = Callable[[str], str]
"""What a call of some name is called in a path."""

ROOT = 0
NO_FRAME = -1


class Paths:
    """A tree of names that grows: a node is a parent and a name, and comes after its parent."""

    def __init__(self) -> None:
        self._nodes = DistinctRows(2)
        self._number_of: dict[str, int] = {}
        self._parents: list[Numbers] = [np.full(1, -1, np.int64)]
        self._names: list[Numbers] = []

    def __len__(self) -> int:
        return self._nodes.count + 1

    @property
    def texts(self) -> list[str]:
        """All names."""
        return list(self._number_of)

    @property
    def parents(self) -> Numbers:
        """Of each node, -1 of the root."""
        return np.concatenate(self._parents)

    @property
    def names(self) -> Numbers:
        """Of each node but the root its place in `texts`."""
        return np.concatenate([np.empty(0, np.int64), *self._names])

    def numbered(self, texts: Iterable[str]) -> Numbers:
        """The numbers of names."""
        numbers = self._number_of
        return np.array([numbers.setdefault(text, len(numbers)) for text in texts], np.int64)

    def below(self, parents: Array, names: Array) -> Numbers:
        """The node of each name below each parent."""
        numbers, firsts = self._nodes.number((parents, names))
        self._parents.append(parents[firsts].astype(np.int64))
        self._names.append(names[firsts].astype(np.int64))
        return numbers.astype(np.int64) + 1

    def node(self, *texts: str) -> int:
        """The node of one path."""
        found = ROOT
        for number in self.numbered(texts).tolist():
            found = int(self.below(np.full(1, found), np.full(1, number))[0])
        return found


def nodes_of_frames(paths: Paths, parent: Numbers, names: Numbers, roots: Array) -> Numbers:
    """The node of each frame: below its parent's, or, of one without, below its own of `roots`.

    `parent` counts in the frames; the frames of one depth are numbered together.
    """
    nodes = np.empty(len(parent), np.int64)
    depth = _depths(parent)
    order = np.argsort(depth, kind="stable")
    cuts = np.cumsum(np.bincount(depth)) if len(depth) else np.empty(0, np.int64)
    first = 0
    for stop in cuts.tolist():
        level = order[first:stop]
        above = roots[level] if first == 0 else nodes[parent[level]]
        nodes[level] = paths.below(above, names[level])
        first = stop
    return nodes


def with_parents(parent: Numbers, rows: Numbers) -> tuple[Numbers, Numbers]:
    """`rows` and all that they lie in, in ascending order, and the parent of each among them."""
    is_needed = np.zeros(len(parent), np.bool_)
    rising = np.unique(rows)
    while len(rising):
        is_needed[rising] = True
        above = parent[rising]
        above = above[above >= 0]
        rising = np.unique(above[~is_needed[above]])
    frames = np.flatnonzero(is_needed)
    place = np.full(len(parent) + 1, NO_FRAME, np.int64)
    place[frames] = np.arange(len(frames))
    # Parent -1, none, picks the last entry.
    return frames, place[parent[frames]]


def _depths(parent: Numbers) -> Numbers:
    """How many frames each lies in: found in steps that double."""
    depth = (parent >= 0).astype(np.int64)
    ahead = parent.copy()
    open_ = np.flatnonzero(ahead >= 0)
    while len(open_):
        targets = ahead[open_]
        steps, further = depth[targets], ahead[targets]
        depth[open_] += steps
        ahead[open_] = further
        open_ = open_[further >= 0]
    return depth
