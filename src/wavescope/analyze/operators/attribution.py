"""What each op is part of, by the call that launched it, and GPU time added up by it.

The call is in this trace, or, of ops that a graph replays, where the graph was captured. Every op
has one label, or one of the reasons in brackets why it has none: a table of all adds up exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ops.op_labels import OpLabels, op_labels
from wavescope.analyze.ops.op_links import graph_launch_names, op_links
from wavescope.arrays import Array
from wavescope.arrays.coded_columns import DistinctRows, code_counts
from wavescope.arrays.groups import group_sums
from wavescope.model.result import ResultColumn, ResultTable, Unit, Value
from wavescope.model.trace import Trace
from wavescope.names.kernel_names import short_name
from wavescope.units import percent_of

Numbers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

NOTHING = -1
NOT_RECORDED = "(launch not recorded)"
GRAPH_REPLAY = "(graph replay)"
SEVERAL = "(several captures fit)"

Label = tuple[str, ...]
LabelT = TypeVar("LabelT", bound=tuple[object, ...])


@dataclass(frozen=True)
class Described(Generic[LabelT]):
    """What some calls are part of: for each the number of its label and of the call that has it."""

    labels: list[LabelT]
    code: Numbers
    """-1 where there is none."""
    call: Numbers

    @classmethod
    def nothing(cls, count: int) -> Described[LabelT]:
        """Calls that are part of nothing."""
        return cls([], np.full(count, NOTHING, np.int64), np.full(count, NOTHING, np.int64))

    @classmethod
    def by_label(cls, labels: Sequence[LabelT | None], call: Numbers) -> Described[LabelT]:
        """Calls that have these labels, None where there is none."""
        numbers: dict[LabelT, int] = {}
        code = [
            NOTHING if label is None else numbers.setdefault(label, len(numbers))
            for label in labels
        ]
        return cls(list(numbers), np.array(code, np.int64), call)


Describe = Callable[[Trace, Numbers], Described[LabelT]]
"""What each of these calls, which launch work, is part of."""


@dataclass(frozen=True)
class LaunchSource:
    """A trace, and for each op the row of the call there that launched it, -1 for none."""

    trace: Trace
    call_of_op: Numbers


@dataclass(frozen=True)
class OpLaunches:
    """Where the launches of a trace's ops are; an op may have one in several captures."""

    sources: tuple[LaunchSource, ...]
    is_linked: Mask
    is_replayed: Mask
    """Whether the op is part of a graph launch."""
    is_joined: Mask
    """Whether the launch of a replayed op was found where its graph was captured."""
    graph_launch: Numbers
    """The call that launched the graph of a joined op, -1 for all others."""

    def with_captured(self, found: Sequence[LaunchSource]) -> OpLaunches:
        """The launches that were found in captures take the place of the graph launches."""
        joined = np.zeros(len(self.is_linked), np.bool_)
        for source in found:
            joined |= source.call_of_op >= 0
        own, *others = self.sources
        kept = LaunchSource(own.trace, np.where(joined, NOTHING, own.call_of_op))
        return OpLaunches(
            (kept, *others, *found),
            self.is_linked,
            self.is_replayed,
            self.is_joined | joined,
            np.where(joined, own.call_of_op, self.graph_launch),
        )

    def of_ops(self, rows: Numbers) -> OpLaunches:
        """The launches of the ops at `rows` alone."""
        return OpLaunches(
            tuple(LaunchSource(each.trace, each.call_of_op[rows]) for each in self.sources),
            self.is_linked[rows],
            self.is_replayed[rows],
            self.is_joined[rows],
            self.graph_launch[rows],
        )


@dataclass(frozen=True)
class Attributed(Generic[LabelT]):
    """For each op the number of its label, or of one of the reasons why it has none."""

    labels: list[LabelT | Label]
    code: Numbers
    call: Numbers
    """A number for the call that the label is of, -1 where it is not known."""


def op_launches(trace: Trace) -> OpLaunches:
    """The launches of all ops that the trace itself links."""
    links = trace.derived(op_links)
    call_of_op = np.full(len(trace.ops), NOTHING, np.int64)
    call_of_op[links.op_rows] = links.call_rows
    is_linked = call_of_op >= 0
    is_graph = np.isin(trace.calls["name"], graph_launch_names(trace))
    is_replayed = np.zeros(len(is_linked), np.bool_)
    is_replayed[links.op_rows] = is_graph[links.call_rows]
    own = LaunchSource(trace, call_of_op)
    return OpLaunches(
        (own,), is_linked, is_replayed, np.zeros_like(is_linked), np.full_like(call_of_op, NOTHING)
    )


def attributed(
    launches: OpLaunches, describe: Describe[LabelT], outside: str
) -> Attributed[LabelT]:
    """What each op is part of; `outside` is the reason of ops launched outside of all of it."""
    numbers: dict[LabelT | Label, int] = {}
    code, call = np.full((2, len(launches.is_linked)), NOTHING, np.int64)
    first_call = 0
    for source in launches.sources:
        rows = np.flatnonzero(source.call_of_op >= 0)
        if len(rows):
            found = describe(source.trace, source.call_of_op[rows])
            new = _renumbered(found, numbers)
            differs = (code[rows] >= 0) & (new >= 0) & (code[rows] != new)
            if differs.any():
                new = np.where(differs, numbers.setdefault((SEVERAL,), len(numbers)), new)
            code[rows] = np.where(new >= 0, new, code[rows])
            call[rows] = np.where(found.call >= 0, found.call + first_call, call[rows])
        first_call += len(source.trace.calls)
    for reason, applies in (
        (NOT_RECORDED, ~launches.is_linked),
        (GRAPH_REPLAY, launches.is_replayed & ~launches.is_joined),
        (outside, launches.is_linked),
    ):
        code[applies & (code < 0)] = numbers.setdefault((reason,), len(numbers))
    if launches.is_joined.any():
        # Each replay of a captured call is a call of its own.
        number, _ = DistinctRows(2).number((call, launches.graph_launch))
        call = np.where(call >= 0, number, NOTHING)
    return Attributed(list(numbers), code, call)


def _renumbered(found: Described[LabelT], numbers: dict[LabelT | Label, int]) -> Numbers:
    """The codes of `found` as those of all labels so far."""
    number_of = [numbers.setdefault(label, len(numbers)) for label in found.labels]
    return np.array([*number_of, NOTHING], np.int64)[found.code]


@dataclass(frozen=True)
class ListedOps:
    """The ops that count: their rows, how long each ran, and what it is called."""

    rows: Array | None
    """None for all ops."""
    duration_ns: Array
    labels: OpLabels

    @classmethod
    def of(cls, trace: Trace, rows: Array | None) -> ListedOps:
        """All ops of the trace, or those at `rows`."""
        if rows is None:
            return cls(None, trace.op_length_ns, trace.derived(op_labels))
        return cls(rows, trace.op_length_ns[rows], op_labels(trace, trace.ops.take(rows)))

    def taken(self, values: Numbers) -> Numbers:
        """Of one value for each op of the trace those of the listed ops."""
        return values if self.rows is None else values[self.rows]

    def sum_ns(self, mask: Mask) -> int:
        """The time of the ops that `mask`, one entry for each op of the trace, is true for."""
        chosen = mask if self.rows is None else mask[self.rows]
        return group_sums(chosen.astype(np.uint16), self.duration_ns, 2)[1]

    @property
    def label_of_op(self) -> Numbers:
        """For each op its place among the texts of its labels."""
        count = len(self.labels.texts)
        return self.labels.for_each_op(np.arange(count, dtype=np.int64))


TIME_COLUMNS = (
    ResultColumn("calls", "Calls", Unit.COUNT, "calls of it that launched what is added up here"),
    ResultColumn("op_count", "Ops", Unit.COUNT, "ops launched by it"),
    ResultColumn("total_ns", "Total", Unit.NS, "sum of the durations of these ops"),
    ResultColumn("percent", "%", Unit.PERCENT, "share of the summed durations of all listed ops"),
    ResultColumn("mean_ns", "per call", Unit.NS, "time of the ops of known calls / calls"),
    ResultColumn("main_kernel", "Main kernel", Unit.NAME, "the kernel with most of that time"),
)


def time_table(
    name: str, title: str, columns: Sequence[ResultColumn], found: Attributed[Label], ops: ListedOps
) -> ResultTable:
    """A row for each label, the longest first; `columns` are those of the labels."""
    rows: list[tuple[Value, ...]] = [
        (*label, *[None] * (len(columns) - len(label)), *values)
        for label, values in time_by_label(found, ops)
    ]
    total = len(columns) + 2
    rows.sort(key=lambda row: (-int(row[total] or 0), tuple(map(str, row[: len(columns)]))))
    return ResultTable(name, title, (*columns, *TIME_COLUMNS), rows)


def time_by_label(
    found: Attributed[Label], ops: ListedOps
) -> list[tuple[Label, tuple[Value, ...]]]:
    """For each label that an op has the values of `TIME_COLUMNS`."""
    code = ops.taken(found.code)
    count = len(found.labels)
    op_counts = code_counts(code, count).tolist()
    totals = group_sums(code, ops.duration_ns, count)
    call = ops.taken(found.call)
    calls = _call_counts(code, call, count)
    in_calls_ns = group_sums(code, np.where(call >= 0, ops.duration_ns, 0), count)
    kernels = _main_kernels(code, ops, count)
    whole = sum(totals)
    return [
        (
            label,
            (
                calls[place] or None,
                op_counts[place],
                totals[place],
                percent_of(totals[place], whole),
                in_calls_ns[place] / calls[place] if calls[place] else None,
                kernels[place],
            ),
        )
        for place, label in enumerate(found.labels)
        if op_counts[place]
    ]


def _call_counts(code: Numbers, call: Numbers, count: int) -> list[int]:
    """How many different calls each label has."""
    known = np.flatnonzero(call >= 0)
    if not len(known):
        return [0] * count
    _, firsts = DistinctRows(2).number((code[known], call[known]))
    counts: list[int] = code_counts(code[known][firsts], count).tolist()
    return counts


def _main_kernels(code: Numbers, ops: ListedOps, count: int) -> list[str | None]:
    """The short name of the kernel with most time under each label."""
    labels = ops.label_of_op
    pairs, firsts = DistinctRows(2).number((code, labels))
    totals = group_sums(pairs, ops.duration_ns, len(firsts))
    main: list[str | None] = [None] * count
    longest = [NOTHING] * count
    for place, label, total in zip(
        code[firsts].tolist(), labels[firsts].tolist(), totals, strict=True
    ):
        if total > longest[place]:
            main[place], longest[place] = short_name(ops.labels.texts[label]), total
    return main
