"""What a summary is made for: everything at once, each GPU, or each process."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.arrays.distinct_values import distinct, paired
from wavescope.model.columns import UNKNOWN
from wavescope.model.result import ResultColumn, Value
from wavescope.model.trace import Trace, TraceTable


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
