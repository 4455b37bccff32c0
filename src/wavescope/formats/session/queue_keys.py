"""Numbers that tell the queues of a process apart: GPU and queue, or GPU and copy engine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wavescope.arrays.array_types import Array
from wavescope.formats.session.layout import COPY_QUEUE, HOST_DEVICE
from wavescope.formats.session.record_file import Records

_COPIES = 1 << 16
_DIRECTIONS = 0xFF00
_DIRECTION_NAMES = (
    "within the host",
    "to the device",
    "to the host",
    "within the device",
    "between devices",
)


def queue_key(gpu: int, queue: int) -> int:
    """The key of a queue by its numbers in the process; copies have keys of their own."""
    return (gpu << 32) + queue


def queue_keys(records: Records) -> Array:
    """The key of the queue of each op record.

    Of copies whose engine is not known the direction is taken: both run at the same time.
    """
    is_copy = records["queue"] == COPY_QUEUE
    engines = records["grid"][:, 2]
    engines = np.where(engines < _DIRECTIONS, engines, _DIRECTIONS + directions(records["grid"]))
    within = np.where(is_copy, engines + np.int64(_COPIES), records["queue"].astype(np.int64))
    keys: Array = (records["gpu"].astype(np.int64) << 32) + within
    return keys


def directions(grids: Array) -> Array:
    """Places in a list of directions from the source and target of each copy."""
    source, target = grids[:, 0], grids[:, 1]
    from_gpu, to_gpu = source != HOST_DEVICE, target != HOST_DEVICE
    plain = from_gpu * 2 + to_gpu * 1
    return np.where(from_gpu & to_gpu & (source != target), 4, plain)


@dataclass(frozen=True)
class RecordedQueue:
    """A key taken apart: a queue's index, or a copy engine's number."""

    gpu: int
    index: int
    is_copy: bool

    @property
    def name(self) -> str:
        """What the queue is called."""
        if not self.is_copy:
            return f"queue {self.index}"
        if self.index < _DIRECTIONS:
            return f"copy engine {self.index}"
        return f"copies {_DIRECTION_NAMES[min(self.index - _DIRECTIONS, 4)]}"

    @classmethod
    def from_key(cls, key: int) -> RecordedQueue:
        within = key & 0xFFFFFFFF
        return cls(key >> 32, within & 0xFFFF, within >= _COPIES)
