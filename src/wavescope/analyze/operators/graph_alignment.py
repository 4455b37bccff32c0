"""How the ops of a graph replay line up with the launches of a capture.

Both are given as tokens in order: kernel names, and a word for copies and for fills. Where the
capture does not name its kernels, its tokens are empty.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence

import numpy as np
import numpy.typing as npt

Places = npt.NDArray[np.int64]

NOT_ALIGNED = -1
UNNAMED = ""
COPY, FILL = "Memcpy", "Memset"
LEAST_REPLAYED = 0.95
"""Part of the captured launches that a replay must show: the end of a replay may be cut off."""
LEAST_REPEATED = 0.5
"""Part of the nameless launches whose operator must occur again to confirm the alignment."""


def aligned(captured: Sequence[str], replayed: Sequence[str], queues: Sequence[int]) -> Places:
    """For each replayed op the place of its launch in the capture, -1 where it is not certain.

    Names are equal in order, or a replay lacks a few of the captured, or, on several queues, the
    order of each name that keeps to one queue is kept. `queues` are those of the ops.
    """
    if list(captured) == list(replayed):
        return np.arange(len(replayed))
    if not LEAST_REPLAYED * len(captured) <= len(replayed) <= len(captured):
        return np.full(len(replayed), NOT_ALIGNED)
    in_order = _in_order(captured, replayed)
    if in_order is not None:
        return np.array(in_order, np.int64)
    if len(set(queues)) > 1 and Counter(captured) == Counter(replayed):
        return _by_name(captured, replayed, queues)
    return np.full(len(replayed), NOT_ALIGNED)


def _in_order(captured: Sequence[str], replayed: Sequence[str]) -> list[int] | None:
    """The places of the replayed among the captured if they occur there in that order."""
    places: list[int] = []
    place = 0
    for token in replayed:
        while place < len(captured) and captured[place] != token:
            place += 1
        if place == len(captured):
            return None
        places.append(place)
        place += 1
    return places


def _by_name(captured: Sequence[str], replayed: Sequence[str], queues: Sequence[int]) -> Places:
    places_of: dict[str, list[int]] = defaultdict(list)
    for place, token in enumerate(captured):
        places_of[token].append(place)
    queues_of: dict[str, set[int]] = defaultdict(set)
    for token, queue in zip(replayed, queues, strict=True):
        queues_of[token].add(queue)
    seen: Counter[str] = Counter()
    found = []
    for token in replayed:
        is_certain = len(queues_of[token]) == 1
        found.append(places_of[token][seen[token]] if is_certain else NOT_ALIGNED)
        seen[token] += 1
    return np.array(found, np.int64)


def aligned_without_names(
    captured: Sequence[str], replayed: Sequence[str], origins: Sequence[Hashable]
) -> Places:
    """The same for a capture that does not name its kernels: all of them in order, or none.

    Copies and fills are in the same places, and what came from the same origin (the operator with
    its inputs, and which of its launches it is) ran the same kernel wherever it occurs, which
    enough of them do.
    """
    nothing = np.full(len(replayed), NOT_ALIGNED)
    if len(captured) != len(replayed):
        return nothing
    words = (COPY, FILL)
    if any(
        (launch in words or op in words) and launch != op
        for launch, op in zip(captured, replayed, strict=True)
    ):
        return nothing
    kernels_of: dict[Hashable, set[str]] = defaultdict(set)
    for origin, op in zip(origins, replayed, strict=True):
        kernels_of[origin].add(op)
    if any(len(kernels) > 1 for kernels in kernels_of.values()):
        return nothing
    counts = Counter(origins)
    repeated = sum(count for count in counts.values() if count > 1)
    return np.arange(len(replayed)) if repeated >= LEAST_REPEATED * len(replayed) else nothing
