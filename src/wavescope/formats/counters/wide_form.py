"""Reads counters in wide form: a row for each dispatch, a column for each counter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter
from pathlib import Path

import numpy as np

from wavescope.errors import UnreadableInputError
from wavescope.formats.counters.number_rows import NO_NUMBER, NumberRows, whole_number
from wavescope.formats.csv_blocks import CsvBlocks
from wavescope.model.counters import LAUNCH_COLUMNS, Floats, Integers
from wavescope.model.workload_layout import (
    COUNTER,
    END,
    INTEGER_COLUMNS,
    KERNEL_NAME,
    START,
    present_name,
)


@dataclass
class PassTable:
    """The rows of one file: names, whole numbers and values of counters."""

    path: Path
    kernels: list[str]
    integers: dict[str, Integers]
    values: dict[str, Floats]
    durations_ns: Floats | None = None
    """End minus start of each dispatch, where the file has times."""
    notes: list[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        """How many rows there are."""
        return len(self.kernels)


def read_wide_form(path: Path) -> PassTable:
    """All dispatches of a file."""
    with opened_counters(path) as blocks:
        reader = _Reader(path, blocks.names)
        table = reader.read(chain.from_iterable(blocks.rows()))
        table.notes += blocks.notes()
    return table


def opened_counters(path: Path) -> CsvBlocks:
    """A file of a workload's counters, in either form."""
    return CsvBlocks(path, (KERNEL_NAME.lower(),))


class _Reader:
    """Turns rows of text into columns of numbers."""

    def __init__(self, path: Path, header: list[str]) -> None:
        if KERNEL_NAME not in header:
            raise UnreadableInputError(
                path, f"it has no column {KERNEL_NAME}", hint="is it a file of counters?"
            )
        self._path = path
        self._notes: list[str] = []
        first_at: dict[str, int] = {}
        for index, name in enumerate(header):
            first_at.setdefault(name, index)
        repeated = [name for name, count in Counter(header).items() if count > 1 and name]
        if repeated:
            self._notes.append(
                f"{path.name}: column {repeated[0]} is there twice, the first one counts"
                + (f" (and {len(repeated) - 1} more such columns)" if len(repeated) > 1 else "")
            )
        self._kernel_at = first_at[KERNEL_NAME]
        self._integers = [(name, first_at[name]) for name in INTEGER_COLUMNS if name in first_at]
        self._numbers = [
            (present_name(name), index)
            for name, index in first_at.items()
            if name in LAUNCH_COLUMNS or COUNTER.fullmatch(name)
        ]

    def read(self, rows: Iterable[list[str]]) -> PassTable:
        kernels: list[str] = []
        integers: list[list[int]] = [[] for _ in self._integers]
        values = NumberRows(len(self._numbers))
        pick = itemgetter(*(index for _, index in self._numbers)) if self._numbers else None
        single = len(self._numbers) == 1
        for row in rows:
            kernels.append(row[self._kernel_at])
            for column, (_, index) in zip(integers, self._integers, strict=True):
                column.append(whole_number(row[index]))
            if pick is not None:
                values.add((pick(row),) if single else pick(row))
        return self._table(kernels, integers, values.matrix())

    def _table(
        self, kernels: list[str], integers: Sequence[Sequence[int]], matrix: Floats
    ) -> PassTable:
        wholes = {
            name: np.array(column, dtype=np.int64)
            for (name, _), column in zip(self._integers, integers, strict=True)
        }
        return PassTable(
            self._path,
            kernels,
            wholes,
            {name: matrix[:, place] for place, (name, _) in enumerate(self._numbers)},
            _durations_ns(wholes),
            self._notes,
        )


def _durations_ns(integers: dict[str, Integers]) -> Floats | None:
    """End minus start as whole numbers: times may exceed what a float holds exactly."""
    if START not in integers or END not in integers:
        return None
    start, end = integers[START], integers[END]
    spans = (end - start).astype(np.float64)
    spans[(start == NO_NUMBER) | (end == NO_NUMBER)] = np.nan
    return spans
