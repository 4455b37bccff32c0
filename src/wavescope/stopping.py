"""Whether this program was told to stop, for code that a library calls back and cannot raise."""

from __future__ import annotations

import signal


class Stopping:
    """The latest signal that told the program to stop, 0 when none has."""

    signal_number = 0


def tell_to_stop(number: int) -> None:
    """Remember the signal `number`, and unwind the stack."""
    Stopping.signal_number = number
    raise_if_told_to_stop()


def raise_if_told_to_stop() -> None:
    """Unwind the stack once more where somebody has swallowed the exception of a signal."""
    number = Stopping.signal_number
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    if number:
        raise SystemExit(128 + number)
