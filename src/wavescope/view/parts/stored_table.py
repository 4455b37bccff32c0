"""Rows of one table by number, id or value, read from the file instead of kept in memory.

One pass notes for every zone of some thousand rows where it begins and between which values its
columns lie; a question then reads only the zones that can hold an answer. Traces lie in the order
of time, more or less, so these are few.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol, cast

import numpy as np
import numpy.typing as npt

from wavescope.model.columns import Table
from wavescope.model.source import Batch, TraceSource, full_batch

Numbers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
ZONE_ROWS = 1 << 12


class SeekingSource(Protocol):
    """A source that need not read from the beginning; of others rows are skipped."""

    def keyed_batches(
        self, table: Table, columns: Sequence[str], first_key: int, rows: int
    ) -> Iterator[tuple[Numbers, Batch]]:
        """As `batches`, from the first row on whose key is at least `first_key`.

        With every row comes its key; keys increase, and are what the source likes.
        """


def keyed_batches(
    source: TraceSource, table: Table, columns: Sequence[str], first_key: int, rows: int
) -> Iterator[tuple[Numbers, Batch]]:
    """The rows of any source from a key on; a source that cannot seek has row numbers for keys."""
    if _seeks(source, table):
        yield from cast(SeekingSource, source).keyed_batches(table, columns, first_key, rows)
        return
    number = 0
    for batch in source.batches(table, columns, rows):
        count = len(batch[columns[0]])
        skipped = min(max(0, first_key - number), count)
        number += count
        if skipped < count:
            kept = {name: values[skipped:] for name, values in batch.items()}
            yield np.arange(number - count + skipped, number), kept


def _seeks(source: TraceSource, table: Table) -> bool:
    """Whether a source seeks in a table; one that does not say does so in all or in none."""
    if not hasattr(source, "keyed_batches"):
        return False
    return not hasattr(source, "seeks") or source.seeks(table)


@dataclass(frozen=True)
class Zones:
    """Stretches of consecutive rows, with the least and the largest value of some columns."""

    first_rows: Numbers
    """Of each zone, and behind the last one the number of all rows."""
    first_keys: Numbers
    low: dict[str, Numbers]
    high: dict[str, Numbers]

    def __len__(self) -> int:
        return len(self.first_keys)

    @property
    def row_count(self) -> int:
        return int(self.first_rows[-1])

    @property
    def edges(self) -> tuple[list[int], list[int]]:
        """The first row of each zone, and the row behind its last."""
        return self.first_rows[:-1].tolist(), self.first_rows[1:].tolist()


class ZonePass:
    """One pass over some columns of a table, which can be made in pieces."""

    def __init__(self, source: TraceSource, table: Table, columns: Sequence[str]) -> None:
        self._batches = keyed_batches(source, table, columns, 0, ZONE_ROWS)
        self._counts, self._keys = [0], list[int]()
        self._bounds: dict[str, list[tuple[int, int]]] = {name: [] for name in columns}

    def go_on(self, most: int | None = None) -> bool:
        """Look at all zones that are left, or at so many; whether there may be others."""
        seen = 0
        for numbers, batch in islice(self._batches, most):
            seen += 1
            self._keys.append(int(numbers[0]))
            self._counts.append(len(numbers))
            for name, found in self._bounds.items():
                found.append((int(batch[name].min()), int(batch[name].max())))
        return seen == most

    def zones(self) -> Zones:
        """What was seen."""
        bounds = {
            name: np.array(found, np.int64).reshape(-1, 2) for name, found in self._bounds.items()
        }
        return Zones(
            np.cumsum(self._counts, dtype=np.int64),
            np.array(self._keys, np.int64),
            {name: array[:, 0] for name, array in bounds.items()},
            {name: array[:, 1] for name, array in bounds.items()},
        )


class StoredTable:
    """One table of a source."""

    def __init__(self, source: TraceSource, table: Table, zones: Zones) -> None:
        self.spec = table
        self._source = source
        self.zones = zones

    def __len__(self) -> int:
        return self.zones.row_count

    def at(self, rows: Numbers, columns: Sequence[str]) -> Batch:
        """The values in `rows`, which increase."""
        zones = np.searchsorted(self.zones.first_rows, rows, "right") - 1
        wanted = np.zeros(len(self.zones), bool)
        wanted[zones] = True
        parts = []
        for first, batch in self._read(wanted, columns):
            count = len(next(iter(batch.values())))
            low, high = np.searchsorted(rows, (first, first + count))
            places = rows[low:high] - first
            parts.append({name: values[places] for name, values in batch.items()})
        return self._joined(parts, columns)

    def rows_where(self, name: str, values: Numbers) -> Iterator[Numbers]:
        """The numbers of the rows whose column is one of `values`, which increase, zone by zone."""
        for first, batch in self._read(np.ones(len(self.zones), bool), (name,)):
            places = np.flatnonzero(among(batch[name], values))
            if len(places):
                yield places + first

    def with_ids(self, ids: Numbers, columns: Sequence[str]) -> tuple[Numbers, Batch]:
        """The numbers and values of the rows that have one of `ids`, which increase."""
        return self.with_values("id", ids, columns)

    def with_values(
        self, name: str, values: Numbers, columns: Sequence[str]
    ) -> tuple[Numbers, Batch]:
        """The numbers and values of the rows whose column is one of `values`, which increase."""
        low, high = self.zones.low[name], self.zones.high[name]
        wanted = np.searchsorted(values, low) < np.searchsorted(values, high, "right")
        return self._where(wanted, columns, name, lambda found: among(found[name], values))

    def overlapping(
        self, start_ns: int, end_ns: int, columns: Sequence[str]
    ) -> tuple[Numbers, Batch]:
        """The numbers and values of the rows that begin by `end_ns` and end at `start_ns` or later.

        Ranges that touch the time count, too: whether they belong to it is the asker's business.
        """
        wanted = self.zones.low["start_ns"] <= end_ns
        wanted &= self.zones.high["end_ns"] >= start_ns
        return self._where(
            wanted,
            tuple(dict.fromkeys((*columns, "start_ns", "end_ns"))),
            "",
            lambda found: (found["start_ns"] <= end_ns) & (found["end_ns"] >= start_ns),
        )

    def open_at(self, moments: Moments, columns: Sequence[str]) -> tuple[Numbers, Batch]:
        """The numbers and values of the rows that were open at one of `moments`."""
        low, high = self.zones.low["start_ns"], self.zones.high["end_ns"]
        times = moments.all_times
        wanted = np.searchsorted(times, low) < np.searchsorted(times, high)
        return self._where(
            wanted,
            tuple(dict.fromkeys((*columns, "start_ns", "end_ns", *moments.names))),
            "",
            moments.any_within,
        )

    def _where(
        self, zones: Mask, columns: Sequence[str], also: str, chosen: _Chosen
    ) -> tuple[Numbers, Batch]:
        needed = tuple(dict.fromkeys((*columns, *((also,) if also else ()))))
        rows, parts = [np.empty(0, np.int64)], []
        for first, batch in self._read(zones, needed):
            places = np.flatnonzero(chosen(batch))
            if len(places):
                rows.append(places + first)
                parts.append({name: values[places] for name, values in batch.items()})
        return np.concatenate(rows), self._joined(parts, needed)

    def _read(self, zones: Mask, columns: Sequence[str]) -> Iterator[tuple[int, Batch]]:
        """The number of the first row and the values of some consecutive rows, all of `zones`."""
        edges = np.flatnonzero(np.diff(np.concatenate(([False], zones, [False])).astype(np.int8)))
        for begin, end in edges.reshape(-1, 2).tolist():
            row, stop = int(self.zones.first_rows[begin]), int(self.zones.first_rows[end])
            key = int(self.zones.first_keys[begin])
            for _, batch in keyed_batches(self._source, self.spec, columns, key, ZONE_ROWS):
                count = min(len(next(iter(batch.values()))), stop - row)
                yield row, {name: values[:count] for name, values in batch.items()}
                row += count
                if row >= stop:
                    break

    def _joined(self, parts: Sequence[Batch], columns: Sequence[str]) -> Batch:
        if not parts:
            return full_batch(self.spec, {}, columns)
        return {name: np.concatenate([part[name] for part in parts]) for name in columns}


class Moments:
    """Points in time, each of a lane that `names` (columns such as process and thread) tell."""

    names = ("process", "thread")

    def __init__(self, times: Numbers, *lanes: npt.NDArray[np.integer]) -> None:
        self.all_times = np.sort(times)
        order = np.lexsort((times, *reversed(lanes)))
        sorted_lanes = np.stack([lane[order].astype(np.int64) for lane in lanes])
        edges = np.flatnonzero((sorted_lanes[:, 1:] != sorted_lanes[:, :-1]).any(axis=0)) + 1
        self._times = np.split(times[order], edges)
        firsts = [0, *edges.tolist()] if len(times) else []
        self._lanes = [tuple(sorted_lanes[:, first].tolist()) for first in firsts]

    def any_within(self, ranges: Batch, /) -> Mask:
        """Of each range [start, end) whether one of the moments of its lane lies in it."""
        found = np.zeros(len(ranges["start_ns"]), bool)
        for lane, times in zip(self._lanes, self._times, strict=False):
            is_mine = np.ones(len(found), bool)
            for name, number in zip(self.names, lane, strict=True):
                is_mine &= ranges[name] == number
            mine = np.flatnonzero(is_mine)
            starts, ends = (ranges[name][mine] for name in ("start_ns", "end_ns"))
            found[mine] = np.searchsorted(times, starts) < np.searchsorted(times, ends)
        return found


class _Chosen(Protocol):
    def __call__(self, found: Batch, /) -> Mask: ...


def among(values: npt.NDArray[np.integer], wanted: Numbers) -> Mask:
    """Which of `values` are in `wanted`, which increases."""
    if not len(wanted):
        return np.zeros(len(values), bool)
    places = np.minimum(np.searchsorted(wanted, values), len(wanted) - 1)
    found: Mask = wanted[places] == values
    return found


def united(*parts: Numbers) -> Numbers:
    """The different numbers of some arrays that increase; `np.union1d` takes many times as long."""
    numbers = np.sort(np.concatenate(parts), kind="stable")
    return (
        numbers[np.concatenate(([True], numbers[1:] != numbers[:-1]))] if len(numbers) else numbers
    )
