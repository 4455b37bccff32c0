"""The stall of a wait on several counters, in parts for each of them.

A wait ends when the slowest counter is done. How long each took is seen at waits on that counter
alone, for the same operation where there are some. Every cycle of the stall then belongs in equal
parts to the counters that were not done yet; where no such wait was seen, all of it does.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from wavescope.analyze.capture.wait_counters import DRAINED, Dependencies, Executed
from wavescope.model.capture import Flags, Instructions, Integers

Reals = npt.NDArray[np.float64]
_PIECE = 1 << 18
_MOST_SEEN = 1 << 20
"""Waits on one counter that latencies are taken from: evenly chosen where there are more."""


def list_stalls(
    instructions: Instructions, executed: Executed, dependencies: Dependencies
) -> Integers:
    """Each dependency list's part of its wait's stall; the parts of a wait add up to it."""
    events = dependencies.wait_event
    stall = executed.stall[events].astype(np.int64)
    is_shared = _shared(events)
    shared = np.flatnonzero(is_shared)
    if not len(shared):
        return stall
    latency = _latencies(instructions, executed, dependencies, shared, is_shared)
    for piece in _cuts(events[shared]):
        places = shared[piece]
        left = _left_at_wait(executed, dependencies, places, latency[piece])
        stall[places] = _parts(events[places], stall[places], left)
    return stall


def _shared(events: Integers) -> Flags:
    """Lists whose wait has other lists, too."""
    is_shared = np.zeros(len(events), np.bool_)
    is_same = events[1:] == events[:-1]
    is_shared[1:] |= is_same
    is_shared[:-1] |= is_same
    return is_shared


def _latencies(
    instructions: Instructions,
    executed: Executed,
    dependencies: Dependencies,
    shared: Integers,
    is_shared: Flags,
) -> Reals:
    """How long the operation of each shared list takes, NaN where no wait on one counter tells.

    As seen for its row, else for its mnemonic, else for its counter.
    """
    latency = np.full(len(shared), np.nan)
    if executed.time is None or not len(instructions):
        return latency
    alone = np.flatnonzero(~is_shared & (executed.stall[dependencies.wait_event] > 0))
    alone = alone[:: max(len(alone) // _MOST_SEEN, 1)]
    seen = executed.time[dependencies.wait_event[alone]]
    seen = (
        seen
        + executed.stall[dependencies.wait_event[alone]]
        - _issued(executed, dependencies.last_producer[alone])
    )
    rows = executed.row[dependencies.last_producer]
    for keys, count in (
        (rows, len(instructions)),
        (instructions.mnemonic_code[rows], len(instructions.mnemonics)),
        (dependencies.counter, DRAINED + 1),
    ):
        unknown = np.isnan(latency)
        if not unknown.any():
            break
        medians = _medians(keys[alone], seen, count)
        latency[unknown] = medians[keys[shared[unknown]]]
    return latency


def _issued(executed: Executed, events: Integers) -> Integers:
    assert executed.time is not None
    issued: Integers = executed.time[events] + executed.stall[events]
    return issued


def _medians(keys: npt.NDArray[np.integer], values: Integers, count: int) -> Reals:
    """For each key the lower median of its values, NaN where it has none."""
    medians = np.full(count, np.nan)
    order = np.lexsort((values, keys))
    found, first, counts = np.unique(keys[order], return_index=True, return_counts=True)
    medians[found] = values[order[first + (counts - 1) // 2]]
    return medians


def _left_at_wait(
    executed: Executed, dependencies: Dependencies, places: Integers, latency: Reals
) -> Reals:
    """For each list how many cycles of its wait's stall its operation still took."""
    if executed.time is None:
        return latency
    waits = dependencies.wait_event[places]
    done = _issued(executed, dependencies.last_producer[places]) + latency
    left: Reals = np.clip(done - executed.time[waits], 0, executed.stall[waits])
    return left


def _cuts(events: Integers) -> list[slice]:
    """Pieces of equal events that never part the lists of one wait."""
    bounds = [0]
    while bounds[-1] < len(events):
        end = min(bounds[-1] + _PIECE, len(events))
        while end < len(events) and events[end] == events[end - 1]:
            end += 1
        bounds.append(end)
    return [slice(first, last) for first, last in pairwise(bounds)]


def _parts(events: Integers, stall: Integers, left: Reals) -> Integers:
    """`stall` divided among the lists of the same wait by what was `left` of each."""
    is_first = np.concatenate([[True], events[1:] != events[:-1]])
    firsts = np.flatnonzero(is_first)
    wait = np.cumsum(is_first) - 1
    count = np.diff(np.append(firsts, len(events)))[wait]
    place = np.arange(len(events)) - firsts[wait]
    equal = stall // count + (place < stall % count)
    most = np.maximum.reduceat(left, firsts)[wait]  # NaN where one of them is
    by_time = _parts_by_time(firsts, wait, count, stall, np.nan_to_num(left))
    return np.where(most > 0, by_time, equal).astype(np.int64)


def _parts_by_time(
    firsts: Integers, wait: Integers, count: Integers, stall: Integers, left: Reals
) -> Integers:
    """Each cycle in equal parts to those that are not done; the slowest takes what is over."""
    order = np.lexsort((left, wait))
    ordered = left[order]
    place = np.arange(len(ordered)) - firsts[wait]
    before = np.where(place > 0, np.concatenate([[0.0], ordered[:-1]]), 0.0)
    sums = np.cumsum((ordered - before) / (count - place))
    begun = np.concatenate([[0.0], sums])[firsts]
    parts = np.floor(sums - begun[wait] + 1e-9).astype(np.int64)
    is_last = place == count - 1
    given = np.add.reduceat(np.where(is_last, 0, parts), firsts)
    parts = np.where(is_last, stall - given[wait], parts)
    found = np.empty_like(parts)
    found[order] = parts
    return found
