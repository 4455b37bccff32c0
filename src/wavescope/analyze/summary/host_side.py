"""What the host did: time by call, and how long after its call an op began.

A call's time includes the calls inside it, so that totals of different categories overlap; the
share is therefore of the calls of the same category. docs/definitions.md has the details.

An op may begin before its call returns; that is normal and counted apart. An op that begins before
its call was even entered shows that the clocks of host and GPU disagree: such values stay in the
percentiles, are counted, and lead to a finding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ops.op_labels import op_labels
from wavescope.analyze.ops.op_links import op_links
from wavescope.analyze.quick_findings import clock_inversion
from wavescope.analyze.summary.kernels import (
    STATISTICS_COLUMNS,
    Scope,
    combine,
    scope_index,
    statistics_rows,
)
from wavescope.arrays.coded_columns import distinct, paired
from wavescope.arrays.groups import GroupStatistics, group_statistics
from wavescope.errors import UsageError
from wavescope.model.result import Result, ResultColumn, ResultTable, Unit, Value
from wavescope.model.trace import Trace, TraceTable
from wavescope.names.kernel_names import short_name

_KEY_COLUMNS = (
    ResultColumn("category", "Category", Unit.NAME, "kind of call"),
    ResultColumn("name", "Call", Unit.NAME, "function or operator"),
    ResultColumn("calls", "Calls", Unit.COUNT, "how often it was called"),
)


@dataclass(frozen=True)
class HostCallOptions:
    """Whether to list calls for the whole trace or for each process."""

    scope: Scope = Scope.ALL


def host_calls(trace: Trace, options: HostCallOptions | None = None) -> Result:
    """Table `calls` by category and name, largest total first; counts as facts."""
    options = options or HostCallOptions()
    if options.scope is Scope.GPU:
        raise UsageError("host calls belong to processes, not to GPUs")
    calls = trace.calls
    calls.load("start_ns", "end_ns", "name", "category", "process")
    names, name_of_row = distinct(calls["name"])
    categories, category_of_row = distinct(calls["category"])
    count = len(categories) * len(names)
    keys = paired(category_of_row, name_of_row, len(names), count)
    scope = scope_index(trace, calls, options.scope)
    groups, group_count = combine(scope, keys, count)
    statistics = group_statistics(groups, calls.duration_ns, group_count)
    places = [_place(group, count, len(names)) for group in statistics.groups.tolist()]
    texts = [
        (trace.strings[categories[category]], trace.strings[names[name]])
        for _, category, name in places
    ]
    numbers = statistics_rows(statistics, _category_totals(places, statistics.totals))
    order = sorted(
        range(len(places)), key=lambda i: (places[i][0], -statistics.totals[i], *texts[i])
    )
    rows: list[tuple[Value, ...]] = [
        (*scope.labels[places[i][0]], *texts[i], numbers[i][0], *numbers[i][1]) for i in order
    ]
    columns = (*scope.columns, *_KEY_COLUMNS, *STATISTICS_COLUMNS)
    return Result(
        "Host calls",
        [ResultTable("calls", "Host calls", columns, rows)],
        facts={"call_count": len(calls), "call_name_count": len(names)},
    )


def _category_totals(places: list[tuple[int, int, int]], totals: list[int]) -> list[int]:
    """For each place the summed totals of all places with its scope and category."""
    sums: dict[tuple[int, int], int] = {}
    for (scope, category, _), total in zip(places, totals, strict=True):
        sums[scope, category] = sums.get((scope, category), 0) + total
    return [sums[scope, category] for scope, category, _ in places]


def _place(group: int, count: int, name_count: int) -> tuple[int, int, int]:
    """Scope, category and name of a group number."""
    scope, key = divmod(group, count)
    return scope, *divmod(key, name_count)


@dataclass(frozen=True)
class LaunchLatencyOptions:
    """Whether kernels are listed by short or by full name."""

    full_names: bool = False


@dataclass(frozen=True)
class _Latencies:
    """One entry for each linked op."""

    ops: TraceTable
    after_start_ns: npt.NDArray[np.int64]
    after_return_ns: npt.NDArray[np.int64]
    shares_call: npt.NDArray[np.bool_]


def launch_latency(trace: Trace, options: LaunchLatencyOptions | None = None) -> Result:
    """Tables `launch_gpus` and `launch_kernels`; how many ops have no call as a fact."""
    options = options or LaunchLatencyOptions()
    trace.ops.load("id", "start_ns", "gpu", "name", "type")
    trace.calls.load("id", "start_ns", "end_ns")
    links = trace.derived(op_links)
    starts_ns = trace.ops["start_ns"][links.op_rows]
    ops_of_call = np.bincount(links.call_rows, minlength=len(trace.calls))
    latencies = _Latencies(
        ops=trace.ops.take(links.op_rows),
        after_start_ns=starts_ns - trace.calls["start_ns"][links.call_rows],
        after_return_ns=starts_ns - trace.calls["end_ns"][links.call_rows],
        shares_call=ops_of_call[links.call_rows] > 1,
    )
    return Result(
        "Launch to start",
        [_gpu_table(trace, latencies), _kernel_table(trace, latencies, options)],
        clock_inversion(latencies.after_start_ns),
        {
            "linked_op_count": len(links.op_rows),
            "unlinked_op_count": len(trace.ops) - len(links.op_rows),
            "dangling_link_count": links.dangling_count,
            "repeated_link_count": links.repeated_count,
            "inverted_op_count": int(np.count_nonzero(latencies.after_start_ns < 0)),
        },
    )


_LATENCY_COLUMNS = (
    ResultColumn("linked_count", "Linked ops", Unit.COUNT, "ops whose call is known"),
    ResultColumn(
        "shared_call_count", "Of shared calls", Unit.COUNT, "ops of calls that caused several"
    ),
    ResultColumn("inverted_count", "Inverted", Unit.COUNT, "ops that began before their call"),
    ResultColumn(
        "before_return_count",
        "Before return",
        Unit.COUNT,
        "ops that began before the call returned",
    ),
    ResultColumn("start_p50_ns", "Start p50", Unit.NS, "op start - call start, median"),
    ResultColumn("start_p95_ns", "Start p95", Unit.NS, "op start - call start, 95th percentile"),
    ResultColumn("start_max_ns", "Start max", Unit.NS, "op start - call start, largest"),
    ResultColumn("return_p50_ns", "Return p50", Unit.NS, "op start - call end, median"),
    ResultColumn("return_p95_ns", "Return p95", Unit.NS, "op start - call end, 95th percentile"),
    ResultColumn("return_max_ns", "Return max", Unit.NS, "op start - call end, largest"),
)


def _latency_rows(
    latencies: _Latencies, groups: npt.NDArray[np.integer], group_count: int
) -> tuple[list[int], list[tuple[Value, ...]]]:
    """The groups that have linked ops, and for each the values of `_LATENCY_COLUMNS`."""
    after_start = group_statistics(groups, latencies.after_start_ns, group_count)
    after_return = group_statistics(groups, latencies.after_return_ns, group_count)
    flags = (
        latencies.shares_call,
        latencies.after_start_ns < 0,
        latencies.after_return_ns < 0,
    )
    counts = [
        np.bincount(groups[flag], minlength=group_count)[after_start.groups] for flag in flags
    ]
    rows = zip(
        after_start.counts.tolist(),
        *(count.tolist() for count in counts),
        *_points(after_start),
        *_points(after_return),
        strict=True,
    )
    return after_start.groups.tolist(), list(rows)


def _points(statistics: GroupStatistics) -> Sequence[list[int]]:
    return (
        statistics.percentiles(50).tolist(),
        statistics.percentiles(95).tolist(),
        statistics.maxima.tolist(),
    )


def _gpu_table(trace: Trace, latencies: _Latencies) -> ResultTable:
    gpus, gpu_of_op = distinct(trace.ops["gpu"])
    op_counts = np.bincount(gpu_of_op, minlength=len(gpus)).tolist()
    number = {gpu: index for index, gpu in enumerate(gpus)}
    linked_gpus, gpu_of_latency = distinct(latencies.ops["gpu"])
    groups, values = _latency_rows(latencies, gpu_of_latency, len(linked_gpus))
    rows: list[tuple[Value, ...]] = []
    for group, row in zip(groups, values, strict=True):
        linked_count = row[0]
        assert isinstance(linked_count, int)
        gpu = linked_gpus[group]
        rows.append((gpu, op_counts[number[gpu]] - linked_count, *row))
    columns = (
        ResultColumn("gpu", "GPU", meaning="GPU number in the trace"),
        ResultColumn("unlinked_count", "Unlinked ops", Unit.COUNT, "ops without a known call"),
        *_LATENCY_COLUMNS,
    )
    return ResultTable("launch_gpus", "Launch to start by GPU", columns, rows)


def _kernel_table(
    trace: Trace, latencies: _Latencies, options: LaunchLatencyOptions
) -> ResultTable:
    labels = op_labels(trace, latencies.ops)
    names = labels.texts if options.full_names else [short_name(text) for text in labels.texts]
    distinct_names = sorted(set(names))
    number = {name: index for index, name in enumerate(distinct_names)}
    groups, values = _latency_rows(
        latencies,
        labels.for_each_op(np.array([number[name] for name in names], np.int64)),
        len(distinct_names),
    )
    rows: list[tuple[Value, ...]] = [
        (distinct_names[group], *row) for group, row in zip(groups, values, strict=True)
    ]
    # Where most time may be won: many ops that begin late.
    rows.sort(key=lambda row: (-_as_int(row[1]) * _as_int(row[5]), str(row[0])))
    columns = (
        ResultColumn("name", "Name", Unit.NAME, "kernel, or type of a copy or fill"),
        *_LATENCY_COLUMNS,
    )
    return ResultTable("launch_kernels", "Launch to start by kernel", columns, rows)


def _as_int(value: Value) -> int:
    assert isinstance(value, int)
    return value
