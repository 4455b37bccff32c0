"""Pairs the beginnings and ends of slices."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wavescope.formats.perfetto.events import TrackEvents
from wavescope.formats.perfetto.fields import EventType
from wavescope.formats.perfetto.rows import Rows
from wavescope.model.columns import UNKNOWN

Int64s = npt.NDArray[np.int64]


@dataclass
class Slices:
    """Whole slices and instants: rows with end_ns and is_instant, and the flows of each row."""

    rows: Rows
    flow_row: Int64s
    flow_id: Int64s


@dataclass
class _Open:
    row: Rows
    flows: list[int]


class SlicePairs:
    """Closes slices: an end belongs to the latest beginning still open on its track."""

    def __init__(self) -> None:
        self._open: defaultdict[int, list[_Open]] = defaultdict(list)
        self.ends_alone = 0
        """Ends without a beginning."""

    @property
    def begins_alone(self) -> int:
        """Beginnings without an end so far."""
        return sum(len(stack) for stack in self._open.values())

    def add(self, events: TrackEvents, rows: Rows) -> Slices:
        """The slices that the events complete."""
        types, tracks = events["type"], events["track"]
        begins = types == EventType.SLICE_BEGIN
        ends = types == EventType.SLICE_END
        rows["end_ns"] = rows["start_ns"].copy()
        rows["is_instant"] = (types == EventType.INSTANT).astype(np.int64)
        # An end right behind a beginning on its track closes it: in our own files, all of them.
        pairs = np.zeros(len(types), np.bool_)
        pairs[:-1] = begins[:-1] & ends[1:] & (tracks[:-1] == tracks[1:])
        closed = np.flatnonzero(pairs)
        rows["end_ns"][closed] = rows["start_ns"][closed + 1]
        done = pairs | (rows["is_instant"] != 0)
        rest = (begins | ends) & ~pairs
        rest[1:] &= ~pairs[:-1]
        finished = self._pair_by_stack(events, rows, np.flatnonzero(rest), done)
        return _joined(finished, _taken(events, rows, np.flatnonzero(done)))

    def _pair_by_stack(
        self,
        events: TrackEvents,
        rows: Rows,
        rest: npt.NDArray[np.intp],
        done: npt.NDArray[np.bool_],
    ) -> list[Slices]:
        """Follow every track's stack over the rows `rest`, marking what is `done`.

        Returns slices that began in earlier events.
        """
        stacks: defaultdict[int, list[int]] = defaultdict(list)
        finished: list[Slices] = []
        for row in rest.tolist():
            track, time_ns = int(events["track"][row]), int(rows["start_ns"][row])
            if events["type"][row] == EventType.SLICE_BEGIN:
                stacks[track].append(row)
            elif stacks[track]:
                begin = stacks[track].pop()
                rows["end_ns"][begin] = time_ns
                done[begin] = True
            elif self._open[track]:
                finished.append(_finished(self._open[track].pop(), time_ns))
            else:
                self.ends_alone += 1
        for track, stack in stacks.items():
            self._open[track].extend(_held(events, rows, row) for row in stack)
        return finished


def _held(events: TrackEvents, rows: Rows, row: int) -> _Open:
    first, stop = np.searchsorted(events["flow_row"], (row, row + 1))
    flows = events["flow_id"][first:stop].tolist()
    return _Open({name: column[row : row + 1].copy() for name, column in rows.items()}, flows)


def _finished(held: _Open, end_ns: int) -> Slices:
    held.row["end_ns"][0] = end_ns
    flows = np.array(held.flows, np.int64)
    return Slices(held.row, np.zeros(len(flows), np.int64), flows)


def _taken(events: TrackEvents, rows: Rows, kept: npt.NDArray[np.intp]) -> Slices:
    """The rows `kept`, with flows renumbered to them."""
    new_row = np.full(len(events), UNKNOWN, np.int64)
    new_row[kept] = np.arange(len(kept))
    flow_row = new_row[events["flow_row"]]
    known = flow_row >= 0
    return Slices(
        {name: column[kept] for name, column in rows.items()},
        flow_row[known],
        events["flow_id"][known],
    )


def _joined(parts: list[Slices], last: Slices) -> Slices:
    if not parts:
        return last
    parts = [*parts, last]
    names = dict.fromkeys(name for part in parts for name in part.rows)
    counts = [len(part.rows["start_ns"]) for part in parts]
    rows = {
        name: np.concatenate(
            [
                part.rows.get(name, np.full(count, UNKNOWN, np.int64))
                for part, count in zip(parts, counts, strict=True)
            ]
        )
        for name in names
    }
    firsts = np.cumsum([0, *counts[:-1]])
    shifted = [part.flow_row + first for part, first in zip(parts, firsts.tolist(), strict=True)]
    return Slices(rows, np.concatenate(shifted), np.concatenate([part.flow_id for part in parts]))
