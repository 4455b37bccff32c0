"""Charges the stall of every wait to the memory operation that it waited for.

A wait's stall goes in equal parts to the counters on which it found operations; a counter's part
goes to the operation that was issued last of those, because operations of an ordered counter finish
in order. Whole cycles only: the parts add up to the stall exactly. A wait that found no operation
keeps its stall.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wavescope.analyze.thread_trace.counter_model import Dependencies
from wavescope.analyze.thread_trace.executed import Executed
from wavescope.model.thread_trace import Instructions, Integers, Rows


@dataclass(frozen=True, eq=False)
class Charges:
    """Stall moved from waits to producers.

    `list_stall` has one element per dependency list: its part of the wait's stall. The pairs are
    distinct (wait row, producer row) with the stall that moved between them.
    """

    list_stall: Integers
    wait_row: Rows
    producer_row: Rows
    stall: Integers
    count: Integers
    """How many times a wait of this row waited for this producer last."""
    given: Integers
    """By row: stall that went from it to others."""
    received: Integers
    """By row: stall that came to it from waits."""
    charged: Integers
    """By row: its stall without what it gave, with what it received; adds up to all stall."""
    is_measured: bool
    """False where no wave files are there and program order was followed instead."""


def charges_of(
    instructions: Instructions, executed: Executed, dependencies: Dependencies
) -> Charges:
    """Who is to blame for the waits' stall."""
    rows = len(instructions)
    list_stall = _list_stalls(executed, dependencies)
    wait_row = executed.row[dependencies.wait_event].astype(np.int64)
    producer_row = executed.row[dependencies.last_producer].astype(np.int64)
    keys, place, counts = np.unique(
        wait_row * max(rows, 1) + producer_row, return_inverse=True, return_counts=True
    )
    stall = _summed(place, list_stall, len(keys))
    waits, producers = keys // max(rows, 1), keys % max(rows, 1)
    stall = _within_rows(instructions, executed, waits, stall)
    given, received = _summed(waits, stall, rows), _summed(producers, stall, rows)
    return Charges(
        list_stall=list_stall,
        wait_row=waits.astype(np.int32),
        producer_row=producers.astype(np.int32),
        stall=stall,
        count=counts.astype(np.int64),
        given=given,
        received=received,
        charged=instructions.stall - given + received,
        is_measured=executed.is_measured,
    )


def _list_stalls(executed: Executed, dependencies: Dependencies) -> Integers:
    """Each list's part of its wait's stall; the first lists of a wait take the odd cycles."""
    events = dependencies.wait_event
    if not len(events):
        return np.empty(0, np.int64)
    is_first = np.concatenate([[True], events[1:] != events[:-1]])
    firsts = np.flatnonzero(is_first)
    wait = np.cumsum(is_first) - 1
    parts = np.diff(np.append(firsts, len(events)))[wait]
    place = np.arange(len(events)) - firsts[wait]
    stall = executed.stall[events].astype(np.int64)
    return np.asarray(stall // parts + (place < stall % parts), np.int64)


def _summed(places: Integers, values: Integers, count: int) -> Integers:
    """Exact sums of `values` by place."""
    sums = np.zeros(count, np.int64)
    np.add.at(sums, places, values)
    return sums


def _within_rows(
    instructions: Instructions, executed: Executed, waits: Integers, stall: Integers
) -> Integers:
    """`stall` such that no row gives more than code.json says it has.

    Both agree in every capture that is whole; where wave files belong to another run, or a row of
    code.json was lost, the parts are scaled down.
    """
    if not executed.is_measured or not len(waits):
        return stall
    given = _summed(waits, stall, len(instructions))
    has = instructions.stall
    too_much = given > has
    if not too_much.any():
        return stall
    factor = np.where(too_much, has / np.maximum(given, 1), 1.0)
    return np.where(too_much[waits], np.floor(stall * factor[waits]).astype(np.int64), stall)
