"""Ops in order of their start, whatever the order and size of the source.

Small traces are sorted in memory. Larger ones are first dealt into time buckets in an unnamed
temporary file, then read back and sorted bucket by bucket: memory stays bounded, the order exact.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from typing import IO

import numpy as np

from wavescope.model.columns import Table
from wavescope.model.source import Array, Batch, TraceSource

ROWS_IN_MEMORY = 1 << 19
_BUCKET_ROWS = 1 << 17


def time_ordered(
    source: TraceSource,
    table: Table,
    columns: Sequence[str],
    *,
    rows_in_memory: int = ROWS_IN_MEMORY,
) -> Iterator[Batch]:
    """Batches of `columns` in order of (start_ns, -end_ns, id): what encloses comes first."""
    wanted = tuple(dict.fromkeys((*columns, "start_ns", "end_ns", "id")))
    batches = source.batches(table, wanted)
    held: list[Batch] = []
    rows = 0
    for batch in batches:
        held.append(batch)
        rows += len(batch["start_ns"])
        if rows > rows_in_memory:
            break
    else:
        yield from _sorted_batches(_joined(held, wanted), columns)
        return
    for bucket in _dealt_into_buckets(source, table, wanted):
        yield from _sorted_batches(bucket, columns)


def _joined(batches: list[Batch], names: Sequence[str]) -> Batch:
    return (
        {name: np.concatenate([batch[name] for batch in batches]) for name in names}
        if batches
        else {}
    )


def _sorted_batches(batch: Batch, columns: Sequence[str]) -> Iterator[Batch]:
    if not batch or not len(batch["start_ns"]):
        return
    starts = batch["start_ns"]
    order: Array | None = None
    if np.any(starts[1:] <= starts[:-1]):
        order = np.lexsort((batch["id"], -batch["end_ns"], starts))
    for first in range(0, len(starts), _BUCKET_ROWS):
        rows = slice(first, first + _BUCKET_ROWS)
        if order is None:
            yield {name: batch[name][rows] for name in columns}
        else:
            yield {name: batch[name][order[rows]] for name in columns}


def _dealt_into_buckets(source: TraceSource, table: Table, names: Sequence[str]) -> Iterator[Batch]:
    edges, record = _bucket_edges(source, table), _record_type(table, names)
    with tempfile.TemporaryFile(prefix="wavescope-") as file:
        places: list[list[tuple[int, int]]] = [[] for _ in range(len(edges) + 1)]
        for batch in source.batches(table, names):
            _deal(batch, edges, record, file, places)
        for bucket in places:
            if bucket:
                yield _read_bucket(file, bucket, record)


def _bucket_edges(source: TraceSource, table: Table) -> Array:
    """Start times that split the rows into buckets of about `_BUCKET_ROWS`: sample quantiles."""
    samples: list[Array] = []
    rows = 0
    for batch in source.batches(table, ("start_ns",)):
        starts = batch["start_ns"]
        samples.append(starts[:: max(1, len(starts) // 512)])
        rows += len(starts)
    sample = np.sort(np.concatenate(samples))
    buckets = max(1, rows // _BUCKET_ROWS)
    return np.unique(sample[np.arange(1, buckets) * len(sample) // buckets])


def _record_type(table: Table, names: Sequence[str]) -> np.dtype[np.void]:
    return np.dtype([(name, table.column(name).type.dtype) for name in names])


def _deal(
    batch: Batch,
    edges: Array,
    record: np.dtype[np.void],
    file: IO[bytes],
    places: list[list[tuple[int, int]]],
) -> None:
    bucket = np.searchsorted(edges, batch["start_ns"], side="right")
    order = np.argsort(bucket, kind="stable")
    counts = np.bincount(bucket, minlength=len(places))
    rows = np.empty(len(order), record)
    for name in record.names or ():
        rows[name] = batch[name][order]
    offset = file.seek(0, 2)
    file.write(rows.data)
    for index in np.flatnonzero(counts):
        places[index].append((offset, int(counts[index])))
        offset += int(counts[index]) * record.itemsize


def _read_bucket(
    file: IO[bytes], places: list[tuple[int, int]], record: np.dtype[np.void]
) -> Batch:
    parts = []
    for offset, count in places:
        file.seek(offset)
        parts.append(np.frombuffer(file.read(count * record.itemsize), record))
    rows = np.concatenate(parts)
    return {name: np.ascontiguousarray(rows[name]) for name in record.names or ()}
