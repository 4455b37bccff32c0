"""Memory copies by direction: how many, how much, how fast; and the largest of them.

A rate is the bytes of the copies whose size is known by the summed duration of the same copies, in
GB/s of 10^9 bytes. Copies made by kernels are kernels; their number is a fact of the result.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ops.op_links import op_links, rows_of_ids
from wavescope.analyze.summary.kernels import Scope, ScopeIndex, combine, scope_index
from wavescope.arrays.coded_columns import distinct
from wavescope.arrays.groups import group_statistics
from wavescope.model import columns as declared
from wavescope.model.columns import UNKNOWN
from wavescope.model.op_kinds import OpKind
from wavescope.model.result import Result, ResultColumn, ResultTable, Unit, Value
from wavescope.model.trace import Trace, TraceTable

_COPY_KERNEL = re.compile(r"__amd_rocclr_copy|^MEMORY_COPY_")


@dataclass(frozen=True)
class CopyOptions:
    """For what to add up copies, and how many of the largest to list."""

    scope: Scope = Scope.ALL
    largest: int = 10


class _Copies(NamedTuple):
    """One entry for each copy."""

    table: TraceTable
    duration_ns: npt.NDArray[np.int64]
    size_bytes: npt.NDArray[np.int64]
    """-1 where unknown."""
    direction: npt.NDArray[np.integer]
    directions: list[str]


def copies(trace: Trace, options: CopyOptions | None = None) -> Result:
    """Tables `copies` by direction and `largest_copies`; counts as facts."""
    options = options or CopyOptions()
    trace.ops.load("start_ns", "end_ns", "type", "name", "gpu", "queue")
    rows = np.flatnonzero(trace.op_kind == OpKind.COPY)
    table = trace.ops.take(rows)
    codes, direction = distinct(table["type"])
    found = _Copies(
        table=table,
        duration_ns=table.duration_ns,
        size_bytes=_sizes(trace, rows),
        direction=direction,
        directions=[trace.strings[code] for code in codes],
    )
    return Result(
        "Copies",
        [
            _direction_table(found, scope_index(trace, table, options.scope)),
            _largest_table(found, options.largest),
        ],
        facts={
            "copy_count": len(rows),
            "unknown_size_count": int(np.count_nonzero(found.size_bytes < 0)),
            "copy_kernel_count": _copy_kernel_count(trace),
        },
    )


def _sizes(trace: Trace, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.int64]:
    """The size of each copy: its own, else that of the call which caused it, else -1."""
    if not len(rows):
        return np.empty(0, np.int64)
    sizes: npt.NDArray[np.int64] = trace.ops["size_bytes"][rows].astype(np.int64)
    sizes[sizes < 0] = UNKNOWN
    launches = trace.table(declared.COPIES)
    if (sizes != UNKNOWN).all() or not len(launches):
        return sizes
    links = trace.derived(op_links)
    call_of_op = np.full(len(trace.ops), UNKNOWN, np.int64)
    call_of_op[links.op_rows] = trace.calls["id"][links.call_rows]
    # A call's arguments are found by its id, which need not be in order there.
    order = np.argsort(launches["call"], kind="stable")
    place, is_there = rows_of_ids(launches["call"][order], call_of_op[rows])
    from_call = launches["size_bytes"][order][place]
    use = (sizes == UNKNOWN) & is_there & (from_call >= 0)
    sizes[use] = from_call[use]
    return sizes


def _copy_kernel_count(trace: Trace) -> int:
    names = trace.ops.code_counts("name").codes.tolist()
    copying = [code for code in names if _COPY_KERNEL.search(trace.strings[code][:256])]
    if not copying:
        return 0
    is_copy = np.isin(trace.ops["name"], copying) & (trace.op_kind == OpKind.KERNEL)
    return int(np.count_nonzero(is_copy))


_DIRECTION_COLUMNS = (
    ResultColumn("direction", "Direction", Unit.NAME, "type of the copies"),
    ResultColumn("count", "Copies", Unit.COUNT, "number of copies"),
    ResultColumn("time_ns", "Time", Unit.NS, "sum of durations"),
    ResultColumn("bytes", "Bytes", Unit.BYTES, "sum of the known sizes"),
    ResultColumn("rate_gb_per_s", "GB/s", Unit.GB_PER_S, "known bytes / their time, 10^9 bytes"),
    ResultColumn("unknown_size_count", "Unknown", Unit.COUNT, "copies whose size is not known"),
    ResultColumn("median_bytes", "Median size", Unit.BYTES, "nearest-rank median of known sizes"),
    ResultColumn("median_ns", "Median time", Unit.NS, "nearest-rank median duration"),
    ResultColumn("max_ns", "Longest", Unit.NS, "longest copy"),
)


def _direction_table(found: _Copies, scope: ScopeIndex) -> ResultTable:
    groups, group_count = combine(scope, found.direction, len(found.directions))
    times = group_statistics(groups, found.duration_ns, group_count)
    known = found.size_bytes != UNKNOWN
    sizes = group_statistics(groups[known], found.size_bytes[known], group_count)
    known_times = group_statistics(groups[known], found.duration_ns[known], group_count)
    known_by_group = {
        group: (count, total, median, time)
        for group, count, total, median, time in zip(
            sizes.groups.tolist(),
            sizes.counts.tolist(),
            sizes.totals,
            sizes.percentiles(50).tolist(),
            known_times.totals,
            strict=True,
        )
    }
    keyed: list[tuple[int, int, str, tuple[Value, ...]]] = []
    for group, count, total, median_ns, max_ns in zip(
        times.groups.tolist(),
        times.counts.tolist(),
        times.totals,
        times.percentiles(50).tolist(),
        times.maxima.tolist(),
        strict=True,
    ):
        place, number = divmod(group, len(found.directions))
        known_count, size, median, known_ns = known_by_group.get(group, (0, None, None, 0))
        numbers = (size, _rate(size, known_ns), count - known_count, median, median_ns, max_ns)
        direction = found.directions[number]
        row = (*scope.labels[place], direction, count, total, *numbers)
        keyed.append((place, -total, direction, row))
    keyed.sort(key=lambda entry: entry[:3])
    return ResultTable(
        "copies",
        "Copies",
        (*scope.columns, *_DIRECTION_COLUMNS),
        [entry[3] for entry in keyed],
    )


def _rate(size_bytes: int | None, duration_ns: int) -> float | None:
    """Bytes per nanosecond, which is GB/s; None where either is unknown or no time passed."""
    return size_bytes / duration_ns if size_bytes is not None and duration_ns > 0 else None


_LARGEST_COLUMNS = (
    ResultColumn("op", "Op", meaning="row id of the copy"),
    ResultColumn("direction", "Direction", Unit.NAME, "type of the copy"),
    ResultColumn("gpu", "GPU", meaning="GPU number in the trace"),
    ResultColumn("queue", "Queue", meaning="queue or stream number within the GPU"),
    ResultColumn("start_ns", "Start", Unit.TIME, "when it began"),
    ResultColumn("duration_ns", "Time", Unit.NS, "how long it took"),
    ResultColumn("bytes", "Bytes", Unit.BYTES, "its size, where known"),
    ResultColumn("rate_gb_per_s", "GB/s", Unit.GB_PER_S, "size / time, 10^9 bytes"),
)


def _largest_table(found: _Copies, count: int) -> ResultTable:
    """The copies of the largest sizes; those of unknown size after them, longest first."""
    # Of equal ones the earliest, since ids differ from one format to the other.
    ties = ("id", "gpu", "start_ns") if len(found.size_bytes) else ()
    keys = (*(found.table[name] for name in ties), -found.duration_ns, -found.size_bytes)
    order = np.lexsort(keys)[:count]
    rows = [_copy_row(found, index) for index in order.tolist()]
    return ResultTable(
        "largest_copies", "Largest copies", _LARGEST_COLUMNS, rows, len(found.duration_ns)
    )


def _copy_row(found: _Copies, index: int) -> tuple[Value, ...]:
    size = int(found.size_bytes[index])
    size_bytes = None if size == UNKNOWN else size
    duration_ns = int(found.duration_ns[index])
    place: Sequence[int] = [
        int(found.table[name][index]) for name in ("id", "gpu", "queue", "start_ns")
    ]
    return (
        place[0],
        found.directions[int(found.direction[index])],
        *place[1:],
        duration_ns,
        size_bytes,
        _rate(size_bytes, duration_ns),
    )
