"""Tells a signal that was sent to the whole process group from one for the recorder alone.

The system does not say to whom a signal was sent. A second process in the same group, which does
nothing else, has received a group's signal too.
"""

from __future__ import annotations

import os
import signal
import socket
import warnings
from collections.abc import Iterable
from contextlib import suppress

_PATIENCE_S = 0.05
"""How much later than the recorder the probe may get a signal."""


class GroupSignalProbe:
    """The second process; it ends with the block, and with this process."""

    def __init__(self, watched: Iterable[int]) -> None:
        """`watched` are blocked in this process, and so they are in the probe."""
        self._watched = frozenset(watched)
        self._pid = 0
        self._questions: socket.socket | None = None

    def __enter__(self) -> GroupSignalProbe:
        ours, theirs = socket.socketpair()
        with warnings.catch_warnings():
            # Newer Pythons warn of threads; the child does nothing that they could have locked.
            warnings.simplefilter("ignore", DeprecationWarning)
            self._pid = os.fork()
        if self._pid == 0:
            try:
                ours.close()
                _answer(theirs)
            finally:
                os._exit(0)
        theirs.close()
        self._questions = ours
        return self

    def __exit__(self, *_: object) -> None:
        if self._questions is not None:
            self._questions.close()
        with suppress(ChildProcessError):
            os.waitpid(self._pid, 0)

    def has_received(self, number: int) -> bool:
        """Whether the probe received the signal too; each time it did is told once."""
        if self._questions is None or number not in self._watched:
            return False
        try:
            self._questions.sendall(bytes([number]))
            return self._questions.recv(1) == b"\1"
        except OSError:  # somebody killed it
            return False


def _answer(questions: socket.socket) -> None:
    """Answer until nobody can ask any more. Nothing else of this process is held open."""
    kept = questions.fileno()
    os.closerange(0, kept)
    os.closerange(kept + 1, 1 << 16)
    while question := questions.recv(1):
        received = signal.sigtimedwait(set(question), _PATIENCE_S)
        questions.sendall(b"\1" if received is not None else b"\0")
