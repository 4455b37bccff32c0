"""The kernels of each phase: calls and summed durations, ops of nested phases included."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ops.categories import meaning_of_label
from wavescope.analyze.ops.op_labels import op_labels
from wavescope.analyze.ops.scopes import index_type
from wavescope.analyze.phases.marker_paths import NO_PATH, Path
from wavescope.analyze.phases.marker_phases import MarkerPhases
from wavescope.arrays.coded_columns import code_counts
from wavescope.arrays.group_statistics import group_sums
from wavescope.model.op_kinds import OpKind
from wavescope.names.kernel_meaning import CategoryRules, KernelMeaning
from wavescope.names.kernel_names import short_name

_TABLE_CELLS = 1 << 22
"""Up to so many pairs of path and kernel are counted in a table, more are found by sorting."""


class KernelTime(NamedTuple):
    """How often a kernel ran in a phase, and for how long altogether."""

    calls: int
    total_ns: int


@dataclass(frozen=True)
class PhaseKernels:
    """For every path, and last for the ops outside any, the time of each kernel."""

    names: list[str]
    meanings: list[KernelMeaning]
    by_path: list[dict[int, KernelTime]]
    """The key is a position in `names`."""

    def top(self, path: int) -> list[tuple[int, KernelTime]]:
        """The kernels of a path, the largest total first, equal ones by name."""
        return sorted(
            self.by_path[path].items(), key=lambda row: (-row[1].total_ns, self.names[row[0]])
        )

    def total_ns(self, path: int) -> int:
        """The summed durations of all kernels of a path."""
        return sum(kernel.total_ns for kernel in self.by_path[path].values())


def phase_kernels(
    phases: MarkerPhases, rules: CategoryRules | None = None, *, full_names: bool = False
) -> PhaseKernels:
    """The kernels (copies and fills too, no barriers) of every path."""
    named = _named_labels(phases, rules, full_names=full_names)
    own = _own_kernels(phases, named)
    for number in range(len(phases.paths) - 1, -1, -1):
        parent = phases.paths[number].parent
        if parent != NO_PATH:
            _add(own[parent], own[number])
    return PhaseKernels(named.names, named.meanings, own)


class _NamedLabels(NamedTuple):
    """The names that kernels are listed by, what they mean, and each op's."""

    names: list[str]
    meanings: list[KernelMeaning]
    of_op: npt.NDArray[np.integer]


def _named_labels(
    phases: MarkerPhases, rules: CategoryRules | None, *, full_names: bool
) -> _NamedLabels:
    labels = op_labels(phases.trace, phases.trace.ops)
    name_of: Callable[[str], str] = short_name
    if full_names:
        name_of = str
    elif rules is not None:
        name_of = lambda full: rules.names.named(full).name  # noqa: E731
    texts = [name_of(text) for text in labels.texts]
    names = list(dict.fromkeys(texts))
    number = {name: index for index, name in enumerate(names)}
    meanings: dict[str, KernelMeaning] = {}
    for full, name in zip(labels.texts, texts, strict=True):
        meanings.setdefault(name, meaning_of_label(full, rules))
    numbers = np.array([number[name] for name in texts], index_type(len(names)))
    return _NamedLabels(names, [meanings[name] for name in names], labels.for_each_op(numbers))


def _own_kernels(phases: MarkerPhases, named: _NamedLabels) -> list[dict[int, KernelTime]]:
    """For each path the ops for which it is the innermost; the last entry is for outside."""
    trace, name_count, path_count = phases.trace, len(named.names), len(phases.paths)
    found: list[dict[int, KernelTime]] = [{} for _ in range(path_count + 1)]
    durations = trace.op_length_ns
    # -1, outside, becomes the last path.
    places = np.where(phases.path_of_op == NO_PATH, path_count, phases.path_of_op)
    pairs = places.astype(np.int64) * name_count + named.of_op
    working = trace.op_kind != OpKind.BARRIER
    if not working.all():
        pairs, durations = pairs[working], durations[working]
    cells = (path_count + 1) * name_count
    if cells <= _TABLE_CELLS:
        keys, counts = np.arange(cells), code_counts(pairs, cells)
    else:
        keys, pairs, counts = np.unique(pairs, return_inverse=True, return_counts=True)
    totals = group_sums(pairs, durations, len(keys))
    for index in np.flatnonzero(counts).tolist():
        path, name = divmod(int(keys[index]), name_count)
        found[path][name] = KernelTime(int(counts[index]), totals[index])
    return found


def _add(target: dict[int, KernelTime], other: dict[int, KernelTime]) -> None:
    for name, time in other.items():
        known = target.get(name)
        target[name] = (
            time
            if known is None
            else KernelTime(known.calls + time.calls, known.total_ns + time.total_ns)
        )


def depth_first(paths: list[Path]) -> list[int]:
    """The positions of the paths, each followed by those nested in it."""
    children: dict[int, list[int]] = {}
    for number, path in enumerate(paths):
        children.setdefault(path.parent, []).append(number)
    order: list[int] = []
    waiting = list(reversed(children.get(NO_PATH, [])))
    while waiting:
        number = waiting.pop()
        order.append(number)
        waiting.extend(reversed(children.get(number, [])))
    return order
