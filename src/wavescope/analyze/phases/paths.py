"""Ranges merged over repetitions into a tree of paths such as request > decode > decode_step.

Markers that repeat share a name: `step 1` and `step 2` become `step *`, step annotations of serving
engines become what they stand for (`rules/marker_names.toml`). Of the others, those that differ
only in numbers share a name in which the numbers are `*`; a name that no other shares keeps its
numbers. docs/phases.md has the rules in words.
"""

from __future__ import annotations

import enum
import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.markers import MarkerRanges, TraceRanges
from wavescope.analyze.ops.op_labels import NO_NAME
from wavescope.model.columns import UNKNOWN
from wavescope.model.strings import StringTable
from wavescope.names.kernel_names import LONGEST_MATCHED
from wavescope.package_files import packaged_toml

# A number that stands by itself or ends the text; `fp8` and `bf16` are no counters.
_NUMBER = re.compile(
    r"(?<![A-Za-z0-9])(?<!\d\.)\d+(?:\.\d+)*(?![A-Za-z0-9]|\.\d)|"
    r"(?<=[A-Za-z][A-Za-z])(?<!fp)(?<!bf)(?<!int)(?<!float)\d+$"
)


def merged_names(texts: Sequence[str]) -> list[str]:
    """For each of the different texts the name it shares with those it repeats."""
    ruled = [_name_by_rule(text) for text in texts]
    without_numbers = [
        rule_name or _NUMBER.sub("*", text[:LONGEST_MATCHED]) + text[LONGEST_MATCHED:]
        for rule_name, text in zip(ruled, texts, strict=True)
    ]
    sharing: dict[str, int] = {}
    for name in without_numbers:
        sharing[name] = sharing.get(name, 0) + 1
    return [
        merged if rule_name or sharing[merged] > 1 else text
        for rule_name, merged, text in zip(ruled, without_numbers, texts, strict=True)
    ]


def _name_by_rule(text: str) -> str:
    if len(text) > LONGEST_MATCHED:
        return ""
    for pattern, name in _rules():
        found = pattern.fullmatch(text)
        if found is not None:
            return found.expand(name)
    return ""


@functools.lru_cache(maxsize=1)
def _rules() -> tuple[tuple[re.Pattern[str], str], ...]:
    document = packaged_toml("analyze", "phases", "rules", "marker_names.toml")
    return tuple((re.compile(rule["match"]), rule["name"]) for rule in document["rule"])


DEEPEST = 64
"""Ranges nested deeper belong to the path of their ancestor at that depth."""
NO_PATH = -1
_SEPARATOR = " > "


class PhaseScope(str, enum.Enum):
    """What paths are kept apart by, beside their names."""

    ALL = "all"
    PROCESS = "process"
    THREAD = "thread"


class PhasePlace(NamedTuple):
    """Where the ranges of a phase were opened, as far as that is told apart."""

    process: int | None = None
    rank: int | None = None
    thread: int | None = None


NOWHERE = PhasePlace()


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
        """The whole path for people: request > decode."""
        return _SEPARATOR.join(self.names(number))

    def ancestors_at(self, depth: int) -> npt.NDArray[np.int32]:
        """For every path its ancestor (or itself) at that depth, -1 where it is not as deep.

        A last entry -1 answers for ops outside any path.
        """
        found = np.full(len(self.paths) + 1, NO_PATH, np.int32)
        for number, path in enumerate(self.paths):
            if path.depth == depth:
                found[number] = number
            elif path.depth > depth:
                found[number] = found[path.parent]
        return found

    def with_nested(self, own: Sequence[int]) -> list[int]:
        """For each path its own number and those of all paths nested in it added up.

        Entries of `own` after the paths' are kept as they are.
        """
        total = list(own)
        for number in range(len(self.paths) - 1, -1, -1):
            parent = self.paths[number].parent
            if parent != NO_PATH:
                total[parent] += total[number]
        return total

    def depth_first(self) -> list[int]:
        """The positions of the paths, each followed by those nested in it."""
        children: dict[int, list[int]] = {}
        for number, path in enumerate(self.paths):
            children.setdefault(path.parent, []).append(number)
        order: list[int] = []
        waiting = list(reversed(children.get(NO_PATH, [])))
        while waiting:
            number = waiting.pop()
            order.append(number)
            waiting.extend(reversed(children.get(number, [])))
        return order


class RangePaths(NamedTuple):
    """The tree, and for every range of the host and every drawn one its path."""

    tree: PathTree
    of_host_range: npt.NDArray[np.int32]
    of_drawn_range: npt.NDArray[np.int32]


def range_paths(
    strings: StringTable, found: TraceRanges, scope: PhaseScope, *, merge_numbers: bool
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
