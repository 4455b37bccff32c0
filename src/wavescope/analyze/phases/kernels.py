"""The kernels of each phase: calls and summed durations, and their rows in tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ops.op_labels import meaning_of_label, op_labels
from wavescope.analyze.phases.paths import NO_PATH, NOWHERE, PathTree, PhasePlace
from wavescope.arrays.coded_columns import code_counts, index_type
from wavescope.arrays.groups import group_sums
from wavescope.model.op_kinds import OpKind
from wavescope.model.result import ColumnOf, ResultColumn, Unit
from wavescope.model.trace import Trace
from wavescope.names.kernel_names import CategoryRules, KernelMeaning, short_name
from wavescope.units import percent_of

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
    trace: Trace,
    tree: PathTree,
    path_of_op: npt.NDArray[np.int32],
    rules: CategoryRules | None = None,
    *,
    full_names: bool = False,
) -> PhaseKernels:
    """The kernels (copies and fills too, no barriers) of every path of `tree`."""
    named = _named_labels(trace, rules, full_names=full_names)
    own = _own_kernels(trace, path_of_op, len(tree.paths), named)
    for number in range(len(tree.paths) - 1, -1, -1):
        parent = tree.paths[number].parent
        if parent != NO_PATH:
            _add(own[parent], own[number])
    return PhaseKernels(named.names, named.meanings, own)


class _NamedLabels(NamedTuple):
    """The names that kernels are listed by, what they mean, and each op's."""

    names: list[str]
    meanings: list[KernelMeaning]
    of_op: npt.NDArray[np.integer]


def _named_labels(trace: Trace, rules: CategoryRules | None, *, full_names: bool) -> _NamedLabels:
    labels = op_labels(trace, trace.ops)
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


def _own_kernels(
    trace: Trace, path_of_op: npt.NDArray[np.int32], path_count: int, named: _NamedLabels
) -> list[dict[int, KernelTime]]:
    """For each path the ops for which it is the innermost; the last entry is for outside."""
    name_count = len(named.names)
    found: list[dict[int, KernelTime]] = [{} for _ in range(path_count + 1)]
    durations = trace.op_length_ns
    # -1, outside, becomes the last path.
    places = np.where(path_of_op == NO_PATH, path_count, path_of_op)
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


class PhaseKernel(NamedTuple):
    """A kernel of a phase: a row of the table."""

    place: PhasePlace
    phase: str
    name: str
    meaning: KernelMeaning
    time: KernelTime
    phase_ns: int
    """The summed durations of all kernels of the phase."""


KERNEL_COLUMNS: tuple[ColumnOf[PhaseKernel], ...] = (
    ResultColumn("path", "Phase", Unit.NAME, "as in the table of phases").of(lambda row: row.phase),
    ResultColumn("name", "Kernel", Unit.NAME, "kernel, copy or fill").of(lambda row: row.name),
    ResultColumn("calls", "Calls", Unit.COUNT, "how often it ran in the phase").of(
        lambda row: row.time.calls
    ),
    ResultColumn("mean_ns", "Avg", Unit.NS, "total / calls").of(
        lambda row: row.time.total_ns / row.time.calls
    ),
    ResultColumn("percent", "%", Unit.PERCENT, "share of the phase's summed durations").of(
        lambda row: percent_of(row.time.total_ns, row.phase_ns)
    ),
    ResultColumn("note", "What it is", Unit.NAME, "what the name says of the kernel").of(
        lambda row: row.meaning.note or None
    ),
    ResultColumn("category", "Category", Unit.NAME, "kind of work, see docs/categories.md").of(
        lambda row: row.meaning.category
    ),
    ResultColumn("total_ns", "Total", Unit.NS, "sum of durations").of(
        lambda row: row.time.total_ns
    ),
)


def kernels_of_phase(
    kernels: PhaseKernels, path: int, phase: str, most: int | None, place: PhasePlace = NOWHERE
) -> list[PhaseKernel]:
    """The `most` kernels (all for None) of a path, largest first."""
    phase_ns = kernels.total_ns(path)
    return [
        PhaseKernel(place, phase, kernels.names[name], kernels.meanings[name], time, phase_ns)
        for name, time in kernels.top(path)[:most]
    ]
