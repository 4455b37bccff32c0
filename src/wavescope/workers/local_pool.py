"""Items are worked on by a few processes of this machine."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from wavescope.closing import Closing
from wavescope.errors import MachineError
from wavescope.workers.answers import Answer, answer_of
from wavescope.workers.engine_options import EngineOptions, process_count
from wavescope.workers.process_handle import ProcessHandle, ProcessLimits, wait_for_any
from wavescope.workers.tasks import Task

_LOOK_S = 0.5


class LocalPool(Closing):
    """Fresh interpreters that are kept for many items, as many as there are processors."""

    def __init__(self, task: Task, items: Sequence[str], options: EngineOptions) -> None:
        self._task = task
        self._items = items
        self._process_count = process_count(options)
        self._limits = ProcessLimits(options.memory_limit_bytes, options.item_limit_s)
        self._idle: list[ProcessHandle] = []
        self._busy: dict[ProcessHandle, int] = {}
        self._has_started = False

    def answers(self, indices: Iterable[int]) -> Iterator[tuple[int, Answer]]:
        """Each of `indices` with the answer to its item, as they come."""
        waiting = deque(indices)
        while waiting or self._busy:
            while waiting and len(self._busy) < self._process_count:
                self._begin(waiting.popleft())
            wait_for_any(self._busy, _LOOK_S)
            yield from self._finished()

    def answer_alone(self, index: int) -> Answer:
        """The answer to one item, worked on by a fresh process while there is no other."""
        self.close()
        self._begin(index)
        while True:
            wait_for_any(self._busy, _LOOK_S)
            for _, answer in self._finished():
                return answer

    def close(self) -> None:
        """End all processes at once."""
        for handle in (*self._idle, *self._busy):
            handle.close()
        self._idle.clear()
        self._busy.clear()

    def _begin(self, index: int) -> None:
        handle = self._idle.pop() if self._idle else ProcessHandle(self._task, self._limits)
        self._busy[handle] = index
        handle.give(self._items[index])

    def _finished(self) -> list[tuple[int, Answer]]:
        finished = []
        for handle in list(self._busy):
            answer = handle.take()
            self._has_started |= handle.is_ready
            if answer is None:
                continue
            if answer.is_lost and not self._has_started:
                raise MachineError(answer.problem, hint="does this Python run elsewhere?")
            finished.append((self._busy.pop(handle), answer))
            if handle.has_ended:
                handle.close()
            else:
                self._idle.append(handle)
        return finished


class InThisProcess(Closing):
    """Items are worked on one after the other, right here; a file that kills, kills all."""

    def __init__(self, task: Task, items: Sequence[str]) -> None:
        self._task = task
        self._items = items

    def answers(self, indices: Iterable[int]) -> Iterator[tuple[int, Answer]]:
        """Each of `indices` with the answer to its item."""
        for index in indices:
            yield index, self.answer_alone(index)

    def answer_alone(self, index: int) -> Answer:
        """The answer to one item."""
        return answer_of(self._task.function, self._items[index], self._task.options)

    def close(self) -> None:
        """There is nothing to give back."""
