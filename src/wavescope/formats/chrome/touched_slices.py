"""Which slices points in time touch, for files of any size.

Both are dealt into buckets of time; slices that are still open at the end of a bucket are carried
over to the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wavescope.arrays import Array
from wavescope.arrays.nesting import containing_range
from wavescope.arrays.partitioned_rows import PartitionedRows, Records
from wavescope.formats.chrome.links import LINKS_BYTES
from wavescope.model.columns import Table
from wavescope.model.source import Batch, TraceSource
from wavescope.model.time_sample import TimeSample

POINT_COLUMNS: list[tuple[str, type[np.generic]]] = [
    ("id", np.int64),
    ("is_text", np.bool_),
    ("order", np.int64),
    ("process", np.int64),
    ("thread", np.int64),
    ("start_ns", np.int64),
]


@dataclass(frozen=True)
class SliceTable:
    """A table of slices: what is drawn on lanes."""

    source: TraceSource
    table: Table
    columns: tuple[str, ...]
    """What is wanted of a slice, with `thread`, which is part of its lane."""
    process_column: str
    process_numbers: Callable[[Array], Array]
    """The processes that the values of that column stand for, as points state them."""

    def batches(self) -> Iterator[Batch]:
        """The columns, start, end and process of all slices."""
        wanted = (*self.columns, self.process_column, "start_ns", "end_ns")
        for batch in self.source.batches(self.table, tuple(dict.fromkeys(wanted))):
            lane_process = self.process_numbers(batch[self.process_column])
            # A zero-length slice must be hit too.
            end_ns = np.maximum(batch["end_ns"], batch["start_ns"] + 1)
            columns = {name: batch[name] for name in (*self.columns, "start_ns")}
            yield {**columns, "end_ns": end_ns, "lane_process": lane_process}

    @property
    def record(self) -> list[tuple[str, npt.DTypeLike]]:
        """The types of those columns."""
        names = (*self.columns, "start_ns", "end_ns")
        stored = [(name, self.table.column(name).type.dtype) for name in names]
        return [*stored, ("lane_process", np.int64)]


def touched_slices(
    points: PartitionedRows, slices: SliceTable
) -> Iterator[tuple[Records, Records]]:
    """The points in slices, in pieces, each with the innermost slice that it touches."""
    edges = _bucket_edges(points, slices)
    with (
        PartitionedRows(POINT_COLUMNS, memory_limit_bytes=LINKS_BYTES) as dealt_points,
        PartitionedRows(slices.record, memory_limit_bytes=LINKS_BYTES) as dealt_slices,
    ):
        for piece in points.pieces(0):
            dealt_points.add_records(_bucket(edges, piece["start_ns"]), piece)
        for batch in slices.batches():
            dealt_slices.add(_bucket(edges, batch["start_ns"]), **batch)
        still_open = dealt_slices.partition(-1)
        for number in range(len(edges) + 1):
            near = np.concatenate((still_open, dealt_slices.partition(number)))
            yield _touched(dealt_points.partition(number), near)
            still_open = near[near["end_ns"] > edges[number]] if number < len(edges) else near[:0]


def _bucket_edges(points: PartitionedRows, slices: SliceTable) -> Array:
    sample = TimeSample()
    for piece in points.pieces(0):
        sample.add(piece["start_ns"])
    for batch in slices.source.batches(slices.table, ("start_ns",)):
        sample.add(batch["start_ns"])
    return sample.bucket_edges()


def _bucket(edges: Array, start_ns: Array) -> npt.NDArray[np.intp]:
    return np.searchsorted(edges, start_ns, side="right")


def _touched(points: Records, slices: Records) -> tuple[Records, Records]:
    processes = np.concatenate((slices["lane_process"], points["process"]))
    threads = np.concatenate((slices["thread"], points["thread"]))
    thread_count, thread = _numbered(threads)
    lanes = _numbered(processes)[1] * thread_count + thread
    touched = containing_range(
        points["start_ns"],
        slices["start_ns"],
        slices["end_ns"],
        lanes=lanes[: len(slices)],
        time_lanes=lanes[len(slices) :],
    )
    hit = touched >= 0
    return points[hit], slices[touched[hit]]


def _numbered(values: Array) -> tuple[int, npt.NDArray[np.intp]]:
    """How many different values there are, and which of them each one is."""
    different, numbers = np.unique(values, return_inverse=True)
    return len(different), numbers.reshape(-1)
