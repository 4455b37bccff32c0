"""Says what bounds the kernels that take most of the time, with the evidence and the next step."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from wavescope.analyze.counters.catalogue import Metric, definitions
from wavescope.analyze.counters.choice import kernels_by_time
from wavescope.analyze.counters.metric_values import MetricValues
from wavescope.analyze.traffic import MemoryUse, memory_use
from wavescope.model.counters import Floats
from wavescope.model.result import Finding, Severity, Value

MOST_KERNELS = 3
LEAST_SHARE_PERCENT = 10.0
"""Kernels below this share of the time get no finding."""
BOUND_PERCENT = 60.0
"""A unit that reaches this share of its published peak bounds the kernel."""
NEAR_PERCENT = 5.0
"""So close to it, below or above, the share does not decide alone: both are said."""
SHORT_KERNEL_NS = 20_000.0
"""Below this, launching and filling the GPU decide, unless a unit is near its peak."""
WAITING_PERCENT = 50.0
"""Waves that wait this much for results are bound by latency."""


class _Limit(NamedTuple):
    """A unit that can bound a kernel: its share of the peak, and what to do about it."""

    id: str
    name: str
    formula: str
    suggestion: str


_WAITING = "SQ_WAIT_ANY / SQ_WAVE_CYCLES"
_MEASURED_HBM = "HBMBw"
_HBM = "HBM"
_HIDE_LATENCY = (
    "have more work in flight: more waves (registers, LDS: panels 6 and 7), loads issued earlier, "
    "several independent chains in each wave"
)
_FIND_IMBALANCE = (
    "look for imbalance: workgroups that run longer, compute units without work (panel 6)"
)


@functools.cache
def _limits() -> tuple[_Limit, ...]:
    return tuple(_Limit(**entry) for entry in definitions("bounds.toml")["limit"])


def bound_findings(values: MetricValues) -> list[Finding]:
    """One finding for each kernel that takes a good part of the time."""
    table = values.measured.table
    order = kernels_by_time(table)
    spent = np.bincount(
        table.kernel_codes,
        weights=np.nan_to_num(table.durations_ns),
        minlength=len(table.kernel_names),
    )
    total = float(spent.sum())
    if total <= 0:
        return []
    limits = [limit for limit in _limits() if not _is_lacking(values, limit)]
    shares = {limit.name: _percent(values, limit.formula) for limit in limits}
    of_measured = _of_measured_peak(values)
    waiting = _percent(values, _WAITING)
    calls = np.bincount(table.kernel_codes, minlength=len(table.kernel_names))
    findings = []
    for code in order[:MOST_KERNELS].tolist():
        share = 100 * float(spent[code]) / total
        if share < LEAST_SHARE_PERCENT:
            continue
        reached = {
            name: float(column[code])
            for name, column in shares.items()
            if np.isfinite(column[code])
        }
        kernel = _Kernel(
            table.kernel_names[code],
            share,
            float(spent[code]) / max(int(calls[code]), 1),
            reached,
            [limit.name for limit in limits if limit.name not in reached],
            float(waiting[code]),
            float(of_measured[code]) if of_measured is not None else float("nan"),
        )
        found = _finding(kernel)
        if found is not None:
            findings.append(found)
    return findings


class _Kernel(NamedTuple):
    name: str
    share: float
    mean_ns: float
    reached: dict[str, float]
    unknown: list[str]
    """Units of which it is not known how much was reached."""
    waiting: float
    hbm_of_measured: float
    """HBM in percent of the peak that was measured on the machine, NaN where none was."""

    @property
    def highest(self) -> tuple[str, float]:
        """The unit that is closest to its peak, of HBM the measured one where there is one."""
        return max(self._deciding.items(), key=lambda item: item[1])

    @property
    def _deciding(self) -> dict[str, float]:
        if _HBM in self.reached and np.isfinite(self.hbm_of_measured):
            return self.reached | {_HBM: self.hbm_of_measured}
        return self.reached

    @property
    def evidence(self) -> str:
        """One sentence for published peaks, another for what was measured."""
        ranked = sorted(self.reached.items(), key=lambda item: -item[1])[:4]
        listed = ", ".join(f"{unit} {share:.1f} %" for unit, share in ranked)
        words = f"{self.share:.1f} % of the time; of their published peaks: {listed}"
        if np.isfinite(self.hbm_of_measured):
            words += f". Of the peak measured on this machine: HBM {self.hbm_of_measured:.1f} %"
        return words

    @property
    def numbers(self) -> dict[str, Value]:
        """What the finding says, by name."""
        numbers: dict[str, Value] = {"mean_ns": self.mean_ns, "time_percent": self.share}
        for unit, share in self._deciding.items():
            numbers[f"{unit.replace(' ', '_')}_percent"] = round(share, 3)
        if self._deciding is not self.reached:
            numbers["HBM_of_published_percent"] = round(self.reached[_HBM], 3)
        if np.isfinite(self.waiting):
            numbers["waiting_percent"] = self.waiting
        return numbers


def _finding(kernel: _Kernel) -> Finding | None:
    if not kernel.reached:
        return None
    name, share = kernel.highest
    limit = next(limit for limit in _limits() if limit.name == name)
    use = _use(kernel, limit, share)
    if use is MemoryUse.FULL:
        return Finding(
            f"counters.bound.{limit.id}",
            Severity.INFO,
            f"bound by {limit.name}",
            kernel.evidence,
            limit.suggestion,
            kernel.name,
            numbers=kernel.numbers,
        )
    other = _without_a_full_unit(kernel)
    return other if use is MemoryUse.SPARE else _both(kernel, limit, share, other)


def _use(kernel: _Kernel, limit: _Limit, share: float) -> MemoryUse:
    """Whether a unit bounds a kernel; of memory as `wavescope traffic` decides it."""
    if limit.name == _HBM:
        measured = kernel.hbm_of_measured
        return memory_use(kernel.reached[_HBM], measured if np.isfinite(measured) else None)
    if share < BOUND_PERCENT - NEAR_PERCENT:
        return MemoryUse.SPARE
    return MemoryUse.NEAR if share < BOUND_PERCENT + NEAR_PERCENT else MemoryUse.FULL


def _both(kernel: _Kernel, limit: _Limit, share: float, other: Finding) -> Finding:
    """Near the threshold: the unit, or what would bound the kernel without it."""
    second = other.title.partition(":")[0].removeprefix("bound by ")
    if other.id.endswith("unknown"):
        second = "something that was not measured"
    kind = "published" if share == kernel.reached[limit.name] else "measured"
    return Finding(
        f"counters.bound.{limit.id}",
        Severity.INFO,
        f"bound by {limit.name} or by {second}: {limit.name} is at {share:.0f} % of its {kind} "
        "peak",
        f"{other.evidence}. From about {BOUND_PERCENT:.0f} % on a unit is what limits",
        f"{limit.suggestion}; for {second}: {other.suggestion}",
        kernel.name,
        numbers=kernel.numbers | {"or": other.id},
    )


def _without_a_full_unit(kernel: _Kernel) -> Finding:
    """What is said where no unit is near its peak."""
    if kernel.unknown:
        return Finding(
            "counters.bound.unknown",
            Severity.INFO,
            "what bounds the kernel is not known: nothing that was measured is near its peak",
            f"{kernel.evidence}; not known: {', '.join(kernel.unknown)}",
            "collect panel 2 (-b sol); clocks that are missing can be given with "
            "--specs-correction",
            kernel.name,
            numbers=kernel.numbers,
        )
    if kernel.mean_ns < SHORT_KERNEL_NS:
        return Finding(
            "counters.bound.launch",
            Severity.WARNING,
            "bound by launch: the kernel is too short to fill the GPU",
            f"{kernel.evidence}; {kernel.mean_ns / 1000:.1f} us each",
            "do more work in a launch: larger batches, fused kernels, a graph instead of launches",
            kernel.name,
            numbers=kernel.numbers,
        )
    waits = f"; waves wait {kernel.waiting:.0f} % of their cycles" if kernel.waiting > 0 else ""
    latency = kernel.waiting >= WAITING_PERCENT
    return Finding(
        "counters.bound.latency",
        Severity.WARNING,
        f"bound by latency: no unit reaches {BOUND_PERCENT:.0f} % of its peak"
        + ("" if latency else ", and waves hardly wait"),
        kernel.evidence + waits,
        _HIDE_LATENCY if latency else _FIND_IMBALANCE,
        kernel.name,
        numbers=kernel.numbers,
    )


def _is_lacking(values: MetricValues, limit: _Limit) -> bool:
    """Whether the chip has no such unit, or does not count what it does."""
    missing = values.measured.missing(limit.formula)
    return bool(values.measured.catalogue.lacked(missing))


def _of_measured_peak(values: MetricValues) -> Floats | None:
    """HBM traffic of each kernel in percent of roofline.csv's peak; None where there is none."""
    measured = values.measured.table.measured_peaks.get(_MEASURED_HBM)
    if not measured:
        return None
    traffic = Metric("traffic", "GB/s", "(fabric_read_bytes + fabric_write_bytes) / duration", "")
    return 100 * values.of_kernels(traffic) / measured


def _percent(values: MetricValues, formula: str) -> Floats:
    return values.of_kernels(Metric("share", "%", formula, ""))
