"""The counters of each wave in Python; see native/thread_trace/wait_counters.cpp."""

from __future__ import annotations

import numpy as np

from wavescope.analyze.capture.wait_counter_rules import (
    COUNTERS,
    CounterAction,
    CounterRules,
    shared_groups,
)
from wavescope.analyze.capture.wait_counters import DRAINED, CounterProgram, Dependencies
from wavescope.model.capture import Integers, Rows

_GROUPS = 2


def find_dependencies(program: CounterProgram, row: Rows, offsets: Integers) -> Dependencies:
    """What `wait_counters.find_dependencies` finds."""
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
