"""Reads what a workload knows of its machine, and fills in what older collectors left out."""

from __future__ import annotations

import math
from pathlib import Path

from wavescope.errors import UnreadableInputError
from wavescope.load.counters.counter_csv import opened_csv, real_number
from wavescope.model.workload_layout import SYSTEM_FILE, present_fact

_CLOCKS = ("max_sclk", "max_mclk", "cur_sclk", "cur_mclk")
_POSITIVE = (*_CLOCKS, "cu_per_gpu", "num_xcd", "se_per_gpu", "total_l2_chan", "wave_size")
_DIES = {"spx": 8, "dpx": 4, "qpx": 2, "cpx": 1}
_CHANNELS_PER_DIE = {"gfx906": 16, "gfx908": 32, "gfx90a": 32}
_MEMORY_PARTITIONS = {"nps1": 128, "nps2": 64, "nps4": 32, "nps8": 16}
_LDS_BANKS, _PIPES, _WAVE_SIZE = 32, 4, 64


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
    implied = _implied(system, facts)
    for name, value in implied.items():
        if name not in facts:
            facts[name] = value
            notes.append(f"{SYSTEM_FILE} has no {name}: {value:g} is assumed")
    return facts, notes


def _implied(system: dict[str, str], facts: dict[str, float]) -> dict[str, float]:
    chip = system["gpu_arch"].strip().lower()
    partition = system.get("compute_partition", "").strip().lower()
    model = system.get("gpu_model", "").upper()
    single_die = chip in _CHANNELS_PER_DIE
    whole = 6 if "MI300A" in model else 4 if "MI308" in model else _DIES["spx"]
    dies = 1 if single_die else min(_DIES.get(partition, whole), whole)
    dies = int(facts.get("num_xcd", dies))
    channels = facts.get("total_l2_chan", _CHANNELS_PER_DIE.get(chip, 16) * dies)
    memory = system.get("memory_partition", "").strip().lower()
    return {
        "num_xcd": float(dies),
        "total_l2_chan": float(channels),
        "num_hbm_channels": float(_MEMORY_PARTITIONS.get(memory, channels)),
        "lds_banks_per_cu": float(_LDS_BANKS),
        "pipes_per_gpu": float(_PIPES),
        "wave_size": float(_WAVE_SIZE),
    }
