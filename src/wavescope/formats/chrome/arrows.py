"""Arrows from calls to ops, drawn by tools that do not write correlation ids.

An arrow begins in the innermost call, and ends in the innermost op, that its thread or queue is in
at that time. Of several begins with one id the last before the end counts, else the first; of
several arrows to one op the one whose end is written first.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from wavescope.arrays.partitioned_rows import PartitionedRows, Records
from wavescope.closing import Closing
from wavescope.formats.chrome.event_batch import ID_NONE, ID_TEXT, EventBatch
from wavescope.formats.chrome.links import (
    CAUSE_COLUMNS,
    LINKS_BYTES,
    Links,
    OpCauses,
    op_partition,
)
from wavescope.formats.chrome.touched_slices import POINT_COLUMNS, SliceTable, touched_slices

FLOW_START = ord("s")
FLOW_END = ord("f")
_TIME_COLUMNS: list[tuple[str, type[np.generic]]] = [("id", np.int64), ("start_ns", np.int64)]
_END_COLUMNS: list[tuple[str, type[np.generic]]] = [("order", np.int64), ("op", np.int32)]
_ID_PARTITIONS = 64

Int64s = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


class FlowArrows(Closing):
    """Collects begins and ends of arrows; joins them once all slices are there."""

    def __init__(self) -> None:
        self._points = {phase: _rows(POINT_COLUMNS) for phase in (FLOW_START, FLOW_END)}

    def close(self) -> None:
        for points in self._points.values():
            points.close()

    def add(self, batch: EventBatch, is_flow: Mask, numbers: Int64s, base_ns: int) -> None:
        """The arrows of `batch`; `numbers` are those of the process and thread keys."""
        for phase, points in self._points.items():
            mask = (batch["phase"] == phase) & is_flow & (batch["id_kind"] != ID_NONE)
            rows = np.flatnonzero(mask)
            first = len(points)
            points.add(
                np.zeros(len(rows), np.int8),
                id=batch["id"][rows],
                is_text=batch["id_kind"][rows] == ID_TEXT,
                order=np.arange(first, first + len(rows)),
                process=numbers[batch["process"][rows]],
                thread=numbers[batch["thread"][rows]],
                start_ns=batch["start_ns"][rows] + base_ns,
            )

    @property
    def found(self) -> bool:
        """Whether there are both begins and ends of arrows."""
        return all(len(points) for points in self._points.values())

    def join(self, links: Links, calls: SliceTable, ops: SliceTable) -> None:
        """Add the calls and ops at the ends of each arrow."""
        with (
            _rows([*_TIME_COLUMNS, *CAUSE_COLUMNS]) as begins,
            _rows([*_TIME_COLUMNS, *_END_COLUMNS]) as ends,
            _rows([*_END_COLUMNS, *CAUSE_COLUMNS]) as arrows,
        ):
            for points, touched in touched_slices(self._points[FLOW_START], calls):
                causes = {name: touched[name] for name in ("name", "process", "thread")}
                times = {name: points[name] for name in ("id", "start_ns")}
                begins.add(_id_partition(points), **times, call=touched["id"], **causes)
            for points, touched in touched_slices(self._points[FLOW_END], ops):
                times = {name: points[name] for name in ("id", "start_ns", "order")}
                ends.add(_id_partition(points), **times, op=touched["id"])
            for begin, end in _matches(begins, ends):
                causes = {name: begin[name] for name, _ in CAUSE_COLUMNS}
                arrows.add(op_partition(end["op"]), order=end["order"], op=end["op"], **causes)
            for number in arrows.numbers():
                part = arrows.partition(number)
                part = part[np.argsort(part["order"], kind="stable")]
                chosen = part[np.unique(part["op"], return_index=True)[1]]
                links.add(chosen["op"], OpCauses(*(chosen[name] for name, _ in CAUSE_COLUMNS)))


def _rows(columns: list[tuple[str, type[np.generic]]]) -> PartitionedRows:
    return PartitionedRows(columns, memory_limit_bytes=LINKS_BYTES)


def _id_partition(points: Records) -> Int64s:
    """Equal ids are in one partition; the same id as a number and as a text are two arrows."""
    partition: Int64s = points["id"] % _ID_PARTITIONS * 2 + points["is_text"]
    return partition


def _matches(begins: PartitionedRows, ends: PartitionedRows) -> Iterator[tuple[Records, Records]]:
    """Begins and ends of the same arrows, partition by partition."""
    for number in ends.numbers():
        begin, end = begins.partition(number), ends.partition(number)
        if not len(begin):
            continue
        begin = begin[np.lexsort((begin["start_ns"], begin["id"]))]
        first = np.searchsorted(begin["id"], end["id"])
        first[first == len(begin)] = 0
        found = begin["id"][first] == end["id"]
        end, first = end[found], first[found]
        yield begin[np.maximum(first, _last_before(begin, end))], end


def _last_before(begin: Records, end: Records) -> Int64s:
    """Of each end the place of the last begin, in order of (id, time), that is not after it."""
    is_end = np.arange(len(begin) + len(end)) >= len(begin)
    keys = [np.concatenate((begin[name], end[name])) for name in ("start_ns", "id")]
    order = np.lexsort((is_end, *keys))
    is_end = is_end[order]
    place = np.empty(len(end), np.int64)
    place[order[is_end] - len(begin)] = np.cumsum(~is_end)[is_end] - 1
    return place
