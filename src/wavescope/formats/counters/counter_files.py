"""Counter files outside of workload folders: CSVs in either form, folders of them, and traces."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np

from wavescope.errors import UnreadableInputError
from wavescope.files import ByteStream
from wavescope.formats.counters.counter_columns import CounterColumns, Wanted
from wavescope.formats.counters.counter_csv import read_counter_csv
from wavescope.formats.counters.machine_files import ceilings_in, machine_beside
from wavescope.formats.csv_blocks import column_names
from wavescope.model.counters import MEMORY_COUNTERS_HINT, CounterTable, counter_name
from wavescope.model.workload_layout import KERNEL_NAME

_HEADER_BYTES = 1 << 20
_MOST_FILES = 1_000
_COUNTED = ("tcc_", "tcp_", "sq_", "gl2c_", "grbm_", "ta_", "td_", "fetch_size")


def read_counter_files(
    paths: Sequence[Path],
    wanted: Wanted,
    read_trace: Callable[[Path], CounterTable],
    watched: Callable[[Path], AbstractContextManager[object]] = nullcontext,
) -> list[CounterTable]:
    """The dispatches that have a wanted counter, file by file; counters by name without `_sum`.

    `read_trace` reads files that are no CSV; `watched` surrounds the reading of each file. What a
    folder holds beside counters is passed over.
    """
    tables = []
    skipped = None
    for path, is_named in _files(paths):
        with watched(path):
            if not path.name.lower().endswith((".csv", ".csv.gz")):
                tables.append(read_trace(path))
                continue
            try:
                tables.append(read_counter_file(path, wanted))
            except UnreadableInputError as error:
                if is_named:
                    raise
                skipped = error
    if skipped is not None and not tables:
        raise skipped
    return tables


def read_counter_file(path: Path, wanted: Wanted) -> CounterTable:
    """The dispatches of one CSV with the chip, and measured peaks, of the files beside it."""

    def is_wanted(column: str) -> bool:
        name = counter_name(column)
        return name is not None and wanted(name.base)

    table = read_counter_csv(path, is_wanted)
    counted = np.zeros(table.count, dtype=np.bool_)
    for name in table.counters:
        counted |= table.columns[name] >= 0
    chip, product = machine_beside(path)
    return replace(
        table.rows(counted),
        system={"gpu_arch": chip, "gpu_model": product},
        ceilings=ceilings_in(path.parent, table.notes),
    )


def is_counter_csv(path: Path) -> bool:
    """Whether the header names kernels and dispatches, and counters in either form."""
    with ByteStream(path) as stream:
        head = stream.read(_HEADER_BYTES)
    columns = CounterColumns(column_names(head.split(b"\n", 1)[0].decode("utf-8", "replace")))
    if KERNEL_NAME not in columns.places:
        return False
    return columns.is_long or any(name.lower().startswith(_COUNTED) for name in columns.names)


def _files(paths: Sequence[Path]) -> Iterator[tuple[Path, bool]]:
    """The files to read, and whether each was named itself."""
    for path in paths:
        if not path.is_dir():
            yield path, True
            continue
        found = [each for each in sorted(path.rglob("*.csv"))[:_MOST_FILES] if is_counter_csv(each)]
        if not found:
            raise UnreadableInputError(path, "no counter CSV in it", hint=MEMORY_COUNTERS_HINT)
        yield from ((each, False) for each in found)
