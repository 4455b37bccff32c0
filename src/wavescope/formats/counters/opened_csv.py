"""The CSV files of a workload that are no counters, row by row: machine, ceilings, samples."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wavescope.errors import UnreadableInputError
from wavescope.formats.csv_blocks import MOST_COLUMNS


@contextmanager
def opened_csv(path: Path) -> Iterator[tuple[list[str], Iterator[list[str]]]]:
    """The header and the rows of a CSV file; bytes that are no UTF-8 are replaced."""
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
            rows = csv.reader(stream)
            header = next(rows, [])
            if len(header) > MOST_COLUMNS:
                raise UnreadableInputError(path, f"it has {len(header):,} columns")
            yield [name.strip() for name in header], rows
    except OSError as error:
        raise UnreadableInputError(path, error.strerror or str(error)) from error
    except csv.Error as error:
        raise UnreadableInputError(path, f"it is no CSV: {error}") from error
