"""How long work says how far it is, and what it does: one form for readers, writers, recorders."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Called with rows done and rows in all; 0 in all where nobody knows yet."""


def no_progress(done: int, total: int) -> None:
    """Says nothing."""


Announce = Callable[[str], None]
"""Called with a sentence for the person who waits."""


def no_announcement(sentence: str) -> None:
    """Says nothing."""
