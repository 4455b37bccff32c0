"""Which call caused which op, for files of any size: by a number that both carry, or by arrows.

In files of other tools that write no correlation ids, an arrow begins in the innermost call, and
ends in the innermost op, that its thread or queue is in at that time. Ids count within a category.
Of several begins with one id the last before the end counts, else the first; of several arrows to
one op the one whose end is written first.

Arrows and slices are grouped into buckets of time; slices that are still open at the end of a
bucket are carried over to the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from wavescope.arrays import Array
from wavescope.arrays.nesting import containing_range
from wavescope.arrays.partitioned_rows import PartitionedRows, Records
from wavescope.closing import Closing
from wavescope.formats.chrome.event_batch import ID_NONE, ID_TEXT, EventBatch, EventRows
from wavescope.model.columns import UNKNOWN, Table
from wavescope.model.source import Batch, TraceSource
from wavescope.model.time_order import TimeSample

_PREFERENCE_BITS = 2
_KEY_LIMIT = 1 << (62 - _PREFERENCE_BITS)
_JOIN_PARTITIONS = 64
_OPS_PER_PARTITION_BITS = 18
LINKS_BYTES = 4 << 20
CAUSE_COLUMNS: list[tuple[str, type[np.generic]]] = [
    ("call", np.int32),
    ("name", np.int32),
    ("process", np.int32),
    ("thread", np.int64),
]

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
_ID_PARTITIONS = 64


class OpCauses(NamedTuple):
    """Of each op of a batch the call that caused it, and what the op takes over from that call."""

    call: Int32s
    """UNKNOWN where no call is known; the other columns then mean nothing."""
    name: Int32s
    process: Int32s
    thread: Int64s


class Links(Closing):
    """Pairs of call and op ids, with what the op takes over from the call."""

    def __init__(self) -> None:
        self._rows = PartitionedRows(
            [("op", np.int32), *CAUSE_COLUMNS], memory_limit_bytes=LINKS_BYTES
        )

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, op: Int32s, causes: OpCauses) -> None:
        """Ops, each at most once, with their causes."""
        self._rows.add(op_partition(op), op=op, **causes._asdict())

    def of_ops(self, ids: Int64s) -> OpCauses:
        """The causes of the ops `ids`, which are in order."""
        first, last = (int(each) >> _OPS_PER_PARTITION_BITS for each in (ids[0], ids[-1]))
        near = np.concatenate([self._rows.partition(each) for each in range(first, last + 1)])
        if not len(near):
            unknown = np.full(len(ids), UNKNOWN, np.int32)
            return OpCauses(unknown, unknown, unknown, unknown.astype(np.int64))
        near = near[np.argsort(near["op"], kind="stable")]
        place = np.searchsorted(near["op"], ids.astype(np.int32))
        place[place == len(near)] = 0
        found = near[place]
        call = np.where(found["op"] == ids, found["call"], UNKNOWN)
        return OpCauses(call, found["name"], found["process"], found["thread"])

    def close(self) -> None:
        self._rows.close()


class ByProcess(Protocol):
    """What tells apart the calls and ops of several processes that have the same numbers."""

    def divided(
        self, calls: Records, ops: Records, processes: Array
    ) -> Iterator[tuple[Records, Records]]:
        """Calls and ops of one process after the other."""


class KeyedLinks(Closing):
    """Collects calls and ops by a number that both carry; joins them once all are there."""

    def __init__(self) -> None:
        self._calls = PartitionedRows(
            [("key", np.int64), *CAUSE_COLUMNS], memory_limit_bytes=LINKS_BYTES
        )
        self._ops = PartitionedRows(
            [("key", np.int64), ("op", np.int32)], memory_limit_bytes=LINKS_BYTES
        )

    def add_calls(self, key: Int64s, preference: npt.NDArray[np.int8], causes: OpCauses) -> None:
        """Calls; of several with one key that of the smallest preference counts.

        Name, process and thread are codes of the file's own tables.
        """
        usable = has_key(key)
        key, preference = key[usable], preference[usable]
        columns = {name: values[usable] for name, values in causes._asdict().items()}
        self._calls.add(key % _JOIN_PARTITIONS, key=key << _PREFERENCE_BITS | preference, **columns)

    def add_ops(self, key: Int64s, op: Int64s) -> None:
        """Ops, each at most once."""
        usable = has_key(key)
        self._ops.add(key[usable] % _JOIN_PARTITIONS, key=key[usable], op=op[usable])

    def join(
        self,
        links: Links,
        texts: Int32s,
        processes: Int32s,
        threads: Int64s,
        process_of_ops: ByProcess | None = None,
    ) -> None:
        """Add every op with the call that caused it; the arrays say what the calls' codes mean.

        `process_of_ops` tells apart the calls of several processes.
        """
        for number in self._ops.numbers():
            both = self._calls.partition(number), self._ops.partition(number)
            pairs = process_of_ops.divided(*both, processes) if process_of_ops else (both,)
            for calls, ops in pairs:
                if len(calls):
                    found, chosen = _caused(calls, ops)
                    causes = OpCauses(
                        chosen["call"],
                        texts[chosen["name"]],
                        processes[chosen["process"]],
                        threads[chosen["thread"]],
                    )
                    links.add(ops["op"][found], causes)

    def close(self) -> None:
        self._calls.close()
        self._ops.close()


def _caused(calls: Records, ops: Records) -> tuple[Mask, Records]:
    """Which ops have a call, and the call of each of these."""
    calls = calls[np.argsort(calls["key"], kind="stable")]
    place = np.searchsorted(calls["key"], ops["key"] << _PREFERENCE_BITS)
    place[place == len(calls)] = 0
    found: Mask = calls["key"][place] >> _PREFERENCE_BITS == ops["key"]
    return found, calls[place[found]]


class ExternalIds(Closing):
    """Collects launches and ops without a correlation id by the profiler's external one.

    An external id stands for what the framework was doing, so that several launches may share it.
    Its launches and its ops are paired in order of time where there are as many of the ones as of
    the others; where there are not, it is not known which launch caused which op.
    """

    def __init__(self) -> None:
        self._launches = _rows([*_ID_COLUMNS, *CAUSE_COLUMNS])
        self._ops = _rows([*_ID_COLUMNS, ("op", np.int32)])

    def add_launches(self, rows: EventRows, is_launch: Mask, ids: range) -> None:
        """Events that became the calls `ids`, of which some launch."""
        places, columns = _by_external_id(rows, is_launch)
        columns |= {name: rows[name][places] for name in ("name", "process", "thread")}
        self._launches.add(columns["id"] % _ID_PARTITIONS, call=ids.start + places, **columns)

    def add_ops(self, rows: EventRows, ids: range) -> None:
        """Events that became the ops `ids`."""
        places, columns = _by_external_id(rows, np.ones(len(rows), np.bool_))
        self._ops.add(columns["id"] % _ID_PARTITIONS, op=ids.start + places, **columns)

    def join(self, links: Links, texts: Int32s, processes: Int32s, threads: Int64s) -> None:
        """Add every op whose launch is known; the arrays say what the launches' codes mean."""
        for number in self._ops.numbers():
            sides = [side.partition(number) for side in (self._launches, self._ops)]
            launches, ops = (side[np.lexsort((side["start_ns"], side["id"]))] for side in sides)
            shared = np.intersect1d(launches["id"], ops["id"])
            shared = shared[_counts(launches["id"], shared) == _counts(ops["id"], shared)]
            launches, ops = (side[np.isin(side["id"], shared)] for side in (launches, ops))
            causes = OpCauses(
                launches["call"],
                texts[launches["name"]],
                processes[launches["process"]],
                threads[launches["thread"]],
            )
            links.add(ops["op"], causes)

    def close(self) -> None:
        self._launches.close()
        self._ops.close()


_ID_COLUMNS: list[tuple[str, type[np.generic]]] = [("id", np.int64), ("start_ns", np.int64)]


def _by_external_id(rows: EventRows, wanted: Mask) -> tuple[Array, dict[str, Array]]:
    """Where the wanted rows are that have only this id, with it and their times."""
    usable = wanted & has_key(rows["external_id"]) & ~has_key(rows["correlation"])
    places = np.flatnonzero(usable)
    return places, {"id": rows["external_id"][places], "start_ns": rows["start_ns"][places]}


def _counts(ordered: Int64s, wanted: Int64s) -> Array:
    """How often each of `wanted` is there."""
    right, left = (np.searchsorted(ordered, wanted, side) for side in ("right", "left"))
    return right - left


def op_partition(op: Int32s) -> Int32s:
    """The partition that an op is in: ops of near ids are together."""
    return op >> _OPS_PER_PARTITION_BITS


def has_key(key: Int64s) -> npt.NDArray[np.bool_]:
    """Rows with a usable number: profilers count from 1."""
    usable: npt.NDArray[np.bool_] = (key > 0) & (key < _KEY_LIMIT)
    return usable


POINT_COLUMNS: list[tuple[str, type[np.generic]]] = [
    ("id", np.int64),
    ("category", np.int32),
    ("is_text", np.bool_),
    ("order", np.int64),
    ("process", np.int64),
    ("thread", np.int64),
    ("start_ns", np.int64),
]
FLOW_START = ord("s")
FLOW_END = ord("f")
_ARROW = ("id", "category", "start_ns")
_TIME_COLUMNS = [column for column in POINT_COLUMNS if column[0] in _ARROW]
_END_COLUMNS: list[tuple[str, type[np.generic]]] = [("order", np.int64), ("op", np.int32)]


@dataclass(frozen=True)
class SliceTable:
    """A table of slices: what is drawn on tracks."""

    source: TraceSource
    table: Table
    columns: tuple[str, ...]
    """What is wanted of a slice, with `thread`, which is part of its track."""
    process_column: str
    process_numbers: Callable[[Array], Array]
    """The processes that the values of that column stand for, as points state them."""

    def batches(self) -> Iterator[Batch]:
        """The columns, start, end and process of all slices."""
        wanted = (*self.columns, self.process_column, "start_ns", "end_ns")
        for batch in self.source.batches(self.table, tuple(dict.fromkeys(wanted))):
            track_process = self.process_numbers(batch[self.process_column])
            # A zero-length slice must be hit too.
            end_ns = np.maximum(batch["end_ns"], batch["start_ns"] + 1)
            columns = {name: batch[name] for name in (*self.columns, "start_ns")}
            yield {**columns, "end_ns": end_ns, "track_process": track_process}

    @property
    def record(self) -> list[tuple[str, npt.DTypeLike]]:
        """The types of those columns."""
        names = (*self.columns, "start_ns", "end_ns")
        stored = [(name, self.table.column(name).type.dtype) for name in names]
        return [*stored, ("track_process", np.int64)]


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
    processes = np.concatenate((slices["track_process"], points["process"]))
    threads = np.concatenate((slices["thread"], points["thread"]))
    thread_count, thread = _numbered(threads)
    tracks = _numbered(processes)[1] * thread_count + thread
    touched = containing_range(
        points["start_ns"],
        slices["start_ns"],
        slices["end_ns"],
        lanes=tracks[: len(slices)],
        time_lanes=tracks[len(slices) :],
    )
    hit = touched >= 0
    return points[hit], slices[touched[hit]]


def _numbered(values: Array) -> tuple[int, npt.NDArray[np.intp]]:
    """How many different values there are, and which of them each one is."""
    different, numbers = np.unique(values, return_inverse=True)
    return len(different), numbers.reshape(-1)


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
                category=batch["category"][rows],
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
                times = {name: points[name] for name in _ARROW}
                begins.add(_id_partition(points), **times, call=touched["id"], **causes)
            for points, touched in touched_slices(self._points[FLOW_END], ops):
                times = {name: points[name] for name in (*_ARROW, "order")}
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
        begin_arrow, end_arrow = _arrows(begin, end)
        order = np.lexsort((begin["start_ns"], begin_arrow))
        begin, begin_arrow = begin[order], begin_arrow[order]
        first = np.searchsorted(begin_arrow, end_arrow)
        first[first == len(begin)] = 0
        found = begin_arrow[first] == end_arrow
        end, end_arrow, first = end[found], end_arrow[found], first[found]
        times = (begin["start_ns"], end["start_ns"])
        last = _last_before(times, (begin_arrow, end_arrow))
        yield begin[np.maximum(first, last)], end


def _arrows(begin: Records, end: Records) -> tuple[Int64s, Int64s]:
    """The arrow of each begin and end, as a number: ids count within a category."""
    category, identity = (np.concatenate((begin[name], end[name])) for name in ("category", "id"))
    order = np.lexsort((identity, category))
    category, identity = category[order], identity[order]
    is_next = (category[1:] != category[:-1]) | (identity[1:] != identity[:-1])
    arrows = np.empty(len(order), np.int64)
    arrows[order] = np.append(0, np.cumsum(is_next))
    return arrows[: len(begin)], arrows[len(begin) :]


def _last_before(times: tuple[Int64s, Int64s], arrows: tuple[Int64s, Int64s]) -> Int64s:
    """Of each end the place of the last begin, in order of (arrow, time), that is not after it."""
    begin_count, end_count = map(len, times)
    is_end = np.arange(begin_count + end_count) >= begin_count
    order = np.lexsort((is_end, np.concatenate(times), np.concatenate(arrows)))
    is_end = is_end[order]
    place = np.empty(end_count, np.int64)
    place[order[is_end] - begin_count] = np.cumsum(~is_end)[is_end] - 1
    return place
