"""Where GPU time goes by kernel name: calls, totals, exact percentiles, share.

docs/definitions.md publishes every number here. Percentiles are nearest ranks; the share is of the
summed durations of the ops listed for the same GPU, process or trace.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ops.coverage import recorded
from wavescope.analyze.ops.gpu_timelines import doubled_runs
from wavescope.analyze.ops.op_labels import OpLabels, meaning_of_label, op_labels
from wavescope.arrays import Array
from wavescope.arrays.coded_columns import distinct, index_type, paired
from wavescope.arrays.groups import GroupStatistics, group_statistics
from wavescope.model.columns import UNKNOWN
from wavescope.model.op_kinds import OpKind
from wavescope.model.result import Result, ResultColumn, ResultTable, Unit, Value
from wavescope.model.trace import Trace, TraceTable
from wavescope.names.kernel_names import CategoryRules, NamedKernel, NameRules, short_name
from wavescope.units import percent_of

if TYPE_CHECKING:
    from wavescope.analyze.ops.recorded import Recorded


EstimateValues = tuple[Value, ...]


class KernelNaming(str, enum.Enum):
    """What ops are grouped by."""

    SHORT = "short"
    """The readable name, or the group of the user's rules where there are any."""
    FULL = "full"


class OpChoice(str, enum.Enum):
    """Which ops are listed."""

    KERNELS = "kernels"
    ALL = "all"
    """Kernels, copies and fills; barriers are not work."""


class Scope(str, enum.Enum):
    """How far one row of a summary reaches."""

    ALL = "all"
    GPU = "gpu"
    PROCESS = "process"


class ScopeIndex(NamedTuple):
    """Which scope each row belongs to, and how the scopes are told apart in a result."""

    columns: tuple[ResultColumn, ...]
    labels: Sequence[tuple[Value, ...]]
    of_row: npt.NDArray[np.integer] | None
    """Index into `labels` for every row; None when there is one scope only."""


_GPU_COLUMNS = (ResultColumn("gpu", "GPU", meaning="GPU number in the trace"),)
_PROCESS_COLUMNS = (
    ResultColumn("process", "Process", meaning="process number in the trace"),
    ResultColumn("pid", "PID", meaning="operating system's process id"),
    ResultColumn("rank", "Rank", meaning="rank in the parallel job, where there is one"),
)


def scope_index(trace: Trace, table: TraceTable, scope: Scope) -> ScopeIndex:
    """The scopes of the rows of `table`, which is one of `trace`."""
    if scope is Scope.ALL:
        return ScopeIndex((), [()], None)
    if scope is Scope.GPU:
        numbers, of_row = distinct(table["gpu"])
        return ScopeIndex(_GPU_COLUMNS, [(number,) for number in numbers], of_row)
    numbers, of_row = distinct(table["process"])
    known = {
        number: (_known(pid), _known(rank))
        for number, pid, rank in zip(
            *(trace.processes[name].tolist() for name in ("id", "pid", "rank")), strict=True
        )
    }
    labels = [(_known(number), *known.get(number, (None, None))) for number in numbers]
    return ScopeIndex(_PROCESS_COLUMNS, labels, of_row)


def combine(
    scope: ScopeIndex, groups: npt.NDArray[np.integer], group_count: int
) -> tuple[npt.NDArray[np.integer], int]:
    """One number for scope and group together, and how many numbers there can be."""
    if scope.of_row is None:
        return groups, group_count
    count = len(scope.labels) * group_count
    return paired(scope.of_row, groups, group_count, count), count


def _known(number: int) -> int | None:
    return None if number == UNKNOWN else number


@dataclass(frozen=True)
class KernelSummaryOptions:
    """What to list, and by what."""

    naming: KernelNaming = KernelNaming.SHORT
    scope: Scope = Scope.ALL
    ops: OpChoice = OpChoice.KERNELS
    rules: NameRules | None = None
    """A user's rules for names and categories, tried before the built-in ones."""
    full_names: bool = False
    """Whether to add a table of the full names behind each short one."""


class _Ops(NamedTuple):
    """The ops that are listed, one entry each."""

    duration_ns: Array
    labels: OpLabels
    scope: ScopeIndex
    rows: Array | None
    """Their rows in the trace; None for all."""


def kernel_summary(trace: Trace, options: KernelSummaryOptions | None = None) -> Result:
    """Table `kernels` (largest total first) and on request `full_names`; counts as facts."""
    options = options or KernelSummaryOptions()
    ops = _listed_ops(trace, options)
    named = [_naming(options)(text) for text in ops.labels.texts]
    names = sorted({kernel.name for kernel in named})
    number = {name: index for index, name in enumerate(names)}
    group_of_label = np.array([number[kernel.name] for kernel in named], index_type(len(names)))
    group_of_op = ops.labels.for_each_op(group_of_label)
    groups, group_count = combine(ops.scope, group_of_op, len(names))
    statistics = group_statistics(groups, ops.duration_ns, group_count)
    categories = _categories(ops.labels, named, options)
    tables = [_kernel_table(statistics, names, categories, ops.scope)]
    found = recorded(trace)
    estimated_facts: dict[str, Value] = {}
    if found is not None:
        tables = [_estimated_table(tables[0], _estimates(found, ops, groups, group_count, names))]
        estimated_facts = _estimated_time(found, ops)
    if options.full_names:
        tables.append(_full_name_table(ops, named))
    return Result(
        "Kernels" if options.ops is OpChoice.KERNELS else "GPU ops",
        tables,
        facts={
            "listed_op_count": len(ops.duration_ns),
            "unlisted_op_count": len(trace.ops) - len(ops.duration_ns),
            "full_name_count": len(named),
            "name_count": len(names),
            "gpu_time_ns": sum(statistics.totals),
            **estimated_facts,
        },
    )


def _naming(options: KernelSummaryOptions) -> Callable[[str], NamedKernel]:
    if options.naming is KernelNaming.FULL:
        return NamedKernel
    if options.rules is not None:
        return options.rules.named
    return lambda full: NamedKernel(short_name(full))


def _categories(
    labels: OpLabels, named: Sequence[NamedKernel], options: KernelSummaryOptions
) -> dict[str, str]:
    """The category of each listed name: that of the first kernel it stands for."""
    rules = CategoryRules(options.rules) if options.rules is not None else None
    found: dict[str, str] = {}
    for text, kernel in zip(labels.texts, named, strict=True):
        if kernel.name not in found:
            found[kernel.name] = meaning_of_label(text, rules).category
    return found


def listed_rows(trace: Trace, choice: OpChoice) -> Array | None:
    """The rows of the ops that are listed; None when all are."""
    kinds = trace.op_kind
    is_listed = {
        OpChoice.KERNELS: np.equal(kinds, OpKind.KERNEL),
        OpChoice.ALL: np.not_equal(kinds, OpKind.BARRIER),
    }
    listed = is_listed[choice]
    found, doubled = recorded(trace), doubled_runs(trace)
    if found is not None:
        listed &= found.is_seen
    elif doubled is not None:
        listed &= ~doubled
    return None if listed.all() else np.flatnonzero(listed)


def _listed_ops(trace: Trace, options: KernelSummaryOptions) -> _Ops:
    trace.ops.load("start_ns", "end_ns", "name", "type", "gpu")
    rows = listed_rows(trace, options.ops)
    table = trace.ops if rows is None else trace.ops.take(rows)
    return _Ops(
        trace.op_length_ns if rows is None else trace.op_length_ns[rows],
        trace.derived(op_labels) if rows is None else op_labels(trace, table),
        scope_index(trace, table, options.scope),
        rows,
    )


STATISTICS_COLUMNS = (
    ResultColumn("total_ns", "Total", Unit.NS, "sum of durations"),
    ResultColumn("percent", "%", Unit.PERCENT, "share of the summed durations listed here"),
    ResultColumn("mean_ns", "Mean", Unit.NS, "total / calls"),
    ResultColumn("median_ns", "Median", Unit.NS, "nearest-rank 50th percentile"),
    ResultColumn("p95_ns", "p95", Unit.NS, "nearest-rank 95th percentile"),
    ResultColumn("p99_ns", "p99", Unit.NS, "nearest-rank 99th percentile"),
    ResultColumn("min_ns", "Min", Unit.NS, "shortest"),
    ResultColumn("max_ns", "Max", Unit.NS, "longest"),
    ResultColumn("std_ns", "Std", Unit.NS, "standard deviation of the population"),
)


def statistics_rows(
    statistics: GroupStatistics, wholes: Sequence[int]
) -> list[tuple[int, tuple[Value, ...]]]:
    """For each group its calls and `STATISTICS_COLUMNS`; `wholes` are what is 100 % for it."""
    return [
        (count, (total, percent_of(total, whole), mean, *rest))
        for count, total, whole, mean, *rest in zip(
            statistics.counts.tolist(),
            statistics.totals,
            wholes,
            statistics.means,
            *(statistics.percentiles(percent).tolist() for percent in (50, 95, 99)),
            statistics.minima.tolist(),
            statistics.maxima.tolist(),
            statistics.std.tolist(),
            strict=True,
        )
    ]


def _kernel_table(
    statistics: GroupStatistics,
    names: Sequence[str],
    categories: dict[str, str],
    scope: ScopeIndex,
) -> ResultTable:
    keys = [divmod(group, len(names)) for group in statistics.groups.tolist()]
    scope_totals = [0] * len(scope.labels)
    for (place, _), total in zip(keys, statistics.totals, strict=True):
        scope_totals[place] += total
    values = statistics_rows(statistics, [scope_totals[place] for place, _ in keys])
    # Names are in alphabetical order, so that ties have one order in every trace.
    order = sorted(range(len(keys)), key=lambda i: (keys[i][0], -statistics.totals[i], keys[i][1]))
    rows: list[tuple[Value, ...]] = []
    for index in order:
        place, name = keys[index][0], names[keys[index][1]]
        count, numbers = values[index]
        rows.append((*scope.labels[place], name, categories[name], count, *numbers))
    columns = (
        *scope.columns,
        ResultColumn("name", "Name", Unit.NAME, "kernel or group of kernels"),
        ResultColumn("category", "Category", Unit.NAME, "kind of work, see docs/categories.md"),
        ResultColumn("calls", "Calls", Unit.COUNT, "how often it ran"),
        *STATISTICS_COLUMNS,
    )
    return ResultTable("kernels", "Kernels", columns, rows)


Estimates = dict[tuple[Value, ...], EstimateValues]
"""By the values of a row up to its name."""


def _estimates(
    found: Recorded, ops: _Ops, groups: Array, group_count: int, names: Sequence[str]
) -> Estimates:
    """What slices say of every listed name in the whole run."""
    from wavescope.analyze.ops.slice_estimates import (  # noqa: PLC0415
        GroupedOps,
        estimated_groups,
    )

    rows = np.arange(len(groups)) if ops.rows is None else ops.rows
    scopes = np.arange(group_count) // max(len(names), 1)
    grouped = GroupedOps(rows, groups, ops.duration_ns, group_count, scopes)
    estimates = estimated_groups(found, grouped)
    return {
        (*ops.scope.labels[group // len(names)], names[group % len(names)]): estimates.row(group)
        for group in range(group_count)
    }


def _estimated_time(found: Recorded, ops: _Ops) -> dict[str, Value]:
    """The time of all listed ops in the whole run; what they took in slices is `gpu_time_ns`."""
    from wavescope.analyze.ops.slice_estimates import (  # noqa: PLC0415
        GroupedOps,
        estimated_groups,
    )

    rows = np.arange(len(ops.duration_ns)) if ops.rows is None else ops.rows
    everything = np.zeros(len(rows), np.int64)
    _, _, _, *totals = estimated_groups(
        found, GroupedOps(rows, everything, ops.duration_ns, 1)
    ).row(0)
    names = ("estimated_gpu_time_ns", "estimated_gpu_time_low_ns", "estimated_gpu_time_high_ns")
    return dict(zip(names, totals[:3], strict=True))


def _estimated_table(table: ResultTable, estimates: Estimates) -> ResultTable:
    """The table of kernels with what they stand for; calls and times are those of the slices."""
    from wavescope.analyze.ops.slice_estimates import ESTIMATE_COLUMNS  # noqa: PLC0415

    columns = [column for column in table.columns if column.name != "percent"]
    place = [column.name for column in columns].index("category")
    percent = [column.name for column in table.columns].index("percent")
    rows = []
    for row in table.rows:
        kept = [value for index, value in enumerate(row) if index != percent]
        rows.append((*kept[: place + 1], *estimates[row[:place]], *kept[place + 1 :]))
    columns[place + 1 : place + 1] = ESTIMATE_COLUMNS
    return ResultTable(table.name, "Kernels (estimates from slices)", tuple(columns), rows)


_FULL_NAME_COLUMNS = (
    ResultColumn("name", "Name", Unit.NAME, "as in the table of kernels"),
    ResultColumn("full_name", "Full name", Unit.NAME, "as the trace has it"),
    ResultColumn("calls", "Calls", Unit.COUNT, "how often it ran"),
    ResultColumn("total_ns", "Total", Unit.NS, "sum of durations"),
)


def _full_name_table(ops: _Ops, named: Sequence[NamedKernel]) -> ResultTable:
    texts = ops.labels.texts
    label_of_op = ops.labels.for_each_op(np.arange(len(texts), dtype=index_type(len(texts))))
    statistics = group_statistics(label_of_op, ops.duration_ns, len(texts))
    rows: list[tuple[Value, ...]] = [
        (named[label].name, texts[label], count, total)
        for label, count, total in zip(
            statistics.groups.tolist(), statistics.counts.tolist(), statistics.totals, strict=True
        )
    ]
    rows.sort(key=lambda row: (str(row[0]), -int(row[3] or 0), str(row[1])))
    return ResultTable("full_names", "Full names", _FULL_NAME_COLUMNS, rows)
