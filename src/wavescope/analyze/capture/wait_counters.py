"""Finds what every wait waited for, and charges its stall to that.

The counters of outstanding operations are run over what each wave executed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from wavescope.analyze.capture.traced_chip import IsaFamily
from wavescope.analyze.capture.wait_counter_rules import (
    COUNTERS,
    MOST_COUNTERS,
    CounterAction,
    CounterRules,
    counter_action,
    shared_groups,
)
from wavescope.model.capture import Codes, Instructions, Integers, Measure, Rows, Waves
from wavescope.native import (
    COUNTER_ACTION,
    CounterFamily,
    FoundDependencies,
    columns_library,
    pointer,
)

_PIECE = 1 << 18
_SCALAR_BEGINNINGS = (
    "s_wait",
    "s_load",
    "s_buffer",
    "s_store",
    "s_scratch",
    "s_atomic",
    "s_mem",
    "s_sendmsg",
    "s_dcache",
    "s_atc",
)


@dataclass(frozen=True, eq=False)
class Executed:
    """Events in order: rows with their stalls; `is_measured` is False for an estimate."""

    row: Rows
    stall: Rows | Integers
    offsets: Integers
    is_measured: bool


def executed_by_waves(waves: Waves) -> Executed:
    """What the wave files say."""
    return Executed(waves.row, waves.stall, waves.event_offsets, is_measured=True)


def in_program_order(instructions: Instructions) -> Executed:
    """Every executed row once, as if one wave ran down the code: an estimate without wave files.

    Each row carries the stall that all waves together had there. Loops are not followed, so an
    operation that an earlier round of a loop issued is not seen.
    """
    is_executed = ~instructions.is_label
    if instructions.measure is Measure.CYCLES:  # samples miss much of what ran
        is_executed &= (instructions.hits > 0) | (instructions.latency > 0)
    rows = np.flatnonzero(is_executed).astype(np.int32)
    offsets = np.array([0, len(rows)], np.int64)
    return Executed(rows, instructions.stall[rows], offsets, is_measured=False)


def sums_by_row(row: Rows, values: Rows | None, row_count: int) -> Integers:
    """For each row the exact sum of `values` over its events, their number where it is None.

    A piece at a time, because NumPy widens what it counts and adds; rows out of range do not count.
    """
    sums = np.zeros(row_count, np.int64)
    for first in range(0, len(row), _PIECE):
        piece = slice(first, first + _PIECE)
        rows = row[piece]
        known = (rows >= 0) & (rows < row_count)
        added = None if values is None else values[piece][known]
        # Less than 2^18 values of 31 bits: a double holds their sum exactly.
        sums += np.bincount(rows[known], added, row_count).astype(np.int64)
    return sums


DRAINED = MOST_COUNTERS
"""The counter of a list that a wait for everything made."""


@dataclass(frozen=True, eq=False)
class Dependencies:
    """One list per wait and counter on which it found operations, in order of execution."""

    wait_event: Integers
    counter: Codes
    """Index into the family's counter names, `DRAINED` for a wait for everything."""
    producer_offsets: Integers
    producer_event: Integers
    """The operations that the wait saw finished, oldest first."""

    def __len__(self) -> int:
        return len(self.wait_event)

    def producers(self, index: int) -> Integers:
        """The events that list number `index` holds."""
        return self.producer_event[self.producer_offsets[index] : self.producer_offsets[index + 1]]

    @property
    def last_producer(self) -> Integers:
        """For each list the event that was issued last: the one that finishes last."""
        return self.producer_event[self.producer_offsets[1:] - 1]


@dataclass(frozen=True, eq=False)
class CounterProgram:
    """The distinct actions of a kernel's rows."""

    family: IsaFamily
    rules: CounterRules
    actions: Sequence[CounterAction]
    action_of_row: Rows
    """-1 where a row does nothing to the counters."""


def counter_program(
    instructions: Instructions,
    family: IsaFamily,
    rules: CounterRules = CounterRules.HARDWARE,
) -> CounterProgram:
    """What each row does; rows of one mnemonic share an action unless their operands matter."""
    numbers: dict[CounterAction, int] = {}
    action_of_row = np.full(len(instructions), -1, np.int32)
    matters = np.array(
        [_may_count(mnemonic) for mnemonic in instructions.mnemonics] or [False], np.bool_
    )
    rows = np.flatnonzero(matters[instructions.mnemonic_code]) if len(instructions) else ()
    known: dict[str, int] = {}
    for row in np.asarray(rows, np.int64).tolist():
        text = instructions.text[row]
        mnemonic = text.partition(" ")[0]
        key = text if mnemonic.startswith("s_wait") or "_atomic" in mnemonic else mnemonic
        number = known.get(key)
        if number is None:
            action = counter_action(text, family, rules)
            number = -1 if action is None else numbers.setdefault(action, len(numbers))
            known[key] = number
        action_of_row[row] = number
    action_of_row[instructions.is_label] = -1
    return CounterProgram(family, rules, list(numbers), action_of_row)


def find_dependencies(program: CounterProgram, row: Rows, offsets: Integers) -> Dependencies:
    """The lists of all waves; wave w executed the events `offsets[w]` to `offsets[w + 1]`."""
    lists, producers = _capacities(program, row)
    wait_event, counter = np.empty(lists, np.int64), np.empty(lists, np.uint8)
    producer_offsets, producer_event = np.empty(lists + 1, np.int64), np.empty(producers, np.int64)
    producer_offsets[0] = 0
    found = FoundDependencies(
        list_capacity=lists,
        wait_event=pointer(wait_event, np.int64),
        counter=pointer(counter, np.uint8),
        producer_end=pointer(producer_offsets[1:], np.int64),
        producer_capacity=producers,
        producer_event=pointer(producer_event, np.int64),
    )
    failed = columns_library().wavescope_wait_dependencies(
        np.ascontiguousarray(row, np.int32),
        np.ascontiguousarray(offsets, np.int64),
        len(offsets) - 1,
        program.action_of_row,
        len(program.action_of_row),
        _action_table(program),
        len(program.actions),
        _family_of(program),
        found,
    )
    if failed:
        raise MemoryError
    lists, producers = int(found.list_count), int(found.producer_count)
    return Dependencies(
        wait_event[:lists],
        counter[:lists],
        producer_offsets[: lists + 1],
        producer_event[:producers],
    )


def _may_count(mnemonic: str) -> bool:
    """Whether an instruction may touch a counter; nearly all do arithmetic and do not."""
    return not mnemonic.startswith(("v_", "s_")) or mnemonic.startswith(_SCALAR_BEGINNINGS)


def _action_table(program: CounterProgram) -> np.ndarray[tuple[int], np.dtype[np.void]]:
    counters = COUNTERS[program.family]
    table = np.zeros(max(len(program.actions), 1), COUNTER_ACTION)
    table["shared_group"] = -1
    for number, action in enumerate(program.actions):
        entry = table[number]
        entry["is_wait"], entry["drains_all"] = action.is_wait, action.drains_all
        entry["shared_group"] = action.shared_group
        for name, count in action.counts:
            entry["increments"][counters.index(name)] = count
        entry["unorders"] = sum(1 << counters.index(name) for name in action.unorders)
        entry["waited"] = sum(1 << counters.index(name) for name, _ in action.limits)
        for name, limit in action.limits:
            entry["limits"][counters.index(name)] = limit
    return table


def _family_of(program: CounterProgram) -> CounterFamily:
    counters = COUNTERS[program.family]
    family = CounterFamily()
    for place in range(MOST_COUNTERS):
        family.wait_order[place] = place if place < len(counters.names) else -1
    if program.rules is CounterRules.DECODER:
        for name, groups in shared_groups(program.family).items():
            family.shared_of[counters.index(name)] = sum(1 << group for group in groups)
    return family


def _capacities(program: CounterProgram, row: Rows) -> tuple[int, int]:
    """How many lists and producers the events can give at most."""
    per_action = [
        (max(len(action.limits), int(action.drains_all)), 0)
        if action.is_wait
        else (0, sum(count for _, count in action.counts) + (action.shared_group >= 0))
        for action in program.actions
    ]
    table = np.array([*per_action, (0, 0)], np.int64)
    hits = sums_by_row(row, None, len(program.action_of_row))
    lists, producers = (hits @ table[program.action_of_row]).tolist()
    return lists + 1, producers + 1


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


def _list_stalls(executed: Executed, dependencies: Dependencies) -> Integers:
    """Each list's part of its wait's stall; the first lists of a wait take the odd cycles."""
    events = dependencies.wait_event
    stall = executed.stall[events].astype(np.int64)
    is_shared = np.zeros(len(events), np.bool_)
    is_same = events[1:] == events[:-1]
    is_shared[1:] |= is_same
    is_shared[:-1] |= is_same
    shared = np.flatnonzero(is_shared)
    for piece in _cuts(events[shared]):
        places = shared[piece]
        stall[places] = _parts(events[places], stall[places])
    return stall


def _cuts(events: Integers) -> list[slice]:
    """Pieces of equal events that never part the lists of one wait."""
    bounds = [0]
    while bounds[-1] < len(events):
        end = min(bounds[-1] + _PIECE, len(events))
        while end < len(events) and events[end] == events[end - 1]:
            end += 1
        bounds.append(end)
    return [slice(first, last) for first, last in pairwise(bounds)]


def _parts(events: Integers, stall: Integers) -> Integers:
    """`stall` divided among the lists of the same wait."""
    is_first = np.concatenate([[True], events[1:] != events[:-1]])
    firsts = np.flatnonzero(is_first)
    wait = np.cumsum(is_first) - 1
    parts = np.diff(np.append(firsts, len(events)))[wait]
    place = np.arange(len(events)) - firsts[wait]
    return np.asarray(stall // parts + (place < stall % parts), np.int64)


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
