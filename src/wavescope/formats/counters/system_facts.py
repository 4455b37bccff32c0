"""Reads what a workload knows of its machine, and fills in what older collectors left out."""

from __future__ import annotations

import math
from pathlib import Path

from wavescope.errors import UnreadableInputError
from wavescope.formats.counters.number_rows import real_number
from wavescope.formats.counters.opened_csv import opened_csv
from wavescope.model.implied_facts import implied_facts
from wavescope.model.workload_layout import SYSTEM_FILE, present_fact

_CLOCKS = ("max_sclk", "max_mclk", "cur_sclk", "cur_mclk")
_POSITIVE = (*_CLOCKS, "cu_per_gpu", "num_xcd", "se_per_gpu", "total_l2_chan", "wave_size")


def read_system(folder: Path) -> dict[str, str]:
    """All cells of the one row of sysinfo.csv, as text."""
    path = folder / SYSTEM_FILE
    if not path.is_file():
        raise UnreadableInputError(
            folder,
            f"it has no {SYSTEM_FILE}, so the chip is not known",
            hint="is it a workload folder? it holds sysinfo.csv and pmc_perf.csv",
        )
    with opened_csv(path) as (header, rows):
        row = next(rows, None)
    if row is None or not header:
        raise UnreadableInputError(path, "it has no row", hint="collect the workload again")
    system = {present_fact(name): cell for name, cell in zip(header, row, strict=False) if name}
    if not system.get("gpu_arch", "").strip():
        raise UnreadableInputError(path, "it does not name the chip (column gpu_arch)")
    return system


def numeric_facts(system: dict[str, str]) -> tuple[dict[str, float], list[str]]:
    """The numbers among the cells, completed by what the chip implies, and notes on it.

    A clock of 0 is no clock: it is left out, so that what needs it says so.
    """
    facts = {}
    for name, cell in system.items():
        number = real_number(cell)
        if math.isfinite(number) and not (name in _POSITIVE and number <= 0):
            facts[name] = number
    notes = [
        f"{SYSTEM_FILE} has no {clock}: what needs the clock is not available"
        for clock in ("max_sclk", "max_mclk")
        if clock not in facts
    ]
    implied = implied_facts(system, facts)
    for name, value in implied.items():
        if name not in facts:
            facts[name] = value
            notes.append(f"{SYSTEM_FILE} has no {name}: {value:g} is assumed")
    return facts, notes
