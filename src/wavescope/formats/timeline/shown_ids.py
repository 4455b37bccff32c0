"""Process and thread ids for viewers: the real ones where they tell every track apart."""

from __future__ import annotations

from collections.abc import Iterable

_LARGEST = (1 << 31) - 1


class ShownIds:
    """Gives every process and every thread (or lane) a number in 1 .. 2**31 - 1 of its own.

    Viewers take a thread whose id is 0 or the id of another process for something else, and ids of
    merged traces may collide or exceed 32 bits; such threads and processes get a made-up number.
    """

    def __init__(self, pids: Iterable[int], tids: Iterable[int]) -> None:
        self._pids = {pid for pid in pids if 0 < pid <= _LARGEST}
        self._reserved = self._pids | {tid for tid in tids if 0 < tid <= _LARGEST}
        self._shown_pids: set[int] = set()
        self._shown_tids: set[int] = set()
        self._next = 1

    def fresh(self) -> int:
        """A number that no process or thread of the trace has."""
        while self._next in self._reserved:
            self._next += 1
        self._next += 1
        return self._next - 1

    def process(self, pid: int) -> int:
        """The number to show for a process with this pid; the first of several keeps it."""
        if pid not in self._pids or pid in self._shown_pids:
            return self.fresh()
        self._shown_pids.add(pid)
        return pid

    def thread(self, tid: int, shown_pid: int) -> int:
        """The number to show for a thread of the process shown as `shown_pid`."""
        clashes = tid in self._shown_tids or (tid in self._pids and tid != shown_pid)
        if not 0 < tid <= _LARGEST or clashes:
            return self.fresh()
        self._shown_tids.add(tid)
        return tid
