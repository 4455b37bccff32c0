"""One pass over a process's op records: which of them count, and what all of them say together.

Whether a record counts must not depend on the columns asked for, so it is decided here, for every
pass alike.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from wavescope.arrays import Array
from wavescope.formats.session.layout import COPY_QUEUE, HOST_DEVICE, OpFlag, OpRecordKind
from wavescope.formats.session.process import ProcessChunks
from wavescope.formats.session.record_file import Records

LARGEST_TIME = (1 << 63) - 1
_MOST_LANES = 1 << 12
_COPY_LANE = 1 << 16
_DIRECTIONS = 0xFF00
COPY_TYPES = (
    "CopyHostToHost",
    "CopyHostToDevice",
    "CopyDeviceToHost",
    "CopyDeviceToDevice",
    "CopyPeerToPeer",
)
_DIRECTION_NAMES = (
    "within the host",
    "to the device",
    "to the host",
    "within the device",
    "between devices",
)


@dataclass
class OpSurvey:
    """What a pass over the ops of one process found."""

    dispatches: int = 0
    """Dispatch records with times."""
    lanes: set[int] = field(default_factory=set)
    """See `lane_keys`."""
    timed: Counter[int] = field(default_factory=Counter)
    """Dispatches with times by queue (see `lane_keys`), unless the counters are to be trusted."""
    before: Counter[int] = field(default_factory=Counter)
    """Dispatches by queue that start before the window."""
    beyond: Counter[int] = field(default_factory=Counter)
    """Dispatches by queue that start when the window is over."""
    filtered: Counter[int] = field(default_factory=Counter)
    """Dispatches by queue that have times, but whose kernel is not asked for."""
    last_event_ns: int = -1
    left_out: Counter[str] = field(default_factory=Counter)


def counted(process: ProcessChunks, records: Records) -> Array:
    """Which records are rows: of a known kind and with times that can be told."""
    is_row: Array = _reasons(process, records) == 0
    return is_row


def lane_keys(records: Records) -> Array:
    """What tells the queues of a process apart: GPU and queue, or GPU and copy engine.

    Of copies whose engine is not known the direction is taken: both run at the same time.
    """
    is_copy = records["queue"] == COPY_QUEUE
    engines = records["grid"][:, 2]
    engines = np.where(engines < _DIRECTIONS, engines, _DIRECTIONS + directions(records["grid"]))
    within = np.where(is_copy, engines + np.int64(_COPY_LANE), records["queue"].astype(np.int64))
    keys: Array = (records["gpu"].astype(np.int64) << 32) + within
    return keys


def directions(grids: Array) -> Array:
    """Places in `COPY_TYPES` from the source and target of each copy."""
    source, target = grids[:, 0], grids[:, 1]
    from_gpu, to_gpu = source != HOST_DEVICE, target != HOST_DEVICE
    plain = from_gpu * 2 + to_gpu * 1
    return np.where(from_gpu & to_gpu & (source != target), 4, plain)


@dataclass(frozen=True)
class Lane:
    """A lane key taken apart: a queue's index, or a copy engine's number."""

    gpu: int
    index: int
    is_copy: bool

    @property
    def name(self) -> str:
        """What the lane is called."""
        if not self.is_copy:
            return f"queue {self.index}"
        if self.index < _DIRECTIONS:
            return f"copy engine {self.index}"
        return f"copies {_DIRECTION_NAMES[min(self.index - _DIRECTIONS, 4)]}"

    @classmethod
    def from_key(cls, key: int) -> Lane:
        within = key & 0xFFFFFFFF
        return cls(key >> 32, within & 0xFFFF, within >= _COPY_LANE)


def survey_ops(process: ProcessChunks) -> OpSurvey:
    """Read all op records of `process` once."""
    survey = OpSurvey()
    for block in process.ops.blocks():
        reasons = _reasons(process, block.records)
        for reason, sentence in enumerate(_SENTENCES):
            if sentence and (count := int((reasons == reason).sum())):
                survey.left_out[sentence] += count
        if process.window is not None:
            _count_dispatches(block.records[reasons == _BEFORE], survey.before)
            _count_dispatches(block.records[reasons == _BEYOND], survey.beyond)
        if process.kernel_filter is not None:
            _count_dispatches(block.records[reasons == _FILTERED], survey.filtered)
        records = block.records[reasons == 0]
        if len(records):
            _survey_block(process, records, survey)
    return survey


def times_ns(process: ProcessChunks, records: Records, member: str) -> Array:
    """Starts or ends (`member`) in nanoseconds."""
    times = records[member].astype(np.int64)
    is_raw = records["flags"] & OpFlag.RAW_TICKS != 0
    if not is_raw.any():
        return times
    for gpu in np.unique(records["gpu"][is_raw]).tolist():
        chosen = is_raw & (records["gpu"] == gpu)
        times[chosen] = process.clocks[gpu].ns_of(times[chosen])
    return times


def _survey_block(process: ProcessChunks, records: Records, survey: OpSurvey) -> None:
    is_dispatch = records["kind"] == OpRecordKind.DISPATCH
    survey.dispatches += int(is_dispatch.sum())
    if not process.is_settled or process.window is not None:
        _count_dispatches(records, survey.timed)
    if len(survey.lanes) < _MOST_LANES:
        survey.lanes.update(np.unique(lane_keys(records)).tolist()[:_MOST_LANES])
    ends = times_ns(process, records, "end")
    survey.last_event_ns = max(survey.last_event_ns, int(ends.max()))
    backwards = int((records["end"] < records["start"]).sum())
    if backwards:
        survey.left_out["ops that end before they start: given no duration"] += backwards


def _count_dispatches(records: Records, totals: Counter[int]) -> None:
    is_dispatch = records["kind"] == OpRecordKind.DISPATCH
    queues, counts = np.unique(lane_keys(records[is_dispatch]), return_counts=True)
    for queue, count in zip(queues.tolist(), counts.tolist(), strict=True):
        totals[queue] += count


_SENTENCES = (
    "",
    "ops of a kind that this version does not know, left out",
    "ops whose times the GPU did not leave, left out",
    "ops with GPU ticks but without clock readings to convert them, left out",
    "ops with impossible times, left out",
)
_BEFORE, _BEYOND, _FILTERED = range(len(_SENTENCES), len(_SENTENCES) + 3)
"""Reasons that need no sentence: outside of the window, and kernels that are not asked for."""


def _reasons(process: ProcessChunks, records: Records) -> Array:
    """By record: 0 when it counts, else the place of the sentence that says why not, or one of
    those that have none.
    """
    kinds, flags = records["kind"], records["flags"]
    unconvertible = (flags & OpFlag.RAW_TICKS != 0) & ~process.clock_works[records["gpu"]]
    beyond = (records["start"] > LARGEST_TIME) | (records["end"] > LARGEST_TIME)
    reasons = np.zeros(len(records), np.int8)
    reasons[beyond] = 4
    reasons[unconvertible] = 3
    reasons[flags & OpFlag.TIMES_LOST != 0] = 2
    reasons[(kinds < OpRecordKind.DISPATCH) | (kinds > OpRecordKind.BARRIER)] = 1
    if process.window is not None:
        timed = np.flatnonzero(reasons == 0)
        starts = times_ns(process, records[timed], "start")
        reasons[timed[process.window.starts_before(starts)]] = _BEFORE
        reasons[timed[process.window.starts_beyond(starts)]] = _BEYOND
    if process.kernel_filter is not None:
        dispatches = np.flatnonzero((reasons == 0) & (kinds == OpRecordKind.DISPATCH))
        starts = times_ns(process, records[dispatches], "start")
        wanted = process.kernel_filter.wanted(records["kernel"][dispatches], starts)
        reasons[dispatches[~wanted]] = _FILTERED
    return reasons
