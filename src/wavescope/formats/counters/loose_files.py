"""Counter CSVs outside of workload folders: what rocprofv3, rocpd and others write, in either form.

Columns are found by name in any casing. Rows with the same process, dispatch, kernel and start are
one run of a dispatch; the same dispatch with another start is another run of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from wavescope.errors import UnreadableInputError
from wavescope.formats.counters.machine_files import machine_beside
from wavescope.formats.counters.number_rows import real_number
from wavescope.formats.csv_blocks import CsvBlocks, header_names
from wavescope.formats.files import ByteStream
from wavescope.model.dispatch_counters import (
    COLLECT_HINT,
    CountedDispatch,
    CounterName,
    DispatchCounters,
    ValueSum,
    counter_name,
    united,
)

KERNEL_COLUMNS = ("kernel_name", "kernelname", "name")
_DISPATCH_COLUMNS = ("dispatch_id", "dispatch", "index", "correlation_id")
_PROCESS_COLUMNS = ("process_id", "pid", "guid")
_START_COLUMNS = ("start_timestamp", "beginns", "start")
_END_COLUMNS = ("end_timestamp", "endns", "end")
_HEADER_BYTES = 1 << 20
_DISPATCH_LIMIT = 2_000_000

_MOST_FILES = 1_000

Key = tuple[str, str, str, str]
Wanted = Callable[[str], bool]


def read_counter_files(
    paths: Sequence[Path],
    wanted: Wanted,
    read_trace: Callable[[Path], DispatchCounters],
    watched: Callable[[Path], AbstractContextManager[object]] = nullcontext,
) -> DispatchCounters:
    """The dispatches of counter CSVs, of all CSVs in folders, and of traces.

    `read_trace` reads files that are no CSV; `watched` surrounds the reading of each file. What a
    folder holds beside counters is passed over.
    """
    parts = []
    skipped = None
    for path, is_named in _files(paths):
        with watched(path):
            if not path.name.lower().endswith((".csv", ".csv.gz")):
                parts.append(read_trace(path))
                continue
            try:
                parts.append(read_counter_csv(path, wanted))
            except UnreadableInputError as error:
                if is_named:
                    raise
                skipped = error
    if skipped is not None and not parts:
        raise skipped
    return united(parts)


def _files(paths: Sequence[Path]) -> Iterator[tuple[Path, bool]]:
    """The files to read, and whether each was named itself."""
    for path in paths:
        if not path.is_dir():
            yield path, True
            continue
        found = [each for each in sorted(path.rglob("*.csv"))[:_MOST_FILES] if is_counter_csv(each)]
        if not found:
            raise UnreadableInputError(path, "no counter CSV in it", hint=COLLECT_HINT)
        yield from ((each, False) for each in found)


def is_counter_csv(path: Path) -> bool:
    """Whether the header names kernels and dispatches, and counters in either form."""
    with ByteStream(path) as stream:
        head = stream.read(_HEADER_BYTES)
    header = header_names(head.split(b"\n", 1)[0].decode("utf-8", "replace"))
    has_rows = _first_of(header, KERNEL_COLUMNS) is not None
    is_long = {"counter_name", "counter_value"} <= set(header)
    return has_rows and (is_long or any(_looks_counted(name) for name in header))


def read_counter_csv(path: Path, wanted: Wanted) -> DispatchCounters:
    """The dispatches of one file with those counters whose name (without `_sum`) is wanted."""
    with CsvBlocks(path, free_text=KERNEL_COLUMNS) as blocks:
        columns = _Columns(path, blocks.header)
        reader = _Reader(path, columns, wanted)
        for rows in blocks.rows():
            reader.add(rows)
        notes = tuple(blocks.notes())
    chip, product = machine_beside(path)
    return DispatchCounters((str(path),), reader.dispatches(), chip, product, notes)


class _Columns:
    """Where the columns of a file are."""

    def __init__(self, path: Path, header: Sequence[str]) -> None:
        kernel = _first_of(header, KERNEL_COLUMNS)
        if kernel is None:
            raise UnreadableInputError(
                path,
                "no column Kernel_Name: this is no counter CSV",
                hint="rocprofv3 --pmc ... -f csv writes *_counter_collection.csv",
            )
        self.kernel = kernel
        self.dispatch = _first_of(header, _DISPATCH_COLUMNS)
        self.process = _first_of(header, _PROCESS_COLUMNS)
        self.start = _first_of(header, _START_COLUMNS)
        self.end = _first_of(header, _END_COLUMNS)
        self.counter = _first_of(header, ("counter_name",))
        self.value = _first_of(header, ("counter_value",))
        self.header = header


class _Reader:
    """Collects values by dispatch, in the order of first appearance."""

    def __init__(self, path: Path, columns: _Columns, wanted: Wanted) -> None:
        self._path = path
        self._columns = columns
        self._wanted = wanted
        self._values: dict[Key, ValueSum] = {}
        self._durations: dict[Key, int | None] = {}
        self._names: dict[str, CounterName | None] = {}
        self._seen = 0
        is_long = columns.counter is not None and columns.value is not None
        self._wide = [] if is_long else list(self._wide_counters())
        if not is_long and not self._wide:
            raise UnreadableInputError(
                path,
                "it has none of the counters that are needed",
                hint="docs/traffic.md lists which to collect, at most four of them per pass",
            )

    def add(self, rows: Sequence[Sequence[str]]) -> None:
        """Take a block of rows."""
        for row in rows:
            self._seen += 1
            key = self._key(row)
            if self._wide:
                self._add_wide(key, row)
            else:
                self._add_long(key, row)

    def dispatches(self) -> list[CountedDispatch]:
        """One for each dispatch that has a wanted counter."""
        return [
            CountedDispatch(0, key[1], key[2], self._durations[key], values.values())
            for key, values in self._values.items()
        ]

    def _add_long(self, key: Key, row: Sequence[str]) -> None:
        columns = self._columns
        assert columns.counter is not None
        assert columns.value is not None
        name = self._counter(row[columns.counter])
        if name is not None:
            self._count(key, row, name, row[columns.value])

    def _add_wide(self, key: Key, row: Sequence[str]) -> None:
        for place, name in self._wide:
            self._count(key, row, name, row[place])

    def _count(self, key: Key, row: Sequence[str], name: CounterName, text: str) -> None:
        value = _number(text)
        if value is None:
            return
        values = self._values.get(key)
        if values is None:
            if len(self._values) >= _DISPATCH_LIMIT:
                raise UnreadableInputError(self._path, "more than 2 million dispatches")
            values = self._values[key] = ValueSum()
            self._durations[key] = self._duration(row)
        values.add(name, value)

    def _key(self, row: Sequence[str]) -> Key:
        columns = self._columns
        process = row[columns.process] if columns.process is not None else ""
        dispatch = row[columns.dispatch] if columns.dispatch is not None else str(self._seen)
        start = row[columns.start] if columns.start is not None else ""
        return process, dispatch, row[columns.kernel].strip(), start

    def _duration(self, row: Sequence[str]) -> int | None:
        columns = self._columns
        if columns.start is None or columns.end is None:
            return None
        start, end = _integer(row[columns.start]), _integer(row[columns.end])
        return end - start if start is not None and end is not None and end > start else None

    def _counter(self, text: str) -> CounterName | None:
        if text not in self._names:
            name = counter_name(text)
            self._names[text] = name if name is not None and self._wanted(name.base) else None
        return self._names[text]

    def _wide_counters(self) -> Iterator[tuple[int, CounterName]]:
        """Places of wanted counters; of a counter that passes repeat, the first is meant."""
        seen = set()
        for place, text in enumerate(self._columns.header):
            name = self._counter(text)
            if name is not None and text not in seen:
                seen.add(text)
                yield place, name


def _first_of(header: Sequence[str], names: Sequence[str]) -> int | None:
    return next((header.index(name) for name in names if name in header), None)


def _looks_counted(column: str) -> bool:
    return column.startswith(("tcc_", "tcp_", "sq_", "gl2c_", "grbm_", "ta_", "td_", "fetch_size"))


def _number(text: str) -> float | None:
    value = real_number(text)
    return value if math.isfinite(value) and value >= 0 else None


def _integer(text: str) -> int | None:
    """A time with all its digits; None for 1.4E+15, to which spreadsheets round them."""
    digits, _, fraction = text.strip().partition(".")
    is_exact = digits.isdecimal() and len(digits) < 20 and (not fraction or fraction.isdecimal())
    return int(digits) if is_exact else None
