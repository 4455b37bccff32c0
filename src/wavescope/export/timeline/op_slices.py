"""GPU ops as slices on their queues."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from wavescope.export.timeline.bodies import BodyTable, EventBody
from wavescope.export.timeline.counter_series import StepSeries
from wavescope.export.timeline.gpu_busy import GpuBusy
from wavescope.export.timeline.lane_tracks import LaneTracks
from wavescope.export.timeline.launches import Launches
from wavescope.export.timeline.slice_columns import Flows, SliceColumns
from wavescope.export.timeline.survey import OP_VALUES, OP_VALUES_PER_ROW, Survey
from wavescope.export.timeline.tracks import TrackLayout
from wavescope.export.timeline.writer import TimelineWriter
from wavescope.model.columns import OPS
from wavescope.model.source import Batch, TraceSource
from wavescope.model.time_order import time_ordered

_PLACE = ("id", "gpu", "queue", "start_ns", "end_ns")
_NAMING = ("name", "type")


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
        lanes = LaneTracks(self._layout, writer, nested=False)
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
            repeating = {
                name: batch[name]
                for name in (*_NAMING, *writer.op_place, *OP_VALUES)
                if name in batch
            }
            body, pieces = bodies.bodies_of(repeating, always=_NAMING)
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
                        for name in OP_VALUES_PER_ROW
                        if name in batch and np.any((values := _known(batch, name)) != -1)
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
        for group in ("grid", "workgroup"):
            sizes = [values.get(f"{group}_{axis}", -1) for axis in "xyz"]
            if any(size != -1 for size in sizes):
                arguments.append((group, ",".join(map(str, sizes))))
        arguments.extend(
            (column, value)
            for column, value in values.items()
            if value != -1 and not column.startswith(("name", "type", "grid_", "workgroup_"))
        )
        return EventBody("op", op_type, shown, tuple(arguments))


def _known(batch: Batch, name: str) -> npt.NDArray[np.int64]:
    """A column of numbers per row, -1 where it says nothing."""
    values = np.ascontiguousarray(batch[name], np.int64)
    return np.where(values == 0, -1, values) if name == "sequence" else values


def _shortest_first(batch: Batch) -> Batch:
    """The batch with the shortest of equal starts first: empty ops then fit before longer ones."""
    starts = batch["start_ns"]
    if not np.any(starts[1:] == starts[:-1]):
        return {name: np.ascontiguousarray(column) for name, column in batch.items()}
    order = np.lexsort((batch["end_ns"], starts))
    return {name: column[order] for name, column in batch.items()}
