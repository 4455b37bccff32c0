"""The rows of a trace in the order in which they are shown.

GPUs come first, in order of their number, each with its queues, its copies and values over time;
then processes by rank, each with the markers and the calls of its threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from wavescope.arrays.intervals import Intervals
from wavescope.model.columns import CALLS, LINKS
from wavescope.model.source import TraceSource
from wavescope.view.lanes import Lane
from wavescope.view.rows.places import HostPlace, OpPlace, Place
from wavescope.view.rows.row import LazySeries, Row, RowKind, Series
from wavescope.view.rows.row_labels import RowLabels
from wavescope.view.rows.row_values import NO_VALUES, Monitor, Queue, monitors

Lanes = Mapping[Place, tuple[Lane, ...]]
QueueDepths = Callable[[], Mapping[Queue, Series]]

MOST_OPEN_QUEUES = 24
"""GPUs are folded at first where there are more queues in all."""
MOST_LINKS = 20_000_000
"""Queue depths of a trace with more would take more memory than the rest of it."""
_GPU_DEVICE = "gpu"


class RowTree:
    """Makes the rows of one trace from the lanes that are known so far.

    `depths` gives the depths of all queues; it is asked when one of them is drawn.
    """

    def __init__(self, source: TraceSource, depths: QueueDepths) -> None:
        self._labels = RowLabels(source)
        self._depths = depths
        link_count = min(source.row_count(LINKS), source.row_count(CALLS))
        self._has_depths = link_count > 0 and source.row_count(LINKS) <= MOST_LINKS
        self._depth_of: dict[Queue, LazySeries] = {}
        self._monitors = monitors(source)

    def rows(self, lanes: Lanes, recorded: Mapping[int, Intervals]) -> tuple[Row, ...]:
        """All rows, given the lanes of each place and, of sampled GPUs, what was recorded."""
        ops = sorted((place for place in lanes if isinstance(place, OpPlace)), key=_order)
        gpus: dict[int, list[OpPlace]] = {}
        for place in ops:
            gpus.setdefault(place.gpu, []).append(place)
        is_folded = sum(place.queue is not None for place in ops) > MOST_OPEN_QUEUES
        found: list[Row] = []
        for gpu, places in gpus.items():
            found += self._gpu_rows(gpu, places, lanes, recorded.get(gpu), is_folded=is_folded)
        found += self._host_rows(lanes)
        found += (_monitor_row(each, "") for each in self._monitors if not _is_of(each, gpus))
        return tuple(found)

    def _gpu_rows(
        self,
        gpu: int,
        places: Sequence[OpPlace],
        lanes: Lanes,
        recorded: Intervals | None,
        *,
        is_folded: bool,
    ) -> Iterator[Row]:
        top = f"gpu/{gpu}"
        members = [
            Row(
                place.row_id,
                RowKind.COPIES if place.queue is None else RowKind.QUEUE,
                "copies" if place.queue is None else self._labels.queue(gpu, place.queue),
                parent=top,
                table="ops",
                lanes=lanes[place],
                recorded=recorded,
                count=sum(map(len, lanes[place])),
                is_folded=self._has_depths and place.queue is not None,
            )
            for place in places
        ]
        ids = tuple(row.id for row in members)
        count = sum(row.count for row in members)
        yield Row(
            top,
            RowKind.GPU,
            self._labels.gpu(gpu),
            table="ops",
            members=ids,
            recorded=recorded,
            count=count,
            is_folded=is_folded,
        )
        for place, row in zip(places, members, strict=True):
            yield row
            if row.is_folded and place.queue is not None:
                yield self._depth_row(row, gpu, place.queue)
        yield Row(f"series/busy/{gpu}", RowKind.SERIES, "busy", parent=top, members=ids, unit="%")
        for each in self._monitors:
            if _is_of(each, (gpu,)):
                yield _monitor_row(each, top)

    def _depth_row(self, row: Row, gpu: int, queue: int) -> Row:
        """Below the row of its queue, which is folded at first."""
        key = (gpu, queue)
        if key not in self._depth_of:
            self._depth_of[key] = LazySeries("ops", partial(self._depth, key))
        return Row(
            f"series/depth/{gpu}/{queue}",
            RowKind.SERIES,
            f"{row.label} depth",
            parent=row.id,
            series=self._depth_of[key],
            unit="ops",
        )

    def _depth(self, queue: Queue) -> Series:
        return self._depths().get(queue, NO_VALUES)

    def _host_rows(self, lanes: Lanes) -> Iterator[Row]:
        processes: dict[int, list[HostPlace]] = {}
        for place in lanes:
            if isinstance(place, HostPlace):
                processes.setdefault(place.process, []).append(place)
        for process in sorted(processes, key=self._labels.process_rank):
            top = f"process/{process}"
            yield Row(top, RowKind.GROUP, self._labels.process(process))
            for place in sorted(processes[process], key=_host_order):
                yield Row(
                    place.row_id,
                    RowKind(place.table),
                    self._host_label(place),
                    parent=top,
                    table=place.table,
                    lanes=lanes[place],
                    count=sum(map(len, lanes[place])),
                )

    def _host_label(self, place: HostPlace) -> str:
        thread = self._labels.thread(place.process, place.thread)
        if place.table != "markers":
            return thread
        return f"{thread} markers" if place.thread >= 0 else "markers"


def _host_order(place: HostPlace) -> tuple[int, bool]:
    """Threads by number, of each the markers above the calls."""
    return place.thread, place.table != "markers"


def _order(place: OpPlace) -> tuple[int, bool, int]:
    """GPUs by number, of each the queues by number, then the copies."""
    return place.gpu, place.queue is None, place.queue or 0


def _is_of(monitor: Monitor, gpus: Iterable[int]) -> bool:
    return monitor.device_type.lower() == _GPU_DEVICE and monitor.device in gpus


def _monitor_row(monitor: Monitor, parent: str) -> Row:
    device = "" if parent else f" of {monitor.device_type} {monitor.device}"
    return Row(
        monitor.row_id,
        RowKind.SERIES,
        f"{monitor.quantity}{device}",
        parent=parent,
        series=monitor.series,
        unit=monitor.series.unit,
    )
