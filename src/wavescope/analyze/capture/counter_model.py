"""Finds what every wait waited for by running the counters of each wave over what it executed."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from wavescope.analyze.capture.counter_rules import (
    COUNTERS,
    MOST_COUNTERS,
    CounterAction,
    CounterRules,
    counter_action,
    shared_groups,
)
from wavescope.analyze.capture.executed import sums_by_row
from wavescope.analyze.capture.traced_chip import IsaFamily
from wavescope.model.capture import Codes, Instructions, Integers, Rows
from wavescope.native.library import columns_library

DRAINED = MOST_COUNTERS
"""The counter of a list that a wait for everything made."""
_GROUPS = 2
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
_ACTION = np.dtype(
    [
        ("is_wait", "u1"),
        ("drains_all", "u1"),
        ("increments", "u1", MOST_COUNTERS),
        ("unorders", "u1"),
        ("shared_group", "i1"),
        ("waited", "u1"),
        ("limits", "i4", MOST_COUNTERS),
    ],
    align=True,
)


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
    library = columns_library()
    if library is not None:
        return _native(library, program, row, offsets)
    return _found(program, row, offsets)


def _may_count(mnemonic: str) -> bool:
    """Whether an instruction may touch a counter; nearly all do arithmetic and do not."""
    return not mnemonic.startswith(("v_", "s_")) or mnemonic.startswith(_SCALAR_BEGINNINGS)


class _Family(ctypes.Structure):
    _fields_: ClassVar = [
        ("wait_order", ctypes.c_int32 * MOST_COUNTERS),
        ("shared_of", ctypes.c_uint8 * MOST_COUNTERS),
    ]


class _Found(ctypes.Structure):
    _fields_: ClassVar = [
        ("list_capacity", ctypes.c_int64),
        ("list_count", ctypes.c_int64),
        ("wait_event", ctypes.c_void_p),
        ("counter", ctypes.c_void_p),
        ("producer_end", ctypes.c_void_p),
        ("producer_capacity", ctypes.c_int64),
        ("producer_count", ctypes.c_int64),
        ("producer_event", ctypes.c_void_p),
    ]


def _native(
    library: ctypes.CDLL, program: CounterProgram, row: Rows, offsets: Integers
) -> Dependencies:
    row, offsets = np.ascontiguousarray(row, np.int32), np.ascontiguousarray(offsets, np.int64)
    actions = _action_table(program)
    lists, producers = _capacities(program, row)
    wait_event, counter = np.empty(lists, np.int64), np.empty(lists, np.uint8)
    producer_offsets, producer_event = np.empty(lists + 1, np.int64), np.empty(producers, np.int64)
    producer_offsets[0] = 0
    found = _Found(
        lists,
        0,
        wait_event.ctypes.data,
        counter.ctypes.data,
        producer_offsets[1:].ctypes.data,
        producers,
        0,
        producer_event.ctypes.data,
    )
    family = _family_of(program)
    failed = library.ws_counter_model(
        ctypes.c_void_p(row.ctypes.data),
        ctypes.c_void_p(offsets.ctypes.data),
        ctypes.c_int64(len(offsets) - 1),
        ctypes.c_void_p(program.action_of_row.ctypes.data),
        ctypes.c_int64(len(program.action_of_row)),
        ctypes.c_void_p(actions.ctypes.data),
        ctypes.c_int64(len(program.actions)),
        ctypes.byref(family),
        ctypes.byref(found),
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


def _action_table(program: CounterProgram) -> np.ndarray[tuple[int], np.dtype[np.void]]:
    counters = COUNTERS[program.family]
    table = np.zeros(max(len(program.actions), 1), _ACTION)
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


def _family_of(program: CounterProgram) -> _Family:
    counters = COUNTERS[program.family]
    family = _Family()
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


def _found(program: CounterProgram, row: Rows, offsets: Integers) -> Dependencies:
    """What the native model finds, in Python."""
    inside = (row >= 0) & (row < len(program.action_of_row))
    numbers = np.where(inside, program.action_of_row[np.where(inside, row, 0)], -1)
    events = np.flatnonzero(numbers >= 0)
    waves = np.searchsorted(offsets, events, side="right")
    lists = _Lists()
    counters = _Counters(program, lists)
    wave = -1
    for event, number, in_wave in zip(
        events.tolist(), numbers[events].tolist(), waves.tolist(), strict=True
    ):
        if in_wave != wave:
            wave = in_wave
            counters = _Counters(program, lists)
        counters.see(event, program.actions[number])
    return lists.dependencies()


class _Lists:
    """Dependency lists as they are found."""

    def __init__(self) -> None:
        self.wait_event: list[int] = []
        self.counter: list[int] = []
        self.ends = [0]
        self.producers: list[int] = []

    def add(self, event: int, counter: int, producers: list[int]) -> None:
        """Keep a list unless it is empty."""
        if producers:
            self.wait_event.append(event)
            self.counter.append(counter)
            self.producers += producers
            self.ends.append(len(self.producers))

    def dependencies(self) -> Dependencies:
        """All lists as columns."""
        return Dependencies(
            np.array(self.wait_event, np.int64),
            np.array(self.counter, np.uint8),
            np.array(self.ends, np.int64),
            np.array(self.producers, np.int64),
        )


class _Counters:
    """The counters of one wave."""

    def __init__(self, program: CounterProgram, lists: _Lists) -> None:
        self._names = COUNTERS[program.family].names
        is_decoder = program.rules is CounterRules.DECODER
        self._shared_of = shared_groups(program.family) if is_decoder else {}
        self._outstanding: dict[str, list[int]] = {name: [] for name in self._names}
        self._unordered: set[str] = set()
        self._shared: list[list[int]] = [[] for _ in range(_GROUPS)]
        self._lists = lists

    def see(self, event: int, action: CounterAction) -> None:
        """Let one executed instruction act."""
        if not action.is_wait:
            self._unordered.update(action.unorders)
            for name, count in action.counts:
                self._outstanding[name] += [event] * count
            if action.shared_group >= 0:
                self._shared[action.shared_group].append(event)
        elif action.drains_all:
            self._lists.add(
                event, DRAINED, [each for name in self._names for each in self._outstanding[name]]
            )
            self._outstanding = {name: [] for name in self._names}
            self._unordered.clear()
        else:
            limits = dict(action.limits)
            for place, name in enumerate(self._names):
                if name in limits:
                    self._lists.add(event, place, self._taken(name, limits[name]))

    def _taken(self, name: str, limit: int) -> list[int]:
        if limit <= 0:
            self._unordered.discard(name)
        if name in self._unordered:
            return []
        taken: list[int] = []
        for group in self._shared_of.get(name, ()):
            taken += self._shared[group]
            self._shared[group] = []
        outstanding = self._outstanding[name]
        finished = max(len(outstanding) - max(limit, 0), 0)
        self._outstanding[name] = outstanding[finished:]
        return taken + outstanding[:finished]
