"""Which call caused which op: by correlation id, or by the arrows that other tools draw."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wavescope.load.chrome.event_batch import ID_NONE, EventBatch
from wavescope.load.chrome.rows import EventRows
from wavescope.model.columns import UNKNOWN
from wavescope.model.nesting import containing_range
from wavescope.model.source import Array

_PREFERENCE_BITS = 2
_LARGEST_CORRELATION = 1 << (62 - _PREFERENCE_BITS)
FLOW_START = ord("s")
FLOW_END = ord("f")

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Links:
    """Pairs of call and op ids in order of the ops, with what the op takes over from the call."""

    call: Int32s
    op: Int32s
    name: Int32s
    process: Int32s
    thread: Int64s

    @classmethod
    def none(cls) -> Links:
        """No links at all."""
        codes = np.empty(0, np.int32)
        return cls(codes, codes, codes, codes, np.empty(0, np.int64))

    def of_ops(self, ids: Int64s) -> npt.NDArray[np.intp]:
        """For each op id the index of its link, UNKNOWN where it has none."""
        if not len(self.op):
            return np.full(len(ids), UNKNOWN, np.intp)
        place = np.searchsorted(self.op, ids.astype(np.int32))
        place[place == len(self.op)] = 0
        return np.where(self.op[place] == ids, place, UNKNOWN)


class CorrelationLinks:
    """Collects correlation ids of calls and ops; joins them once all are there."""

    def __init__(self) -> None:
        self._calls: list[tuple[Int64s, Int32s, Int32s, Int32s, Int32s]] = []
        self._ops: list[tuple[Int64s, Int32s]] = []

    def add_calls(self, ids: range, rows: EventRows, preference: npt.NDArray[np.int8]) -> None:
        """Calls; of several with one correlation id that of the smallest preference counts."""
        correlation = rows["correlation"]
        has_one = _usable(correlation)
        if len(has_one):
            key = correlation[has_one] << _PREFERENCE_BITS | preference[has_one]
            call = (has_one + ids.start).astype(np.int32)
            name, process, thread = (rows[each][has_one] for each in ("name", "process", "thread"))
            self._calls.append((key, call, name, process, thread))

    def add_ops(self, ids: range, correlation: Int64s) -> None:
        """Ops, in order of their ids."""
        has_one = _usable(correlation)
        if len(has_one):
            op = (has_one + ids.start).astype(np.int32)
            self._ops.append((correlation[has_one], op))

    def links(self, texts: Int32s, processes: Int32s, threads: Int64s) -> Links:
        """Every op with the call that caused it; the arguments say what the calls' codes mean."""
        if not self._calls or not self._ops:
            return Links.none()
        key, call, name, process, thread = (
            np.concatenate(parts) for parts in zip(*self._calls, strict=True)
        )
        self._calls = []
        order = np.argsort(key, kind="stable")
        ordered = key[order]
        linked: list[tuple[Int32s, Int32s]] = []
        # Part by part, for the sake of memory.
        for correlation, op in self._ops:
            place = np.searchsorted(ordered, correlation << _PREFERENCE_BITS)
            place[place == len(ordered)] = 0
            found = ordered[place] >> _PREFERENCE_BITS == correlation
            linked.append((order[place[found]].astype(np.int32), op[found]))
        self._ops = []
        chosen, ops = (np.concatenate(parts) for parts in zip(*linked, strict=True))
        return Links(
            call[chosen],
            ops,
            texts[name[chosen]],
            processes[process[chosen]],
            threads[thread[chosen]],
        )


def _usable(correlation: Int64s) -> npt.NDArray[np.intp]:
    """Rows with a correlation id: profilers number from 1."""
    return np.flatnonzero((correlation > 0) & (correlation < _LARGEST_CORRELATION))


class FlowArrows:
    """Flow events of exports that do not write correlation ids: one arrow from a call to an op."""

    def __init__(self) -> None:
        self._parts: dict[int, list[Int64s]] = {FLOW_START: [], FLOW_END: []}

    def add(
        self, batch: EventBatch, is_flow: npt.NDArray[np.bool_], numbers: Int64s, base_ns: int
    ) -> None:
        """The arrows of `batch`; `numbers` are those of the process and thread keys."""
        for phase, parts in self._parts.items():
            mask = (batch["phase"] == phase) & is_flow & (batch["id_kind"] != ID_NONE)
            rows = np.flatnonzero(mask)
            if not len(rows):
                continue
            columns = {name: array[rows] for name, array in batch.columns.items()}
            # The same id as a number and as a text are two arrows.
            identity = columns["id"] * 2 + (columns["id_kind"] - 1)
            process = columns["process"]
            # Calls keep the number of their process key, waiting ops its code.
            lane = numbers[process] if phase == FLOW_START else process.astype(np.int64)
            place = (lane, numbers[columns["thread"]], columns["start_ns"] + base_ns)
            parts.append(np.stack((identity, *place)))

    @property
    def found(self) -> bool:
        """Whether there are both begins and ends of arrows."""
        return all(self._parts.values())

    def links(self, calls: dict[str, Array], ops: dict[str, Array]) -> Links:
        """The calls and ops at the two ends of each arrow, both given as columns of their table."""
        starts, ends = (np.concatenate(parts, axis=1) for parts in self._parts.values())
        start_ids, call = _touched(starts, calls, ("pid", "thread"))
        end_ids, op = _touched(ends, ops, ("process", "thread"))
        from_call, to_op = _joined(start_ids, end_ids)
        call, op = call[from_call], op[to_op]
        order = np.unique(op, return_index=True)[1]
        call, op = call[order], op[order]
        taken_over = (calls[name][call] for name in ("name", "process", "thread"))
        return Links(
            calls["id"][call].astype(np.int32), ops["id"][op].astype(np.int32), *taken_over
        )


def _joined(left: Int64s, right: Int64s) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Rows of `left` and `right` with equal ids: the first such of `left`, in order of `right`."""
    if not len(left):
        return np.empty(0, np.intp), np.empty(0, np.intp)
    order = np.argsort(left, kind="stable")
    ordered = left[order]
    place = np.searchsorted(ordered, right)
    place[place == len(order)] = 0
    found = np.flatnonzero(ordered[place] == right)
    return order[place[found]], found


def _touched(
    points: Int64s, slices: dict[str, Array], lane: tuple[str, str]
) -> tuple[Int64s, npt.NDArray[np.intp]]:
    """Arrow ids and the rows of the innermost slices they touch; `points` are id, lane and time."""
    rows = len(slices["id"])
    pairs = [np.concatenate((slices[name], points[1 + at])) for at, name in enumerate(lane)]
    _, lanes = np.unique(np.stack(pairs), axis=1, return_inverse=True)
    lanes = lanes.reshape(-1)
    # A zero-length slice must be hit too.
    ends_ns = np.maximum(slices["end_ns"], slices["start_ns"] + 1)
    touched = containing_range(
        points[3], slices["start_ns"], ends_ns, lanes=lanes[:rows], time_lanes=lanes[rows:]
    )
    hit = touched >= 0
    return points[0][hit], touched[hit].astype(np.intp)
