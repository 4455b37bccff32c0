"""Reads the measured peaks of a workload: one row for each GPU, bandwidths and rates."""

from __future__ import annotations

import math
from pathlib import Path

from wavescope.formats.counters.number_rows import real_number
from wavescope.formats.counters.opened_csv import opened_csv

_SPELLED = {"hbmBwHigh": "HBMBwHigh", "MFMAFI8OpsLow": "MFMAI8OpsLow"}
"""Headers with a slip in them, and what is meant."""


def read_ceilings(path: Path) -> tuple[list[dict[str, float]], list[str]]:
    """The numbers of each row by column name, and notes on rows that hold none."""
    notes = []
    found = []
    with opened_csv(path) as (header, rows):
        names = [_SPELLED.get(name, name) for name in header]
        for row in rows:
            numbers = {
                name: value
                for name, value in zip(names, map(real_number, row), strict=False)
                if math.isfinite(value) and (name == "device" or value > 0)
            }
            if len(numbers) > 1:
                found.append(numbers)
            elif row:
                notes.append(f"{path.name}: a row holds no numbers")
    if not found:
        notes.append(f"{path.name} holds no measured peaks")
    return found, notes
