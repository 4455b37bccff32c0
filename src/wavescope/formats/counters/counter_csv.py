"""Reads counter CSVs, whoever wrote them: rocprofv3, rocpd, ROCm Compute Profiler, wavescope.

A file is wide (a row for each dispatch, a column for each counter) or long (a row for each dispatch
and counter). Columns are found by name, in the spellings of all of these tools.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from pathlib import Path

import numpy as np

from wavescope.errors import UnreadableInputError
from wavescope.formats.counters.counter_columns import (
    PASSES_OF_A_WORKLOAD,
    RUNS,
    SPELLINGS,
    WIDE,
    CounterColumns,
    LongForm,
    Repeated,
    Wanted,
)
from wavescope.formats.counters.number_rows import (
    NO_NUMBER,
    NumberRows,
    exact_number,
    last_number,
    real_numbers,
    whole_number,
    whole_numbers,
)
from wavescope.formats.csv_blocks import CsvBlocks
from wavescope.model.counters import (
    LAUNCH_COLUMNS,
    CounterTable,
    Floats,
    Integers,
    kernel_names_and_codes,
)
from wavescope.model.progress import Notes
from wavescope.model.workload_layout import (
    COUNTER,
    COUNTER_NAME,
    COUNTER_VALUE,
    DISPATCH_ID,
    END,
    GPU_ID,
    KERNEL_NAME,
    PROCESS_ID,
    START,
)

_KEPT = (KERNEL_NAME, DISPATCH_ID, PROCESS_ID, GPU_ID, START, END, *LAUNCH_COLUMNS)
"""What is known of a dispatch beside its counters."""
_MOST_CELLS = 1 << 27
"""Dispatches times counters of a long file: more is no file of counters."""

Rows = Sequence[Sequence[str]]
Times = tuple[Integers | None, Floats]
"""When dispatches began and how long they took."""


def is_counter(column: str) -> bool:
    """Whether a column is called as counters are."""
    return COUNTER.fullmatch(column) is not None


def opened_counters(path: Path) -> CsvBlocks:
    """A file of counters, in either form."""
    return CsvBlocks(path, SPELLINGS[KERNEL_NAME])


def is_long_form(path: Path) -> bool:
    """Whether the file has one row for each counter."""
    with opened_counters(path) as blocks:
        return CounterColumns(blocks.names).is_long


def read_counter_csv(path: Path, wanted: Wanted) -> CounterTable:
    """The dispatches of one file in either form, as runs of their own."""
    if is_long_form(path):
        return read_long_form([path], wanted, RUNS)
    table = read_wide_form(path, wanted, rounded_times=False)
    if not table.counters:
        raise UnreadableInputError(
            path,
            "it has none of the counters that are needed",
            hint="docs/traffic.md lists which to collect, at most four of them per pass",
        )
    return table


def read_wide_form(
    path: Path, wanted: Wanted = is_counter, *, rounded_times: bool = True
) -> CounterTable:
    """All dispatches of a file with a row for each, and the wanted ones of its counters.

    Times to which a spreadsheet has left but a few digits count only with `rounded_times`.
    """
    with opened_counters(path) as blocks:
        columns = CounterColumns(blocks.names)
        columns.require(path, WIDE)
        reader = _WideReader(path, columns, columns.numbers(wanted))
        for rows in blocks.rows():
            reader.add(rows)
        return reader.table(blocks.notes(), rounded_times=rounded_times)


def read_long_form(
    paths: Sequence[Path], wanted: Wanted | None = None, form: LongForm = PASSES_OF_A_WORKLOAD
) -> CounterTable:
    """The dispatches of all files with the wanted counters, or all of them.

    Files that cannot be read are noted, unless there are no others.
    """
    pivot = CounterPivot(form, wanted)
    failures = [failure for path in paths if (failure := _failure(pivot, path)) is not None]
    if len(failures) == len(paths):
        raise failures[0]
    for failure in failures:
        pivot.notes.add(f"{Path(failure.path).name} was left out: {failure.reason}")
    return pivot.table(paths[0])


def _failure(pivot: CounterPivot, path: Path) -> UnreadableInputError | None:
    """Add a file to the pivot; what was wrong with it, if anything."""
    try:
        pivot.add_file(path)
    except UnreadableInputError as error:
        return error
    return None


class _WideReader:
    """Turns rows of text into columns of numbers."""

    def __init__(
        self, path: Path, columns: CounterColumns, numbers: Sequence[tuple[str, int]]
    ) -> None:
        self._path = path
        self._columns = columns
        self._numbers = numbers
        self._cells: dict[str, list[str]] = {
            name: []
            for name in (KERNEL_NAME, DISPATCH_ID, GPU_ID, START, END)
            if name in columns.places
        }
        self._values = NumberRows(len(numbers))

    def add(self, rows: Rows) -> None:
        """Take a block of rows."""
        for name, cells in self._cells.items():
            cells.extend(map(itemgetter(self._columns.places[name]), rows))
        places = [place for _, place in self._numbers]
        if len(places) == 1:
            for row in rows:
                self._values.add((row[places[0]],))
        elif places:
            for cells in map(itemgetter(*places), rows):
                self._values.add(cells)

    def table(self, notes: Iterable[str], *, rounded_times: bool) -> CounterTable:
        """All rows as a table."""
        found = Notes()
        repeated = [name for name, count in Counter(self._columns.names).items() if count > 1]
        repeated = [name for name in repeated if name]
        if repeated:
            found.add(
                f"{self._path.name}: column {repeated[0]} is there twice, the first one counts"
                + (f" (and {len(repeated) - 1} more such columns)" if len(repeated) > 1 else "")
            )
        for note in notes:
            found.add(note)
        matrix = self._values.matrix()
        columns = {name: matrix[:, place] for place, (name, _) in enumerate(self._numbers)}
        times = self._times(whole_number if rounded_times else exact_number)
        return _counter_table(self._path, self._cells, columns, times, found)

    def _times(self, number: Callable[[str], int]) -> Times:
        if START not in self._cells or END not in self._cells:
            return None, np.full(len(self._cells[KERNEL_NAME]), np.nan)
        starts, ends = (whole_numbers(self._cells[name], number) for name in (START, END))
        return starts, _differences(starts, ends)


class CounterPivot:
    """Collects rows of dispatch, counter and value, and lays them out as columns of counters."""

    def __init__(self, form: LongForm, wanted: Wanted | None = None) -> None:
        self.notes = Notes()
        self._form = form
        self._wanted = wanted
        self._is_wanted: dict[str, bool] = {}
        self._dispatches: dict[tuple[int, tuple[object, ...]], int] = {}
        self._first: dict[str, list[str]] = {name: [] for name in _KEPT}
        self._counters: dict[str, int] = {}
        self._rows: list[Integers] = []
        self._places: list[Integers] = []
        self._values: list[Floats] = []
        self._spans: list[Floats] = []
        self._file_of: list[int] = []
        self._file = 0
        self._row_numbers = itertools.count()
        self._spoiled = 0

    @property
    def count(self) -> int:
        """How many dispatches there are so far."""
        return len(self._dispatches)

    @property
    def process_count(self) -> int:
        """How many processes launched the dispatches."""
        return len(set(zip(self._file_of, self._first[PROCESS_ID], strict=True)))

    def add_file(self, path: Path) -> None:
        """Take all rows of a CSV."""
        with opened_counters(path) as blocks:
            columns = CounterColumns(blocks.names)
            columns.require(path, self._form)
            for rows in blocks.rows():
                self.add(columns, rows)
            self.end_file(path.name, blocks.notes())

    def add(self, columns: CounterColumns, rows: Rows) -> None:
        """Take rows of one file."""
        at = columns.places
        if self._wanted is not None:
            rows = [row for row in rows if self._wants(self._wanted, row[at[COUNTER_NAME]])]
        values = real_numbers([row[at[COUNTER_VALUE]] for row in rows])
        known = np.isfinite(values)
        if not known.all():
            self._spoiled += int((~known).sum())
            rows, values = list(itertools.compress(rows, known.tolist())), values[known]
        self._rows.append(np.array(self._dispatch_numbers(at, rows), dtype=np.int64))
        names = map(itemgetter(at[COUNTER_NAME]), rows)
        places = [self._counters.setdefault(name, len(self._counters)) for name in names]
        self._places.append(np.array(places, dtype=np.int64))
        self._values.append(values)
        if self._form.repeated is Repeated.MEAN:
            starts, ends = (whole_numbers([row[at[name]] for row in rows]) for name in (START, END))
            self._spans.append(_differences(starts, ends))

    def end_file(self, name: str, notes: Iterable[str] = ()) -> None:
        """Keep what is to be said of the file that was added."""
        for note in notes:
            self.notes.add(note)
        if self._spoiled:
            self.notes.add(f"{name}: {self._spoiled:,} values are not numbers and were left out")
            self._spoiled = 0
        self._file += 1

    def table(self, path: Path) -> CounterTable:
        """The dispatches in the order in which they first appear."""
        count, width = self.count, len(self._counters)
        if count * width > _MOST_CELLS:
            raise UnreadableInputError(path, f"{count:,} dispatches have {width:,} counters")
        rows = np.concatenate([*self._rows, np.zeros(0, np.int64)])
        flat = rows * width + np.concatenate([*self._places, np.zeros(0, np.int64)])
        values = np.concatenate([*self._values, np.zeros(0)])
        matrix = self._matrix(flat, values, count * width).reshape(count, width)
        columns = {name: matrix[:, place] for name, place in self._counters.items()}
        for name in LAUNCH_COLUMNS:
            if any(self._first[name]):
                columns[name] = real_numbers(self._first[name])
        cells = {
            name: column
            for name, column in self._first.items()
            if name == KERNEL_NAME or any(column)  # a dispatch has a kernel, named or not
        }
        return _counter_table(path, cells, columns, self._times(rows), self.notes)

    def _matrix(self, cells: Integers, values: Floats, count: int) -> Floats:
        """The value of each of `count` cells, NaN for those without any."""
        totals = np.bincount(cells, weights=values, minlength=count)
        seen = np.bincount(cells, minlength=count)
        shared = np.maximum(seen, 1) if self._form.repeated is Repeated.MEAN else 1
        return np.where(seen > 0, totals / shared, np.nan)

    def _wants(self, wanted: Wanted, name: str) -> bool:
        if name not in self._is_wanted:
            self._is_wanted[name] = wanted(name)
        return self._is_wanted[name]

    def _dispatch_numbers(self, at: Mapping[str, int], rows: Rows) -> list[int]:
        """The number of each row's dispatch; the cells of a new one are kept."""
        known = self._dispatches
        before = len(known)
        file = -1 if self._form.joins_files else self._file
        columns: list[Iterable[object]] = [
            [row[at[name]] for row in rows] for name in self._form.key if name in at
        ]
        if DISPATCH_ID not in at:  # each row is a dispatch of its own
            columns.append(itertools.islice(self._row_numbers, len(rows)))
        numbers: list[int] = []
        new: list[Sequence[str]] = []
        for row, key in zip(rows, zip(*columns, strict=True), strict=True):
            number = known.setdefault((file, key), len(known))
            if number == before + len(new):
                new.append(row)
            numbers.append(number)
        for name, cells in self._first.items():
            cells.extend([row[at[name]] for row in new] if name in at else [""] * len(new))
        self._file_of += [self._file] * len(new)
        return numbers

    def _times(self, rows: Integers) -> Times:
        if self._form.repeated is Repeated.SUM:
            starts, ends = (whole_numbers(self._first[name], exact_number) for name in (START, END))
            return starts, _differences(starts, ends)
        spans = np.concatenate([*self._spans, np.zeros(0)])
        order = np.argsort(rows, kind="stable")
        bounds = np.searchsorted(rows[order], np.arange(self.count + 1))
        medians = [
            np.median(spans[order[first:last]])
            for first, last in itertools.pairwise(bounds.tolist())
        ]
        return None, np.array(medians, dtype=np.float64)


def _counter_table(
    path: Path,
    cells: Mapping[str, Sequence[str]],
    columns: Mapping[str, Floats],
    times: Times,
    notes: Notes,
) -> CounterTable:
    names, codes = kernel_names_and_codes(name.strip() for name in cells.get(KERNEL_NAME, ()))
    ids = cells.get(DISPATCH_ID)
    agents = {cell: last_number(cell) for cell in set(cells.get(GPU_ID, ()))}
    gpus = [agents[cell] for cell in cells.get(GPU_ID, ())]
    starts, durations = times
    return CounterTable(
        str(path),
        names,
        codes,
        np.arange(len(codes), dtype=np.int64) if ids is None else whole_numbers(ids),
        np.array(gpus, dtype=np.int64) if gpus else np.zeros(len(codes), dtype=np.int64),
        durations,
        columns,
        starts_ns=starts,
        notes=notes,
    )


def _differences(starts: Integers, ends: Integers) -> Floats:
    """End minus start as whole numbers: times may exceed what a float holds exactly."""
    spans = (ends - starts).astype(np.float64)
    spans[(starts == NO_NUMBER) | (ends == NO_NUMBER)] = np.nan
    return spans
