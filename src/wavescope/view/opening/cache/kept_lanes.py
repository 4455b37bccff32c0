"""The lanes of a trace and what else an opening needs, as columns in a file and a description."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from wavescope.arrays import Array
from wavescope.view.lanes import Lane
from wavescope.view.rows import Place, place_of

Codes = npt.NDArray[np.int32]

_NO_CODES: Codes = np.empty(0, np.int32)
_LENGTH_TYPES: dict[int, type[np.unsignedinteger[Any]]] = {4: np.uint32, 8: np.uint64}


@dataclass(frozen=True)
class KeptLanes:
    """Everything that was read of a trace to show it."""

    lanes: Mapping[Place, tuple[Lane, ...]]
    times: tuple[int, int]
    """The first start and the last end."""
    known_strings: int = 0
    """Strings that the source had before anything was read."""
    added_strings: Sequence[str] = ()
    """Those that it found while it was read, in the order of their codes."""
    call_names: Codes = field(default_factory=lambda: _NO_CODES)
    call_categories: Codes = field(default_factory=lambda: _NO_CODES)
    processes_of_gpu: Mapping[int, set[int]] = field(default_factory=dict)
    left_out_count: int = 0
    notes: Sequence[tuple[str, int]] = ()
    """What the reader skipped or repaired."""

    @property
    def range_count(self) -> int:
        return sum(len(lane) for lanes in self.lanes.values() for lane in lanes)

    def columns(self) -> Iterator[Array]:
        """All columns, in the order in which `described` speaks of them."""
        for lanes in self.lanes.values():
            for lane in lanes:
                yield from (lane.starts, lane.lengths, lane.names, lane.rows)
        yield self.call_names
        yield self.call_categories

    def described(self) -> dict[str, Any]:
        """All but the columns, as JSON."""
        return {
            "rows": [
                [place.row_id, [[lane.depth, len(lane), lane.lengths.itemsize] for lane in lanes]]
                for place, lanes in self.lanes.items()
            ],
            "times": list(self.times),
            "known_strings": self.known_strings,
            "added_strings": list(self.added_strings),
            "call_names": len(self.call_names),
            "processes_of_gpu": [
                [gpu, sorted(processes)] for gpu, processes in self.processes_of_gpu.items()
            ],
            "left_out_count": self.left_out_count,
            "notes": [list(note) for note in self.notes],
        }


def kept_lanes(described: Mapping[str, Any], column: Callable[[type, int], Array]) -> KeptLanes:
    """What `described` says; `column` gives the next column of a type and length.

    KeyError, TypeError or ValueError where it says something that cannot be.
    """
    lanes: dict[Place, tuple[Lane, ...]] = {}
    for row_id, parts in described["rows"]:
        place = place_of(row_id)
        if place is None:
            raise ValueError(row_id)
        lanes[place] = tuple(_lane(int(d), int(c), int(size), column) for d, c, size in parts)
    first_ns, last_ns = described["times"]
    call_count = int(described["call_names"])
    return KeptLanes(
        lanes,
        (int(first_ns), int(last_ns)),
        int(described["known_strings"]),
        [str(text) for text in described["added_strings"]],
        column(np.int32, call_count),
        column(np.int32, call_count),
        {int(gpu): set(map(int, processes)) for gpu, processes in described["processes_of_gpu"]},
        int(described["left_out_count"]),
        [(str(sentence), int(count)) for sentence, count in described["notes"]],
    )


def _lane(depth: int, count: int, length_bytes: int, column: Callable[[type, int], Array]) -> Lane:
    if depth < 0 or count < 0:
        raise ValueError(depth, count)
    return Lane(
        column(np.int64, count),
        column(_LENGTH_TYPES[length_bytes], count),
        column(np.int32, count),
        column(np.uint32, count),
        depth,
    )
