"""How long work says how far it is: one form for readers, writers and recorders."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Called with rows done and rows in all; 0 in all where nobody knows yet."""


def no_progress(done: int, total: int) -> None:
    """Says nothing."""
