"""Why the last wave comes late to a barrier: what it waited for while the others were there.

Waves that stand at a barrier wait for the last of them. Where that one waits for memory meanwhile,
the barrier shows what the memory operation causes, and a change of the barrier gains nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from wavescope.analyze.capture.analysis import CaptureAnalysis
from wavescope.analyze.capture.barriers import BarrierGroup
from wavescope.model.capture import Integers, Rows

_MOSTLY_PERCENT = 50


class LateArrivals(NamedTuple):
    """Executions of barriers, and the row of the operation that their last wave waited for."""

    event: Integers
    cause_row: Rows


def late_arrivals(
    analysis: CaptureAnalysis, groups: list[BarrierGroup], waits: Rows, causes: Rows, stall: Rows
) -> LateArrivals:
    """The barriers whose last wave waited for memory for at least half of the skew.

    `waits` are events that waited, in any order, `causes` the operations they waited for. Of
    several the one it waited for longest is to blame.
    """
    if not groups or not len(waits):
        return LateArrivals(np.empty(0, np.int64), np.empty(0, np.int32))
    order = np.argsort(waits, kind="stable")
    waits, causes = waits[order], causes[order]
    waited = np.concatenate([[0], np.cumsum(stall[order], dtype=np.int64)])
    late = np.array([group.late_event for group in groups], np.int64)
    skew = np.array([group.skew for group in groups], np.int64)
    since = analysis.waves.time[late] - skew
    first = _first_events_since(analysis, late, since)
    begin, end = np.searchsorted(waits, first), np.searchsorted(waits, late)
    earliest = analysis.waves.time[waits[np.minimum(begin, len(waits) - 1)]]
    early = np.maximum(since - earliest, 0)
    seen = waited[end] - waited[begin] - early
    is_memory = (end > begin) & (skew > 0) & (100 * seen >= _MOSTLY_PERCENT * skew)
    chosen = np.flatnonzero(is_memory)
    rows = _longest_waited_for(
        analysis.executed.row[causes], np.diff(waited), begin[chosen], end[chosen], early[chosen]
    )
    counts = [len(groups[place].events) for place in chosen.tolist()]
    events = [event for place in chosen.tolist() for event in groups[place].events]
    return LateArrivals(np.array(events, np.int64), np.repeat(rows, counts).astype(np.int32))


def _longest_waited_for(
    rows: Rows, stall: Integers, begin: Integers, end: Integers, early: Integers
) -> Integers:
    """For each range of waits the row of most of their stall; `early` is what the first has not."""
    counts = end - begin
    of_range = np.repeat(np.arange(len(counts)), counts)
    places = np.arange(len(of_range)) - np.repeat(np.cumsum(counts) - counts, counts)
    places += np.repeat(begin, counts)
    parts = stall[places]
    parts[np.cumsum(counts) - counts] -= early
    pairs, pair = np.unique(np.stack([of_range, rows[places]]), axis=1, return_inverse=True)
    sums = np.zeros(pairs.shape[1], np.int64)
    np.add.at(sums, pair.reshape(-1), parts)
    order = np.lexsort((sums, pairs[0]))
    longest: Integers = pairs[1][order[np.cumsum(np.bincount(pairs[0])) - 1]]
    return longest


def _first_events_since(analysis: CaptureAnalysis, events: Integers, since: Integers) -> Integers:
    """For each event the first one of its wave that ends after the time `since`."""
    waves = analysis.waves
    found = np.empty(len(events), np.int64)
    wave = waves.wave_of_event[events]
    for place, (number, time) in enumerate(zip(wave.tolist(), since.tolist(), strict=True)):
        own = waves.events(number)
        # The one before may still stall at that time: its wait counts, too.
        found[place] = own.start + max(int(np.searchsorted(waves.time[own], time)) - 1, 0)
    return found
