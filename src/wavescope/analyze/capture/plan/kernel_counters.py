"""The counters of a traced kernel among those of other runs, found by its name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from wavescope.analyze.capture.analysis import CaptureAnalysis
from wavescope.analyze.traffic import (
    KernelTraffic,
    TrafficOptions,
    kernel_traffic,
    kernels_of,
    mean_counters,
)
from wavescope.errors import UsageError
from wavescope.model.chips.chip_table import Chip, find_chip
from wavescope.model.counters import CounterTable
from wavescope.names.kernel_names import kernel_key, short_name

_LISTED = 5


@dataclass(frozen=True)
class KernelCounters:
    """Counter values of a kernel from another run, means per dispatch."""

    traffic: KernelTraffic | None
    values: dict[str, float]

    @classmethod
    def of_capture(
        cls, analysis: CaptureAnalysis, counters: Sequence[CounterTable]
    ) -> KernelCounters:
        """The counters of the kernel that was traced, on the chip that either of them names."""
        named = next((table.chip for table in counters if table.chip), "")
        chip = find_chip(analysis.chip.name) or find_chip(named)
        return cls.of_kernel(counters, analysis.capture.kernel_name, chip)

    @classmethod
    def of_kernel(
        cls, counters: Sequence[CounterTable], kernel: str, chip: Chip | None
    ) -> KernelCounters:
        """Means over the dispatches of `kernel`; a usage error where there are none."""
        known = kernels_of(counters)
        names = _same_kernel(known, kernel)
        if not names:
            listed = ", ".join(short_name(name) for name in known[:_LISTED]) or "none"
            raise UsageError(
                f"the counters do not belong to {short_name(kernel) or 'the traced one'}",
                hint=f"they belong to: {listed}",
            )
        alike = [_as_one_kernel(table, names, kernel) for table in counters]
        traffic = kernel_traffic(alike, TrafficOptions(chip))
        return cls(traffic[0] if traffic else None, mean_counters(alike))


def _as_one_kernel(table: CounterTable, names: set[str], kernel: str) -> CounterTable:
    """The dispatches of the kernels `names`, all under one name."""
    codes = [code for code, name in enumerate(table.kernel_names) if name in names]
    chosen = table.rows(np.isin(table.kernel_codes, codes))
    return replace(chosen, kernel_names=[kernel], kernel_codes=np.zeros_like(chosen.kernel_codes))


def _same_kernel(names: list[str], kernel: str) -> set[str]:
    """Names that are the kernel's: however they are spelled, else the same when shortened."""
    key = kernel_key(kernel)
    if same := {name for name in names if kernel_key(name) == key}:
        return same
    wanted = short_name(kernel)
    return {name for name in names if wanted and short_name(name) == wanted}
