"""What a summary is made for: everything at once, each GPU, or each process."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.arrays import Array
from wavescope.arrays.coded_columns import code_counts, looked_up
from wavescope.model.columns import UNKNOWN
from wavescope.model.result import ResultColumn, Value
from wavescope.model.trace import Trace, TraceTable

# Numbers up to here are counted in a table, larger ones found by sorting.
_TABLE_LIMIT = 1 << 16


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


def distinct(values: Array) -> tuple[list[int], npt.NDArray[np.integer]]:
    """The distinct integers in ascending order, and for each row the index of its own.

    The indices are as narrow as they can be: passes over them are bound by memory.
    """
    if not len(values):
        return [], np.empty(0, np.uint16)
    low, high = int(values.min()), int(values.max())
    if high - low < _TABLE_LIMIT:
        offsets = values - values.dtype.type(low)
        present = np.flatnonzero(code_counts(offsets, high - low + 1))
        index = np.zeros(high - low + 1, index_type(len(present)))
        index[present] = np.arange(len(present))
        return (present + low).tolist(), looked_up(index, offsets)
    found, inverse = np.unique(values, return_inverse=True)
    return found.tolist(), inverse.astype(index_type(len(found)), copy=False)


def index_type(count: int) -> type[np.uint16] | type[np.int64]:
    """The narrowest type used for indices below `count`."""
    return np.uint16 if count < _TABLE_LIMIT else np.int64


def combine(
    scope: ScopeIndex, groups: npt.NDArray[np.integer], group_count: int
) -> tuple[npt.NDArray[np.integer], int]:
    """One number for scope and group together, and how many numbers there can be."""
    if scope.of_row is None:
        return groups, group_count
    count = len(scope.labels) * group_count
    return paired(scope.of_row, groups, group_count, count), count


def paired(
    outer: npt.NDArray[np.integer], inner: npt.NDArray[np.integer], inner_count: int, count: int
) -> npt.NDArray[np.integer]:
    """outer * inner_count + inner, of which there are `count` at most."""
    kind = index_type(count)
    combined: Array = outer.astype(kind)
    combined *= kind(inner_count)
    combined += inner.astype(kind, copy=False)
    return combined


def _known(number: int) -> int | None:
    return None if number == UNKNOWN else number
