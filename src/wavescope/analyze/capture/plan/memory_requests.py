"""How much a kernel asks of memory beside what memory gives: a bound that no change beats.

A trace holds neither addresses nor caches. The bytes are those that the traced waves' loads, stores
and atomics ask for with all lanes active; where matrix instructions run, tiles are shared by
workgroups and most of these bytes come from caches, so that they bound nothing. Nor do bytes far
above what memory can give: caches serve them.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from wavescope.analyze.capture.analysis import CaptureAnalysis
from wavescope.analyze.capture.instruction_kinds import Kind
from wavescope.analyze.capture.kernel_waves import waves_of_launch
from wavescope.analyze.capture.plan.kernel_counters import KernelCounters
from wavescope.model.capture import Capture, Integers, KernelFacts
from wavescope.model.chips.chip_table import Chip, Product, find_chip

_KINDS = (Kind.VMEM_LOAD, Kind.LOAD_TO_LDS, Kind.VMEM_STORE, Kind.ATOMIC)
_SIZES: tuple[tuple[re.Pattern[str], int], ...] = tuple(
    (re.compile(pattern, re.ASCII), size)
    for pattern, size in (
        (r"_(dwordx4|b128|format_xyzw)", 16),
        (r"_(dwordx3|b96|format_xyz)", 12),
        (r"_(dwordx2|b64|[fiu]64|format_xy|x2)(?![a-z0-9])", 8),
        (r"_([us]?byte|[iu]8|b8)(?![a-z0-9])", 1),
        (r"_([us]?short|[iu]16|b16|d16)(?![a-z0-9])", 2),
        (r"_(dword|b32|format_x|atomic_\w+)", 4),
    )
)
_MOST_OF_PEAK_PERCENT = 125.0
"""More than that does not come from memory, however clocks and idle lanes are misjudged."""
_CUS_OF_A_FULL_ENGINE = 8
"""Compute units of a shader engine that must have waves for the whole GPU to count as filled."""


class MemoryRequests(NamedTuple):
    """What the kernel moves, or asks for, each second, beside the published peak."""

    tb_per_s: float
    peak_tb_per_s: float
    product: str
    is_counted: bool
    """By counters of what reached memory, not by what instructions ask for."""
    is_guess: bool
    """The chip is a guess, so the peak is one."""

    @property
    def share_percent(self) -> float:
        """Of the peak."""
        return 100 * self.tb_per_s / self.peak_tb_per_s

    @property
    def is_cached(self) -> bool:
        """Whether it is so much more than memory gives that caches must serve part of it."""
        return self.share_percent > _MOST_OF_PEAK_PERCENT

    @property
    def left_percent(self) -> float | None:
        """Of the kernel's time: more cannot be saved while the same bytes are moved.

        None where memory moves only a part of the bytes that nobody knows.
        """
        return None if self.is_cached else max(100 - self.share_percent, 0.0)

    @property
    def words(self) -> str:
        """`requests 8.5 of 8.0 TB/s (MI350X)`."""
        verb = "moves" if self.is_counted else "requests"
        guess = ", a guess" if self.is_guess else ""
        rate = f"{self.tb_per_s:.1f} of {self.peak_tb_per_s:.1f} TB/s ({self.product}{guess})"
        if not self.is_cached:
            return f"{verb} {rate}"
        cached = 100 * (1 - self.peak_tb_per_s / self.tb_per_s)
        return f"{verb} {rate}, of which caches serve at least {cached:.0f} %"


def memory_requests(
    analysis: CaptureAnalysis, counters: KernelCounters | None
) -> MemoryRequests | None:
    """By counters where they tell, else by instructions; None where nothing bounds the kernel."""
    chip = find_chip(analysis.chip.name)
    if chip is None:
        return None
    product = _product(chip, analysis.capture)
    peak = product.memory_gb_per_s / 1000
    guess = not analysis.chip.is_certain
    traffic = counters.traffic if counters else None
    if traffic is not None and traffic.read_gb_per_s is not None:
        moved = (traffic.read_gb_per_s + (traffic.write_gb_per_s or 0.0)) / 1000
        return MemoryRequests(moved, peak, product.name, True, guess)
    is_matrix = analysis.is_of(Kind.MATRIX) & analysis.executed_rows
    if is_matrix.any():
        return None
    asked = _asked_tb_per_s(analysis, chip, product)
    return MemoryRequests(asked, peak, product.name, False, guess) if asked else None


def _product(chip: Chip, capture: Capture) -> Product:
    named = (chip.product_named(agent.product) for agent in capture.agents if agent.product)
    return next((product for product in named if product), chip.product)


def _asked_tb_per_s(analysis: CaptureAnalysis, chip: Chip, product: Product) -> float | None:
    by_row = lane_bytes(analysis) * chip.wave_size
    facts = analysis.capture.kernel_facts
    by_launch = _of_launch(analysis, by_row, facts, chip.wave_size) if facts else None
    return by_launch if by_launch is not None else _of_traced_units(analysis, by_row, product)


def lane_bytes(analysis: CaptureAnalysis) -> Integers:
    """By row what one lane of it asks of memory, 0 for all that is no memory access."""
    mnemonics = analysis.instructions.mnemonics
    sizes = np.array([_size(mnemonic) for mnemonic in mnemonics] or [0], np.int64)
    return np.where(analysis.is_of(*_KINDS), sizes[analysis.instructions.mnemonic_code], 0)


def _size(mnemonic: str) -> int:
    return next((size for pattern, size in _SIZES if pattern.search(mnemonic)), 0)


def _of_launch(
    analysis: CaptureAnalysis, by_row: Integers, facts: KernelFacts, wave_size: int
) -> float | None:
    """Bytes of a mean wave x waves of the launch / its duration, in TB/s."""
    waves, traced = waves_of_launch(facts, wave_size), _traced_waves(analysis)
    if not waves or not traced or facts.start_ns is None or facts.end_ns is None:
        return None
    duration_ns = facts.end_ns - facts.start_ns
    if duration_ns <= 0 or not facts.is_certain:
        return None
    asked = int((by_row * analysis.instructions.hits).sum())
    return asked / traced * waves / duration_ns / 1000


def _traced_waves(analysis: CaptureAnalysis) -> int:
    """Waves that the rows count: of the files, else executions of the kernel's first row."""
    if len(analysis.waves):
        return len(analysis.waves)
    first, last = analysis.executed_span
    return int(analysis.instructions.hits[first]) if last >= first else 0


def _of_traced_units(analysis: CaptureAnalysis, by_row: Integers, product: Product) -> float | None:
    """Bytes per cycle of a traced compute unit x compute units x clock, where all had waves."""
    waves, occupancy = analysis.waves, analysis.capture.occupancy
    if not len(waves) or not len(occupancy):
        return None
    busiest = _distinct(occupancy.shader_engine, occupancy.cu)
    if busiest < _CUS_OF_A_FULL_ENGINE:
        return None
    units, unit = np.unique(
        np.stack([waves.shader_engine, waves.cu], axis=1), axis=0, return_inverse=True
    )
    begin = np.full(len(units), np.iinfo(np.int64).max)
    end = np.zeros(len(units), np.int64)
    np.minimum.at(begin, unit.reshape(-1), waves.begin)
    np.maximum.at(end, unit.reshape(-1), waves.end)
    cycles = int(np.maximum(end - begin, 0).sum())
    clock = analysis.capture.clock
    mhz = (clock.shader_mhz if clock else None) or product.clock_mhz
    asked = int((by_row * analysis.instructions.hits).sum())
    return asked / cycles * product.cus * mhz / 1e6 if cycles else None


def _distinct(shader_engine: np.ndarray, cu: np.ndarray) -> int:
    """The most compute units that one shader engine used."""
    pairs = np.unique(np.stack([shader_engine, cu], axis=1), axis=0)
    return int(np.unique(pairs[:, 0], return_counts=True)[1].max())
