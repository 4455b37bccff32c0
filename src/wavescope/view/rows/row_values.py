"""Values over time beside the work of GPUs: how much is queued, and what monitors sampled."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ops.op_links import op_links
from wavescope.arrays.coded_columns import DistinctRows
from wavescope.formats.timeline import Span, StepSeries
from wavescope.model.columns import MONITORS
from wavescope.model.source import TraceSource, read_columns
from wavescope.model.trace import Trace
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


def queue_depths(trace: Trace) -> dict[Queue, Series]:
    """How many ops of each queue were launched, or had begun, and had not ended."""
    with trace.ops.borrowed(), trace.calls.borrowed():
        ops = trace.ops
        ops.load("id", "gpu", "queue", "start_ns", "end_ns")
        begun = ops["start_ns"].copy()
        links = op_links(trace)
        begun[links.op_rows] = trace.calls["start_ns"][links.call_rows]
        distinct = DistinctRows(2)
        numbers, firsts = distinct.number((ops["gpu"], ops["queue"]))
        queues = list(zip(ops["gpu"][firsts].tolist(), ops["queue"][firsts].tolist(), strict=True))
        if not queues:
            return {}
        span = Span(int(begun.min()), int(max(ops["end_ns"].max(), begun.max())))
        steps = StepSeries(len(queues), span)
        steps.add(numbers, begun, 1)
        steps.add(numbers, ops["end_ns"], -1)
        return dict(_depth_series(queues, steps))


def _depth_series(queues: list[Queue], steps: StepSeries) -> Iterator[tuple[Queue, Series]]:
    for number, samples in steps.all_samples():
        yield (
            queues[number],
            Series("ops", samples.times_ns, samples.values.astype(np.float64)),
        )


NO_VALUES = Series("", np.empty(0, np.int64), np.empty(0))
