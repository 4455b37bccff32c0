"""Finds what every wait waited for.

The counters of outstanding operations are run over what each wave executed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
    """Events in order: rows with their stalls and times."""

    row: Rows
    stall: Rows | Integers
    offsets: Integers
    time: Integers | None = None
    """None for an estimate, which follows the program and no wave."""

    @property
    def is_measured(self) -> bool:
        """Whether waves executed the events."""
        return self.time is not None


def executed_by_waves(waves: Waves) -> Executed:
    """What the wave files say."""
    return Executed(waves.row, waves.stall, waves.event_offsets, waves.time)


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
    return Executed(rows, instructions.stall[rows], offsets)


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
