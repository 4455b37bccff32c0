"""Reads counters in long form, as dumped from rocpd files: a row for each dispatch and counter."""

from __future__ import annotations

from array import array
from itertools import chain
from pathlib import Path

import numpy as np

from wavescope.errors import UnreadableInputError
from wavescope.formats.counters.number_rows import real_number, whole_number
from wavescope.formats.counters.wide_form import PassTable, opened_counters
from wavescope.formats.csv_blocks import CsvBlocks
from wavescope.model.counters import LAUNCH_COLUMNS, Floats, Integers
from wavescope.model.workload_layout import (
    COUNTER_NAME,
    COUNTER_VALUE,
    DISPATCH_ID,
    END,
    GPU_ID,
    KERNEL_NAME,
    START,
    present_name,
)

_KEY = (DISPATCH_ID, KERNEL_NAME, "Grid_Size", "Workgroup_Size", "LDS_Per_Workgroup")
"""Rows that agree in these belong to one dispatch, whatever pass they come from."""


def is_long_form(path: Path) -> bool:
    """Whether the file has one row for each counter."""
    with opened_counters(path) as blocks:
        return COUNTER_NAME in blocks.names and COUNTER_VALUE in blocks.names


def read_long_form(paths: list[Path]) -> PassTable:
    """The dispatches of all files, one column for each counter.

    A dispatch that was measured in several passes gets the median of its durations.
    """
    pivot = _Pivot(paths[0])
    failures = [error for path in paths if (error := _added(pivot, path))]
    if len(failures) == len(paths):
        raise failures[0]
    table = pivot.table()
    table.notes += [f"{Path(e.path).name} was left out: {e.reason}" for e in failures]
    return table


def _added(pivot: _Pivot, path: Path) -> UnreadableInputError | None:
    """Add a file to the pivot; what was wrong with it, if anything."""
    try:
        with opened_counters(path) as blocks:
            pivot.add(blocks)
    except UnreadableInputError as error:
        return error
    return None


class _Pivot:
    """Collects (dispatch, counter, value) and lays them out as a table."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._dispatches: dict[tuple[str, ...], int] = {}
        self._first: list[dict[str, str]] = []
        self._counters: dict[str, int] = {}
        self._rows = array("q")
        self._columns = array("q")
        self._values = array("d")
        self._spans = array("q")
        self._notes: list[str] = []

    def add(self, blocks: CsvBlocks) -> None:
        """Take the rows of one file."""
        header = blocks.names
        missing = {*_KEY, COUNTER_NAME, COUNTER_VALUE, START, END} - set(header)
        if missing:
            raise UnreadableInputError(blocks.path, f"it has no column {min(missing)}")
        at = {name: header.index(name) for name in header}
        key_at = [at[name] for name in _KEY]
        counter_at, value_at, start_at, end_at = (
            at[name] for name in (COUNTER_NAME, COUNTER_VALUE, START, END)
        )
        kept = [name for name in (*LAUNCH_COLUMNS, DISPATCH_ID, GPU_ID, KERNEL_NAME) if name in at]
        for row in chain.from_iterable(blocks.rows()):
            key = tuple([row[index] for index in key_at])
            dispatch = self._dispatches.setdefault(key, len(self._dispatches))
            if dispatch == len(self._first):
                self._first.append({name: row[at[name]] for name in kept})
            counter = self._counters.setdefault(row[counter_at], len(self._counters))
            self._rows.append(dispatch)
            self._columns.append(counter)
            self._values.append(real_number(row[value_at]))
            # Times may exceed what a float holds exactly: subtract whole numbers.
            self._spans.append(whole_number(row[end_at]) - whole_number(row[start_at]))
        self._notes += blocks.notes()

    def table(self) -> PassTable:
        """The dispatches in the order in which they first appear."""
        count, width = len(self._first), len(self._counters)
        rows = np.frombuffer(self._rows, dtype=np.int64) if count else np.zeros(0, np.int64)
        places = np.frombuffer(self._columns, dtype=np.int64) if count else np.zeros(0, np.int64)
        values = np.frombuffer(self._values, dtype=np.float64) if count else np.zeros(0)
        flat = rows * max(width, 1) + places
        # Repeated values of one counter (several passes) are averaged.
        totals = np.bincount(flat, weights=values, minlength=count * width)
        seen = np.bincount(flat, minlength=count * width)
        with np.errstate(invalid="ignore"):
            matrix = np.where(seen > 0, totals / np.maximum(seen, 1), np.nan)
        matrix = matrix.reshape(count, width)
        durations = self._median_durations(rows, count)
        columns = {present_name(name): matrix[:, place] for name, place in self._counters.items()}
        for name in LAUNCH_COLUMNS:
            if count and name in self._first[0]:
                columns[name] = np.array([real_number(first[name]) for first in self._first])
        integers = {
            name: np.array([whole_number(first[name]) for first in self._first], dtype=np.int64)
            for name in (DISPATCH_ID, GPU_ID)
            if count and name in self._first[0]
        }
        kernels = [first[KERNEL_NAME] for first in self._first]
        return PassTable(self._path, kernels, integers, columns, durations, self._notes)

    def _median_durations(self, rows: Integers, count: int) -> Floats:
        spans = np.frombuffer(self._spans, dtype=np.int64) if count else np.zeros(0, np.int64)
        order = np.argsort(rows, kind="stable")
        bounds = np.searchsorted(rows[order], np.arange(count + 1))
        return np.array(
            [np.median(spans[order[bounds[at] : bounds[at + 1]]]) for at in range(count)]
        )
