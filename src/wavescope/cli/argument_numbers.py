"""Numbers on the command line: what they may be, and what is said when they are not."""

from __future__ import annotations

import argparse

_LARGEST_PERCENT = 1000.0


def percentage(text: str) -> float:
    """A percentage from 0 to 1000."""
    return _between(text, 0.0, _LARGEST_PERCENT, "percentage such as 1 or 0.5")


def significance(text: str) -> float:
    """The chance of a false alarm: above 0, at most a half."""
    value = _between(text, 0.0, 0.5, "probability such as 0.05")
    if not value:
        raise argparse.ArgumentTypeError("no test is sure: write a probability such as 0.05")
    return value


def _between(text: str, low: float, high: float, what: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not low <= value <= high:
        raise argparse.ArgumentTypeError(f"'{text}' is not a {what}")
    return value
