"""Ops in order of their start, whatever the order and size of the source.

Small traces are sorted in memory. Of larger ones, which are mostly in order already, as many rows
are held as it takes for all earlier ones to have come. Where that would be too many, the rows are
first put into time buckets in an unnamed temporary file, then read back and sorted bucket by
bucket: memory stays bounded, the order exact.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt

from wavescope.arrays import Array
from wavescope.arrays.partitioned_rows import PartitionedRows
from wavescope.model.columns import Table
from wavescope.model.source import Batch, TraceSource

BUCKET_ROWS = 1 << 17
_SAMPLED_PER_BATCH = 512
ROWS_IN_MEMORY = 1 << 18
_BUCKET_BYTES = 8 << 20


class TimeSample:
    """Keeps a few of the times it is shown."""

    def __init__(self) -> None:
        self._parts: list[Array] = []
        self.rows = 0
        """All times that were shown."""

    def add(self, times_ns: Array) -> None:
        """The times of some rows."""
        self._parts.append(times_ns[:: max(1, len(times_ns) // _SAMPLED_PER_BATCH)].copy())
        self.rows += len(times_ns)

    def bucket_edges(self) -> Array:
        """Times, in order, that split the rows into buckets of about BUCKET_ROWS."""
        buckets = self.rows // BUCKET_ROWS
        if buckets < 2:
            return np.empty(0, np.int64)
        sample = np.sort(np.concatenate(self._parts))
        return np.unique(sample[np.arange(1, buckets) * len(sample) // buckets])


def time_ordered(
    source: TraceSource,
    table: Table,
    columns: Sequence[str],
    *,
    rows_in_memory: int | None = None,
) -> Iterator[Batch]:
    """Batches of `columns` in order of (start_ns, -end_ns, id): what encloses comes first.

    At most `rows_in_memory` rows (ROWS_IN_MEMORY by default) wait for their turn in memory.
    """
    most_rows = ROWS_IN_MEMORY if rows_in_memory is None else rows_in_memory
    wanted = tuple(dict.fromkeys((*columns, "start_ns", "end_ns", "id")))
    batches = source.batches(table, wanted)
    held = _Held(wanted)
    for batch in batches:
        held.add(batch)
        if held.rows > most_rows:
            break
    else:
        yield from held.sorted_batches(columns)
        return
    starts = _Starts(source, table)
    for batch in chain(({},), batches):
        held.add(batch)
        yield from held.sorted_batches(columns, before_ns=starts.lowest_from(held.rows_seen))
        if held.rows > most_rows:
            for bucket in _in_buckets(chain(held.take(), batches), starts, table, wanted):
                yield from _pieces(bucket, _time_order(bucket), columns)
            return


class _Held:
    """Rows whose turn has not come yet."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._parts: list[Batch] = []
        self.rows = 0
        self.rows_seen = 0
        """All rows that were ever added."""

    def add(self, batch: Batch) -> None:
        """Hold these rows too."""
        if batch:
            self._parts.append(dict(batch))
            self.rows += len(batch["start_ns"])
            self.rows_seen += len(batch["start_ns"])

    def take(self) -> list[Batch]:
        """All rows that are held, which no longer are."""
        parts, self._parts, self.rows = self._parts, [], 0
        return parts

    def sorted_batches(
        self, columns: Sequence[str], *, before_ns: int | None = None
    ) -> Iterator[Batch]:
        """Give away, in order, what starts before the time; all rows by default."""
        parts = self.take()
        if not parts:
            return
        # Each column leaves the parts as it is joined: they are never all there twice.
        whole = {name: np.concatenate([part.pop(name) for part in parts]) for name in self._names}
        order = _time_order(whole)
        given = len(order)
        if before_ns is not None:
            given = int(np.searchsorted(whole["start_ns"], before_ns, sorter=order))
        if given < len(order):
            self._parts = [{name: values[order[given:]] for name, values in whole.items()}]
            self.rows = len(order) - given
        yield from _pieces(whole, order[:given], columns)


class _Starts:
    """When rows start that are still to come, from one pass over the starts alone."""

    def __init__(self, source: TraceSource, table: Table) -> None:
        self._first_rows: list[int] = []
        lowest: list[int] = []
        self.sample = TimeSample()
        for batch in source.batches(table, ("start_ns",)):
            starts = batch["start_ns"]
            self._first_rows.append(self.sample.rows)
            lowest.append(int(starts.min()))
            self.sample.add(starts)
        self._lowest = np.minimum.accumulate(lowest[::-1])[::-1].tolist()

    def lowest_from(self, row: int) -> int | None:
        """A time before which no row from `row` on starts; None when there is no such row."""
        if row >= self.sample.rows:
            return None
        # Batches of other columns may be shorter: the row may be inside one of those seen here.
        lowest: int = self._lowest[bisect_right(self._first_rows, row) - 1]
        return lowest


def _time_order(batch: Batch) -> npt.NDArray[np.intp]:
    """The rows in order of (start_ns, -end_ns, id)."""
    starts = batch["start_ns"]
    order = np.argsort(starts, kind="stable")
    ordered = starts[order]
    follows_equal = np.flatnonzero(ordered[1:] == ordered[:-1]) + 1
    if len(follows_equal):
        # Few rows start at the same time as another: only those need the other keys.
        is_tied = np.zeros(len(order), np.bool_)
        is_tied[follows_equal] = is_tied[follows_equal - 1] = True
        places = np.flatnonzero(is_tied)
        rows = order[places]
        keys = (batch["id"][rows], -batch["end_ns"][rows], starts[rows])
        order[places] = rows[np.lexsort(keys)]
    return order


def _pieces(batch: Batch, order: npt.NDArray[np.intp], columns: Sequence[str]) -> Iterator[Batch]:
    for first in range(0, len(order), BUCKET_ROWS):
        rows = order[first : first + BUCKET_ROWS]
        yield {name: batch[name][rows] for name in columns}


def _in_buckets(
    batches: Iterable[Batch], starts: _Starts, table: Table, names: Sequence[str]
) -> Iterator[Batch]:
    edges = starts.sample.bucket_edges()
    record = [(name, table.column(name).type.dtype) for name in names]
    with PartitionedRows(record, memory_limit_bytes=_BUCKET_BYTES) as buckets:
        for batch in batches:
            buckets.add(np.searchsorted(edges, batch["start_ns"], side="right"), **batch)
        for number in buckets.numbers():
            rows = buckets.partition(number)
            yield {name: np.ascontiguousarray(rows[name]) for name in names}
