"""Charges the stall of waits to what they waited for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wavescope.analyze.capture.wait_counters import Dependencies, Executed
from wavescope.analyze.capture.wait_parts import list_stalls
from wavescope.model.capture import Instructions, Integers, Rows

_PIECE = 1 << 18


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
    list_stall = list_stalls(instructions, executed, dependencies)
    keys, stall, counts = _pairs(executed, dependencies, list_stall, max(rows, 1))
    waits, producers = keys // max(rows, 1), keys % max(rows, 1)
    stall = _within_rows(instructions, executed, waits, stall)
    given, received = _summed(waits, stall, rows), _summed(producers, stall, rows)
    return Charges(
        list_stall=list_stall,
        wait_row=waits.astype(np.int32),
        producer_row=producers.astype(np.int32),
        stall=stall,
        count=counts,
        given=given,
        received=received,
        charged=instructions.stall - given + received,
        is_measured=executed.is_measured,
    )


def _pairs(
    executed: Executed, dependencies: Dependencies, list_stall: Integers, rows: int
) -> tuple[Integers, Integers, Integers]:
    """Distinct wait row x `rows` + producer row, with the stall and the number of their lists.

    A piece at a time: sorting all lists of a large trace at once would take more memory than they.
    """
    parts = []
    for first in range(0, len(dependencies), _PIECE):
        piece = slice(first, first + _PIECE)
        wait_row = executed.row[dependencies.wait_event[piece]].astype(np.int64)
        producer_row = executed.row[
            dependencies.producer_event[dependencies.producer_offsets[1:][piece] - 1]
        ]
        ones = np.ones(len(wait_row), np.int64)
        parts.append(_distinct(wait_row * rows + producer_row, list_stall[piece], ones))
    if not parts:
        nothing = np.empty(0, np.int64)
        return nothing, nothing, nothing
    keys, stall, counts = (np.concatenate(column) for column in zip(*parts, strict=True))
    return _distinct(keys, stall, counts)


def _distinct(
    keys: Integers, stall: Integers, counts: Integers
) -> tuple[Integers, Integers, Integers]:
    """Each key once, in order, with its sums."""
    distinct, place = np.unique(keys, return_inverse=True)
    return distinct, _summed(place, stall, len(distinct)), _summed(place, counts, len(distinct))


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
