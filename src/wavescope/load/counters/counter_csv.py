"""Reads one CSV file of counters: wide, one row for each dispatch."""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path

import numpy as np

from wavescope.errors import UnreadableInputError
from wavescope.load.counters.number_rows import NumberRows, real_number
from wavescope.model.counters import LAUNCH_COLUMNS, Floats, Integers
from wavescope.model.workload_layout import (
    COUNTER,
    END,
    INTEGER_COLUMNS,
    KERNEL_NAME,
    START,
    present_name,
)

LONGEST_HEADER = 100_000
_NO_VALUE = -1


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


@contextmanager
def opened_csv(path: Path) -> Iterator[tuple[list[str], Iterator[list[str]]]]:
    """The header and the rows of a CSV file; bytes that are no UTF-8 are replaced."""
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
            rows = csv.reader(stream)
            header = next(rows, [])
            if len(header) > LONGEST_HEADER:
                raise UnreadableInputError(path, f"it has {len(header)} columns")
            yield [name.strip() for name in header], rows
    except OSError as error:
        raise UnreadableInputError(path, error.strerror or str(error)) from error
    except csv.Error as error:
        raise UnreadableInputError(path, f"it is no CSV: {error}") from error


def read_pass(path: Path) -> PassTable:
    """All dispatches of a wide file."""
    with opened_csv(path) as (header, rows):
        if KERNEL_NAME not in header:
            raise UnreadableInputError(
                path, f"it has no column {KERNEL_NAME}", hint="is it a file of counters?"
            )
        return _Reader(path, header).read(rows)


class _Reader:
    """Turns rows of text into columns of numbers."""

    def __init__(self, path: Path, header: list[str]) -> None:
        self._path = path
        self._width = len(header)
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

    def read(self, rows: Iterator[list[str]]) -> PassTable:
        kernels: list[str] = []
        integers: list[list[int]] = [[] for _ in self._integers]
        values = NumberRows(len(self._numbers))
        pick = itemgetter(*(index for _, index in self._numbers)) if self._numbers else None
        single = len(self._numbers) == 1
        short_rows = 0
        for row in rows:
            if len(row) != self._width:
                short_rows += bool(row)
                continue
            kernels.append(row[self._kernel_at])
            for column, (_, index) in zip(integers, self._integers, strict=True):
                column.append(whole_number(row[index]))
            if pick is not None:
                values.add((pick(row),) if single else pick(row))
        if short_rows:
            self._notes.append(
                f"{self._path.name}: {short_rows} rows have not as many cells as the header "
                "and were left out"
            )
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
    spans[(start == _NO_VALUE) | (end == _NO_VALUE)] = np.nan
    return spans


def whole_number(text: str) -> int:
    """A cell's whole number, -1 for an empty or spoiled one; spreadsheets write 1.4E+15."""
    try:
        value = int(text)
    except ValueError:
        number = real_number(text)
        value = int(number) if math.isfinite(number) else _NO_VALUE
    return value if -(1 << 63) <= value < 1 << 63 else _NO_VALUE
