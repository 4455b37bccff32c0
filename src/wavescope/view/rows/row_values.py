"""Values over time beside the work of GPUs: how much is queued, and what monitors sampled."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ops.op_links import rows_of_ids
from wavescope.arrays import Array
from wavescope.arrays.coded_columns import DistinctRows, blocks
from wavescope.formats.timeline import Span, StepSeries
from wavescope.model.columns import CALLS, LINKS, MONITORS, OPS, Table
from wavescope.model.source import BATCH_ROWS, TraceSource, read_columns, rows_of_room
from wavescope.view.rows.row import Series

MOST_MONITORS = 256
MOST_SAMPLES = 1 << 22
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_LONGEST_VALUE = 64
_UNIT = re.compile(r"\s*([A-Za-z%°µ/]{1,12})")

Queue = tuple[int, int]


class Monitor(NamedTuple):
    """What was sampled of one device, such as the engine clock of GPU 0."""

    device_type: str
    device: int
    quantity: str
    series: Series

    @property
    def row_id(self) -> str:
        """Without characters that mean something in an address."""
        words = (re.sub(r"[^\w.-]", "_", text) for text in (self.quantity, self.device_type))
        return f"series/{'/'.join(words)}/{self.device}"


def monitors(source: TraceSource) -> list[Monitor]:
    """All that was sampled; values that are no numbers are left out."""
    if not 0 < source.row_count(MONITORS) <= MOST_SAMPLES:
        return []
    columns = read_columns(source, MONITORS, MONITORS.column_names)
    keys = [columns[name] for name in ("device_type", "device", "quantity")]
    numbers, firsts = DistinctRows(3).number(keys)
    numbers_of_text = {
        code: _number_and_unit(source.strings[code])
        for code in np.unique(columns["value"]).tolist()
    }
    found = []
    for number, first in enumerate(firsts.tolist()[:MOST_MONITORS]):
        device_type, device, quantity = (int(key[first]) for key in keys)
        rows = np.flatnonzero(numbers == number)
        parsed = [numbers_of_text[code] for code in columns["value"][rows].tolist()]
        values = np.array([value for value, _ in parsed])
        is_known = ~np.isnan(values)
        if not is_known.any():
            continue
        unit = next((unit for _, unit in parsed if unit), "")
        rows = rows[is_known]
        series = _held(unit, columns["start_ns"][rows], columns["end_ns"][rows], values[is_known])
        words = source.strings[device_type], source.strings[quantity]
        found.append(Monitor(words[0] or "device", device, words[1] or "value", series))
    return found


def _number_and_unit(text: str) -> tuple[float, str]:
    """The first number of a text, and what follows it."""
    match = _NUMBER.search(text[:_LONGEST_VALUE])
    if match is None:
        return float("nan"), ""
    unit = _UNIT.match(text[match.end() : _LONGEST_VALUE])
    return float(match.group()), unit.group(1) if unit else ""


def _held(
    unit: str,
    starts: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
    values: npt.NDArray[np.float64],
) -> Series:
    """Samples that hold from start to end, or to the next one where no end is known."""
    order = np.argsort(starts, kind="stable")
    starts, ends, values = starts[order], ends[order], values[order]
    following = np.append(starts[1:], np.iinfo(np.int64).max)
    # Of samples at one time the last one counts.
    kept = following > starts
    starts, ends, values, following = starts[kept], ends[kept], values[kept], following[kept]
    is_over = (ends > starts) & (ends < following)
    times = np.concatenate((starts, ends[is_over]))
    shown = np.concatenate((values, np.full(int(is_over.sum()), np.nan)))
    by_time = np.argsort(times, kind="stable")
    return Series(unit, times[by_time], shown[by_time])


def queue_depths(source: TraceSource) -> dict[Queue, Series]:
    """How many ops of each queue were launched, or had begun, and had not ended.

    Tables are read in batches: of the whole trace a few numbers for each op are held.
    """
    distinct, queues = DistinctRows(2), list[Queue]()
    ops = _Gathered(source, OPS, begun=np.int64, ended=np.int64, queue=np.int32)
    for batch in source.batches(OPS, ("id", "gpu", "queue", "start_ns", "end_ns")):
        numbers, firsts = distinct.number((batch["gpu"], batch["queue"]))
        places = (batch[name][firsts].tolist() for name in ("gpu", "queue"))
        queues.extend(zip(*places, strict=True))
        ops.add(batch["id"], begun=batch["start_ns"], ended=batch["end_ns"], queue=numbers)
    if not len(ops):
        return {}
    begun = ops["begun"]
    _launch(source, ops, begun)
    span = Span(int(begun.min()), int(max(ops["ended"].max(), begun.max())))
    steps = StepSeries(len(queues), span)
    for rows in blocks(len(ops), BATCH_ROWS):
        steps.add(ops["queue"][rows], begun[rows], 1)
        steps.add(ops["queue"][rows], ops["ended"][rows], -1)
    return dict(_depth_series(queues, steps))


def _launch(source: TraceSource, ops: _Gathered, begun: npt.NDArray[np.int64]) -> None:
    """Let ops begin with the first call that is linked with them."""
    calls = _Gathered(source, CALLS, start=np.int64)
    for batch in source.batches(CALLS, ("id", "start_ns")):
        calls.add(batch["id"], start=batch["start_ns"])
    is_launched = np.zeros(len(ops), np.bool_)
    for batch in source.batches(LINKS, ("call", "op")):
        op_rows, has_op = rows_of_ids(ops.ids, batch["op"])
        call_rows, has_call = rows_of_ids(calls.ids, batch["call"])
        fresh = has_op & has_call & ~is_launched[op_rows]
        op_rows, call_rows = op_rows[fresh], call_rows[fresh]
        # Written backwards, so that of several links the first one stays.
        begun[op_rows[::-1]] = calls["start"][call_rows[::-1]]
        is_launched[op_rows] = True


class _Gathered:
    """Some columns of a table, put together from batches."""

    def __init__(self, source: TraceSource, table: Table, **types: type) -> None:
        room = rows_of_room(source, table)
        self._columns: dict[str, Array] = {
            name: np.empty(room, kind) for name, kind in types.items()
        }
        self._columns["id"] = np.empty(room, np.int64)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, ids: Array, **columns: Array) -> None:
        rows = slice(self._count, self._count + len(ids))
        self._columns["id"][rows] = ids
        for name, values in columns.items():
            self._columns[name][rows] = values
        self._count = rows.stop

    @property
    def ids(self) -> Array:
        return self["id"]

    def __getitem__(self, name: str) -> Array:
        return self._columns[name][: self._count]


def _depth_series(queues: list[Queue], steps: StepSeries) -> Iterator[tuple[Queue, Series]]:
    for number, samples in steps.all_samples():
        yield (
            queues[number],
            Series("ops", samples.times_ns, samples.values.astype(np.float64)),
        )


NO_VALUES = Series("", np.empty(0, np.int64), np.empty(0))
