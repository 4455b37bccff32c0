"""GPU ops as slices on their queues."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from wavescope.arrays.coded_columns import DistinctRows
from wavescope.formats.timeline.counter_series import GpuBusy, StepSeries
from wavescope.formats.timeline.launches import Launches
from wavescope.formats.timeline.slices import (
    BodyTable,
    EventBody,
    Flows,
    Int64s,
    SliceColumns,
    TimelineWriter,
)
from wavescope.formats.timeline.survey import OP_VALUES, OP_VALUES_PER_ROW, Survey
from wavescope.formats.timeline.tracks import LaneTracks, TrackLayout
from wavescope.model.columns import OPS
from wavescope.model.source import Batch, TraceSource
from wavescope.model.time_order import time_ordered

_PLACE = ("id", "gpu", "queue", "start_ns", "end_ns")
_NAMING = ("name", "type")
_SIZES = ("grid", "workgroup")
_SIZE_COLUMNS = tuple(f"{size}_{axis}" for size in _SIZES for axis in "xyz")
_SAMPLE_ROWS = 4096
_LEAST_REPETITION = 4


class OpSlices:
    """Writes all ops of a source and feeds the counters with them."""

    def __init__(
        self,
        source: TraceSource,
        survey: Survey,
        layout: TrackLayout,
        launches: Launches | None,
        *,
        busy: GpuBusy,
        depth: StepSeries,
    ) -> None:
        self._source = source
        self._survey = survey
        self._layout = layout
        self._launches = launches
        self._busy = busy
        self._depth = depth

    def write(self, writer: TimelineWriter, shown_name: Callable[[str], str]) -> Iterator[int]:
        """Write batch by batch; yields how many ops each had."""
        lanes = LaneTracks(self._layout, writer.track, nested=False)
        namer = _OpBodies(self._source, shown_name)
        bodies = BodyTable(namer.describe, writer.body, writer.forget)
        known = tuple(
            name for name in (*OP_VALUES, *OP_VALUES_PER_ROW) if name in self._survey.op_columns
        )
        for ordered in time_ordered(self._source, OPS, (*_PLACE, *_NAMING, *known)):
            batch = _shortest_first(ordered)
            start_ns, end_ns = batch["start_ns"], batch["end_ns"]
            queues = self._survey.queue_numbers(batch)
            self._count(batch, queues)
            shared = [n for n in (*_NAMING, *writer.op_place, *OP_VALUES) if n in batch]
            per_row = _hardly_repeating(batch, shared)
            repeating = {name: batch[name] for name in shared if name not in per_row}
            body, pieces = bodies.bodies_of(repeating, always=_NAMING)
            numbers = [*OP_VALUES_PER_ROW, *(name for name in OP_VALUES if name in per_row)]
            writer.slices(
                SliceColumns(
                    start_ns=start_ns,
                    end_ns=end_ns,
                    track=lanes.assign(self._layout.queue_tracks[queues], start_ns, end_ns),
                    body=body,
                    bodies=pieces,
                    flows=self._flows(batch["id"]),
                    integers=tuple(
                        (writer.label(name), values)
                        for name in numbers
                        if name in batch
                        and name not in _SIZE_COLUMNS
                        and np.any((values := _known(batch, name)) != -1)
                    ),
                    sizes=tuple(
                        (writer.label(size), axes)
                        for size in _SIZES
                        if not per_row.isdisjoint(_SIZE_COLUMNS) and (axes := _axes(batch, size))
                    ),
                )
            )
            yield len(start_ns)

    def _count(self, batch: Batch, queues: npt.NDArray[np.int32]) -> None:
        start_ns, end_ns = batch["start_ns"], batch["end_ns"]
        self._busy.add(self._layout.gpu_of_queue[queues], start_ns, end_ns)
        series = self._layout.depth_of_queue[queues]
        self._depth.add(series, end_ns, -1)
        if self._launches is None:
            self._depth.add(series, start_ns, 1)
            return
        self._launches.note_series(batch["id"], series)
        alone = ~self._launches.is_linked(batch["id"])
        self._depth.add(series[alone], start_ns[alone], 1)

    def _flows(self, op_ids: npt.NDArray[np.int64]) -> Flows | None:
        """An incoming arrow for every op with a known call; its id is the op's."""
        if self._launches is None:
            return None
        linked = self._launches.is_linked(op_ids)
        offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(linked, dtype=np.int64)))
        return Flows(offsets, op_ids[linked], incoming=True)


class _OpBodies:
    """Describes ops by the values that repeat."""

    def __init__(self, source: TraceSource, shown_name: Callable[[str], str]) -> None:
        self._strings = source.strings
        self._shown_name = shown_name

    def describe(self, values: dict[str, int]) -> EventBody:
        """The body of an op; one without a name is shown under its type."""
        name, op_type = self._strings[values["name"]], self._strings[values["type"]]
        shown = (self._shown_name(name) or name) if name else op_type
        arguments: list[tuple[str, int | str]] = []
        # A reader takes a name that is the type for no name, unless it is told otherwise.
        if name and (shown != name or name == op_type):
            arguments.append(("full_name", name))
        arguments.extend(
            (column, value)
            for column, value in values.items()
            if value != -1 and not column.startswith(("name", "type", "grid_", "workgroup_"))
        )
        # Last, as they are where each row has its own.
        for size in _SIZES:
            axes = [values.get(f"{size}_{axis}", -1) for axis in "xyz"]
            if any(value != -1 for value in axes):
                arguments.append((size, ",".join(map(str, axes))))
        return EventBody("op", op_type, shown, tuple(arguments))


def _hardly_repeating(batch: Batch, shared: list[str]) -> frozenset[str]:
    """Which of the columns are better written row by row: with them, rows have little in common.

    Sizes of launches vary most; without them few columns do.
    """
    rows = len(batch["start_ns"])
    if rows < _SAMPLE_ROWS:
        return frozenset()
    sample = {name: batch[name][:: rows // _SAMPLE_ROWS] for name in shared}
    for left_out in (frozenset[str](), frozenset(_SIZE_COLUMNS), frozenset(OP_VALUES)):
        kept = [values for name, values in sample.items() if name not in left_out]
        _, distinct = DistinctRows(len(kept)).number(kept)
        if len(distinct) * _LEAST_REPETITION <= len(kept[0]):
            break
    return left_out


def _axes(batch: Batch, size: str) -> tuple[Int64s, Int64s, Int64s] | None:
    """The three columns of a size, None where the batch has none of them."""
    names = [f"{size}_{axis}" for axis in "xyz"]
    if not any(name in batch for name in names):
        return None
    unknown = np.full(len(batch["start_ns"]), -1, np.int64)
    x, y, z = (_known(batch, name) if name in batch else unknown for name in names)
    return x, y, z


def _known(batch: Batch, name: str) -> npt.NDArray[np.int64]:
    """A column of numbers per row, -1 where it says nothing."""
    values = np.ascontiguousarray(batch[name], np.int64)
    return np.where(values == 0, -1, values) if name == "sequence" else values


def _shortest_first(batch: Batch) -> Batch:
    """The batch with the shortest of equal starts first: empty ops then fit before longer ones."""
    starts, ends = batch["start_ns"], batch["end_ns"]
    contiguous = {name: np.ascontiguousarray(column) for name, column in batch.items()}
    follows_equal = np.flatnonzero(starts[1:] == starts[:-1]) + 1
    if not len(follows_equal):
        return contiguous
    is_tied = np.zeros(len(starts), np.bool_)
    is_tied[follows_equal] = is_tied[follows_equal - 1] = True
    places = np.flatnonzero(is_tied)
    rows = places[np.lexsort((ends[places], starts[places]))]
    for name, column in contiguous.items():
        contiguous[name] = moved = column.copy()
        moved[places] = column[rows]
    return contiguous
