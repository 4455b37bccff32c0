"""Colours by process: which rank launched an op, and whose calls and markers a row shows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from wavescope.arrays.coded_columns import looked_up
from wavescope.model.source import Batch
from wavescope.view.colouring.code_classes import Classes
from wavescope.view.lanes import Lane
from wavescope.view.opening import TraceView
from wavescope.view.rows import Row, RowLabels

MOST_PROCESSES = 22
"""The others are one class."""
REST = "other processes"
UNKNOWN = "no known process"
_COLUMN = "process_class"


class _Processes(NamedTuple):
    labels: tuple[str, ...]
    of_process: Classes
    """The last entry answers for -1, an unknown process."""


class ProcessColouring:
    """Processes in the order of the trace, called as the rows of the host are."""

    id = "process"
    title = "Process"

    def labels(self, view: TraceView) -> tuple[str, ...]:
        """The processes, the others, and what belongs to none."""
        view.require_whole()
        return view.derived(_processes).labels

    def classes(self, view: TraceView, row: Row, lane: Lane) -> Classes:
        """By the process of each op; of calls and markers by that of the row."""
        view.require_whole()
        found = view.derived(_processes)
        if row.table != "ops":
            process = _process_of(row)
            known = -1 <= process < len(found.of_process) - 1
            number = found.of_process[process if known else -1]
            return np.full(len(lane), number, np.uint8)
        classes: Classes = looked_up(view.derived(_of_ops), lane.rows)
        return classes


def _process_of(row: Row) -> int:
    """The row in `processes` that is part of the id of rows of the host: `calls/P/T`."""
    parts = row.id.split("/")
    try:
        return int(parts[1])
    except (IndexError, ValueError):
        return -1


def _processes(view: TraceView) -> _Processes:
    table = view.trace.processes
    numbers = table["id"].tolist()[:MOST_PROCESSES]
    called = RowLabels(view.trace.source)
    labels = _distinct([called.process(number) for number in numbers])
    of_process = np.full(int(table["id"].max(initial=-1)) + 2, len(labels), np.uint8)
    of_process[-1] = len(labels) + 1
    of_process[numbers] = np.arange(len(numbers))
    return _Processes((*labels, REST, UNKNOWN), of_process)


def _distinct(labels: list[str]) -> list[str]:
    """The same, with a number behind those that occur several times."""
    seen: dict[str, int] = {}
    found = []
    for label in labels:
        seen[label] = seen.get(label, 0) + 1
        found.append(label if seen[label] == 1 else f"{label} [{seen[label]}]")
    return found


def _of_ops(view: TraceView) -> Classes:
    """One byte per op, made batch by batch."""
    of_process = view.derived(_processes).of_process

    def classes(batch: Batch) -> Batch:
        known = np.clip(batch["process"], -1, len(of_process) - 2)
        return {_COLUMN: looked_up(of_process, known)}

    view.trace.ops.derive(["process"], classes)
    found: Classes = view.trace.ops[_COLUMN]
    return found
