"""Arrows from calls to ops, drawn by exports that need no correlation ids."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavescope.load.chrome.event_batch import ID_NONE, ID_NUMBER, EventBatch
from wavescope.load.chrome.links import KeyedLinks, Links, OpCauses, has_key
from wavescope.model.columns import UNKNOWN
from wavescope.model.nesting import containing_range
from wavescope.model.source import Array

FLOW_START = ord("s")
FLOW_END = ord("f")
_COMPLETE_PHASE = ord("X")
_LANE = ("process", "thread", "start_ns")

Int64s = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


class SliceArrows:
    """Arrows that follow directly after the slice at their end, as our own exporter writes them."""

    def __init__(self, links: KeyedLinks) -> None:
        self._links = links
        self._last = dict.fromkeys(("call", "op", "name", *_LANE), UNKNOWN)
        """The last slice of the batch before."""

    def add(self, batch: EventBatch, call: Int64s, op: Int64s) -> Mask:
        """Take the arrows at slices; which events of the batch they are.

        `call` and `op` are the ids that the events became, UNKNOWN for what they are not.
        """
        phase = batch["phase"]
        before = np.arange(1, batch.rows + 1)
        before = np.maximum.accumulate(np.where(phase == _COMPLETE_PHASE, before, 0))
        slices = {"call": call, "op": op, **{name: batch[name] for name in ("name", *_LANE)}}
        slices = {
            name: np.concatenate(([self._last[name]], values)) for name, values in slices.items()
        }
        self._last = {name: int(values[before[-1]]) for name, values in slices.items()}
        is_arrow = (batch["id_kind"] == ID_NUMBER) & has_key(batch["id"])
        for name in _LANE:
            is_arrow &= slices[name][before] == batch[name]
        starts = np.flatnonzero(is_arrow & (phase == FLOW_START) & (slices["call"][before] >= 0))
        ends = np.flatnonzero(is_arrow & (phase == FLOW_END) & (slices["op"][before] >= 0))
        cause = OpCauses(
            *(slices[name][before[starts]] for name in ("call", "name", "process", "thread"))
        )
        self._links.add_calls(batch["id"][starts], np.zeros(len(starts), np.int8), cause)
        self._links.add_ops(batch["id"][ends], slices["op"][before[ends]])
        taken = np.zeros(batch.rows, np.bool_)
        taken[starts] = taken[ends] = True
        return taken


class FlowArrows:
    """Flow events of exports that do not write correlation ids: one arrow from a call to an op."""

    def __init__(self) -> None:
        self._parts: dict[int, list[Int64s]] = {FLOW_START: [], FLOW_END: []}

    def add(self, batch: EventBatch, is_flow: Mask, numbers: Int64s, base_ns: int) -> None:
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

    def join(self, links: Links, calls: dict[str, Array], ops: dict[str, Array]) -> None:
        """Add the calls and ops at the ends of each arrow, both given as columns of their table."""
        starts, ends = (np.concatenate(parts, axis=1) for parts in self._parts.values())
        start_ids, call = _touched(starts, calls, ("pid", "thread"))
        end_ids, op = _touched(ends, ops, ("process", "thread"))
        from_call, to_op = _joined(start_ids, end_ids)
        call, op = call[from_call], op[to_op]
        order = np.unique(op, return_index=True)[1]
        call, op = call[order], op[order]
        causes = (calls[name][call] for name in ("id", "name", "process", "thread"))
        links.add(ops["id"][op].astype(np.int32), OpCauses(*causes))


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
