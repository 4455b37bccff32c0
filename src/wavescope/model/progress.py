"""How long work says how far it is and what it met: one form for readers, writers and recorders."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Called with rows done and rows in all; 0 in all where nobody knows yet."""


def no_progress(done: int, total: int) -> None:
    """Says nothing."""


Tell = Callable[[str], None]
"""Called with a sentence worth saying: what was skipped or repaired, or that nothing is left."""


def tell_nobody(sentence: str) -> None:
    """Says nothing."""
