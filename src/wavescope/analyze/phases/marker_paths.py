"""Ranges merged over repetitions into a tree of paths such as request > decode > decode_step."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ops.op_labels import NO_NAME
from wavescope.analyze.phases.marker_names import merged_names
from wavescope.analyze.phases.marker_ranges import FoundRanges, MarkerRanges
from wavescope.model.columns import UNKNOWN
from wavescope.model.strings import StringTable

DEEPEST = 64
"""Ranges nested deeper belong to the path of their ancestor at that depth."""
NO_PATH = -1
_SEPARATOR = " > "


class PhaseScope(str, enum.Enum):
    """What paths are kept apart by, beside their names."""

    ALL = "all"
    PROCESS = "process"
    THREAD = "thread"


class Path(NamedTuple):
    """A node of the tree of phases; `parent` is its position in the list of paths, or -1."""

    name: str
    parent: int
    depth: int
    process: int
    """-1 when paths of all processes are merged."""
    thread: int


@dataclass
class PathTree:
    """Paths in the order in which they are first seen, every parent before its children."""

    paths: list[Path] = field(default_factory=list)
    _numbers: dict[Path, int] = field(default_factory=dict, repr=False)

    def number(self, path: Path) -> int:
        """The position of `path`, which is added when new."""
        number = self._numbers.get(path)
        if number is None:
            number = self._numbers[path] = len(self.paths)
            self.paths.append(path)
        return number

    def names(self, number: int) -> tuple[str, ...]:
        """The names from the outermost range to the path's own."""
        found: list[str] = []
        while number != NO_PATH:
            found.append(self.paths[number].name)
            number = self.paths[number].parent
        return tuple(reversed(found))

    def text(self, number: int) -> str:
        """The whole path for people."""
        return _SEPARATOR.join(self.names(number))


class RangePaths(NamedTuple):
    """The tree, and for every range of the host and every drawn one its path."""

    tree: PathTree
    of_host_range: npt.NDArray[np.int32]
    of_drawn_range: npt.NDArray[np.int32]


def range_paths(
    strings: StringTable, found: FoundRanges, scope: PhaseScope, *, merge_numbers: bool
) -> RangePaths:
    """The paths of all ranges, merged over repetitions."""
    codes = sorted({*found.host.names.tolist(), *found.drawn.names.tolist()})
    texts = [strings[code] or NO_NAME for code in codes]
    names = dict(zip(codes, merged_names(texts) if merge_numbers else texts, strict=True))
    tree = PathTree()
    return RangePaths(
        tree,
        _paths_of(found.host, tree, names, scope),
        _paths_of(found.drawn, tree, names, scope),
    )


def _paths_of(
    ranges: MarkerRanges, tree: PathTree, names: dict[int, str], scope: PhaseScope
) -> npt.NDArray[np.int32]:
    if not len(ranges):
        return np.empty(0, np.int32)
    path_of_range = [NO_PATH] * len(ranges)
    parents = ranges.nesting.parent.tolist()
    depths = ranges.nesting.depth.tolist()
    codes = ranges.names.tolist()
    processes = ranges.processes.tolist()
    threads = ranges.threads.tolist()
    # Parents have less depth than their children, so that their paths are known by then.
    order = np.lexsort((ranges.starts, np.minimum(ranges.nesting.depth, DEEPEST)))
    for index in order.tolist():
        parent = parents[index]
        if depths[index] > DEEPEST:
            continue
        path_of_range[index] = tree.number(
            Path(
                names[codes[index]],
                path_of_range[parent] if parent >= 0 else NO_PATH,
                depths[index],
                processes[index] if scope is not PhaseScope.ALL else UNKNOWN,
                threads[index] if scope is PhaseScope.THREAD else UNKNOWN,
            )
        )
    for index in np.argsort(ranges.nesting.depth, kind="stable").tolist():
        if depths[index] > DEEPEST:
            path_of_range[index] = path_of_range[parents[index]]
    return np.array(path_of_range, np.int32)
