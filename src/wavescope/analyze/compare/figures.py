"""Calls and time of the parts of one trace: of kernels, categories, operators, phases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.calls.outermost import NO_OPERATOR
from wavescope.analyze.compare.kernel_roles import UNKNOWN_ROLE, kernel_role, role_types
from wavescope.analyze.operators import (
    GRAPH_REPLAY,
    NOT_RECORDED,
    SEVERAL,
    OpOperators,
    op_operators,
)
from wavescope.analyze.ops.op_labels import op_categories, op_labels
from wavescope.analyze.phases import PhaseAssignment, phases_of
from wavescope.analyze.steps import StepOptions, Steps, steps_of
from wavescope.arrays import Array
from wavescope.arrays.coded_columns import code_counts, index_type
from wavescope.arrays.groups import group_sums
from wavescope.arrays.intervals import lengths_ns
from wavescope.model.op_kinds import OpKind
from wavescope.model.result import Finding, Severity
from wavescope.model.trace import Trace, TraceTable
from wavescope.names.kernel_names import CategoryRules, short_name
from wavescope.units import percent_of

WITHOUT_OPERATOR = frozenset({NO_OPERATOR, NOT_RECORDED, GRAPH_REPLAY, SEVERAL})
"""Why ops have no operator, in the place of its name."""
MOST_POINTS = 1.0
"""Percentage points by which coverage may differ before it matters."""


def coverage_percent(trace: Trace) -> float | None:
    """The share of the dispatches the recorder saw that it timed; None when it does not say."""
    coverage = trace.coverage
    if not len(coverage):
        return None
    coverage.load("seen", "timed")
    seen, timed = (int(np.maximum(coverage[name], 0).sum()) for name in ("seen", "timed"))
    return percent_of(timed, seen)


def coverage_findings(shares: Sequence[float | None]) -> list[Finding]:
    """A warning when traces with these coverages cannot be compared as they are."""
    known = [share for share in shares if share is not None]
    if not known or max(known) - min(known) <= MOST_POINTS:
        return []
    return [
        Finding(
            "coverage-differs",
            Severity.WARNING,
            "the traces do not cover the same share of the work",
            f"between {min(known):.1f} % and {max(known):.1f} % of the dispatches were timed",
            "record all of them in the same mode; `wavescope info` says what was left out",
        )
    ]


_COLUMNS = ("gpu", "queue", "start_ns", "end_ns", "name", "type")
_PHASE_COLUMNS = ("process", "thread", "marker")


class Figures(NamedTuple):
    """How often something ran and how long in all."""

    calls: int = 0
    total_ns: int = 0

    @property
    def mean_ns(self) -> float | None:
        return self.total_ns / self.calls if self.calls else None


def total_of(parts: Iterable[Figures]) -> Figures:
    """All parts together."""
    calls = total_ns = 0
    for part in parts:
        calls += part.calls
        total_ns += part.total_ns
    return Figures(calls, total_ns)


FiguresByName = Mapping[str, Figures]


@dataclass(frozen=True)
class FigureOptions:
    """How ops are named and grouped."""

    full_names: bool = False
    with_phases: bool = False
    """Whether ops will be told apart by phase or step."""
    linked_only: bool = False
    """Leave out ops whose launch is not in the trace."""
    rules: CategoryRules | None = None
    told_by_role: frozenset[str] = frozenset()
    """Short names of which kernels are listed by the types they work on, too."""
    captures: tuple[Trace, ...] = ()
    """Traces in which graphs were captured that are replayed here."""


def shown_name(label: str, options: FigureOptions) -> str:
    """What ops of a label, as `op_labels` has them, are listed under."""
    if options.full_names:
        return label
    name = short_name(label)
    role = kernel_role(label) if name in options.told_by_role else UNKNOWN_ROLE
    return f"{name} [{role_types(role)}]" if role else name


class TraceFigures:
    """The working ops of a trace (barriers are left out), grouped in several ways."""

    def __init__(self, trace: Trace, options: FigureOptions | None = None) -> None:
        self.trace = trace
        self.options = options or FigureOptions()

    @cached_property
    def rows(self) -> Array | None:
        """Rows of the ops that count; None when all do."""
        # What is needed for certain is read in one pass over the file.
        self.trace.ops.load(*_COLUMNS, *(_PHASE_COLUMNS if self.options.with_phases else ()))
        working = self.trace.op_kind != OpKind.BARRIER
        if self.options.linked_only:
            working = working & np.isin(self.trace.ops["id"], self.trace.links["op"])
        return None if working.all() else np.flatnonzero(working)

    @cached_property
    def ops(self) -> TraceTable:
        """The ops that count."""
        rows = self.rows
        return self.trace.ops if rows is None else self.trace.ops.take(rows)

    @cached_property
    def duration_ns(self) -> Array:
        return lengths_ns(self.ops["start_ns"], self.ops["end_ns"])

    @cached_property
    def _labelled(self) -> tuple[list[str], list[str], Array]:
        """Kernel names, the first full name of each, and for each op the number of its name."""
        labels = op_labels(self.trace, self.ops)
        shown = [shown_name(text, self.options) for text in labels.texts]
        names = sorted(set(shown))
        number = {name: index for index, name in enumerate(names)}
        full = dict(zip(reversed(shown), reversed(labels.texts), strict=True))
        of_label = np.array([number[name] for name in shown], index_type(len(names)))
        return names, [full[name] for name in names], labels.for_each_op(of_label)

    @cached_property
    def role_calls(self) -> dict[str, dict[str, int]]:
        """By kernel name how often each role ran, of names that tell roles."""
        labels = op_labels(self.trace, self.ops)
        roles = [kernel_role(text) for text in labels.texts]
        if not any(roles):
            return {}
        numbers = labels.for_each_op(np.arange(len(roles), dtype=index_type(len(roles))))
        counts = code_counts(numbers, len(roles)).tolist()
        found: dict[str, dict[str, int]] = {}
        for text, role, count in zip(labels.texts, roles, counts, strict=True):
            if role and count:
                of_name = found.setdefault(shown_name(text, self.options), {})
                of_name[role] = of_name.get(role, 0) + count
        return found

    @property
    def kernel_names(self) -> list[str]:
        """The names of kernels, copies and fills, in alphabetical order."""
        return self._labelled[0]

    @property
    def full_names(self) -> list[str]:
        """For each of `kernel_names` the full name of one of its kernels."""
        return self._labelled[1]

    @property
    def kernel_of_op(self) -> Array:
        """For each op its place in `kernel_names`."""
        return self._labelled[2]

    @cached_property
    def category_names(self) -> list[str]:
        return self._categories[0]

    @cached_property
    def category_of_op(self) -> Array:
        """For each op its place in `category_names`."""
        return self._categories[1]

    @cached_property
    def _categories(self) -> tuple[list[str], Array]:
        found = op_categories(self.trace, self.options.rules)
        codes = found.codes if self.rows is None else found.codes[self.rows]
        return found.labels, codes

    @cached_property
    def operators(self) -> OpOperators | None:
        """The operators that launched the ops; None when the trace knows none."""
        if not len(self.trace.calls) or not len(self.trace.links):
            return None
        return op_operators(self.trace, self.rows, self.options.captures)

    @cached_property
    def phases(self) -> PhaseAssignment:
        """The phase of each op of the trace."""
        return phases_of(self.trace)

    def steps(self, marker: str = "") -> Steps:
        """The steps of the trace that are marked, or that a neighbour resembles."""
        return steps_of(self.trace, StepOptions(marker)).only_regular()

    @cached_property
    def by_kernel(self) -> dict[str, Figures]:
        return self._grouped(self.kernel_names, self.kernel_of_op)

    @cached_property
    def by_category(self) -> dict[str, Figures]:
        return self._grouped(self.category_names, self.category_of_op)

    @cached_property
    def by_operator(self) -> dict[str, Figures] | None:
        """By operator; ops of none by category, in brackets. None when the trace knows none."""
        operators = self.operators
        if operators is None:
            return None
        names = list(operators.names)
        of_op = operators.of_op.copy()
        for place, name in enumerate(names):
            if name in WITHOUT_OPERATOR:
                mine = operators.of_op == place
                of_op[mine] = self.category_of_op[mine] + len(names)
        names += [f"({category}, no operator)" for category in self.category_names]
        return self._grouped(names, of_op)

    @cached_property
    def category_of_kernel(self) -> dict[str, str]:
        """The category of most ops of each kernel name."""
        width = len(self.category_names)
        pairs = self.kernel_of_op.astype(np.int64) * width + self.category_of_op
        counts = code_counts(pairs, len(self.kernel_names) * width).reshape(-1, width)
        best: list[int] = counts.argmax(axis=1).tolist()
        return {
            name: self.category_names[place]
            for name, place in zip(self.kernel_names, best, strict=True)
        }

    @cached_property
    def total(self) -> Figures:
        """All ops."""
        return total_of(self.by_kernel.values())

    def _grouped(self, names: Sequence[str], of_op: npt.NDArray[np.integer]) -> dict[str, Figures]:
        counts = code_counts(of_op, len(names)).tolist()
        totals = group_sums(of_op, self.duration_ns, len(names))
        return {
            name: Figures(count, total)
            for name, count, total in zip(names, counts, totals, strict=True)
            if count
        }


def figures_by_phase(figures: TraceFigures) -> dict[str, Figures]:
    """By phase, of marked ones by path such as `request > decode` with what is nested in it."""
    phases = figures.phases
    count = len(phases.tree.paths)
    of_op = phases.path_of_op if figures.rows is None else phases.path_of_op[figures.rows]
    # -1, the ops of no phase, becomes the last path.
    places = np.where(of_op < 0, np.int32(count), of_op)
    calls = phases.tree.with_nested(code_counts(places, count + 1).tolist())
    totals = phases.tree.with_nested(group_sums(places, figures.duration_ns, count + 1))
    names = [*(phases.tree.text(number) for number in range(count)), phases.outside_label]
    return {
        name: Figures(*figures_of_name)
        for name, *figures_of_name in zip(names, calls, totals, strict=True)
        if figures_of_name[0]
    }
