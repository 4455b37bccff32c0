"""Says what bounds the kernels that take most of the time, with the evidence and the next step."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from wavescope.analyze.counters.catalogue import Metric, definitions
from wavescope.analyze.counters.choice import kernels_by_time
from wavescope.analyze.counters.measured import measured_peaks
from wavescope.analyze.counters.metric_values import MetricValues
from wavescope.model.counters import Floats
from wavescope.model.result import Finding, Severity, Value

MOST_KERNELS = 3
LEAST_SHARE_PERCENT = 10.0
"""Kernels below this share of the time get no finding."""
BOUND_PERCENT = 60.0
"""A unit that reaches this share of its peak bounds the kernel."""
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
    shares = {limit.name: _shares(values, limit) for limit in limits}
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


def _finding(kernel: _Kernel) -> Finding | None:
    if not kernel.reached:
        return None
    name, highest = max(kernel.reached.items(), key=lambda item: item[1])
    numbers: dict[str, Value] = {"mean_ns": kernel.mean_ns, "time_percent": kernel.share}
    for unit, share in kernel.reached.items():
        numbers[f"{unit.replace(' ', '_')}_percent"] = round(share, 3)
    if np.isfinite(kernel.waiting):
        numbers["waiting_percent"] = kernel.waiting
    listed = ", ".join(
        f"{unit} {share:.1f} %"
        for unit, share in sorted(kernel.reached.items(), key=lambda item: -item[1])[:4]
    )
    evidence = f"{kernel.share:.1f} % of the time; of their peaks: {listed}"
    if highest >= BOUND_PERCENT:
        limit = next(limit for limit in _limits() if limit.name == name)
        return Finding(
            f"counters.bound.{limit.id}",
            Severity.INFO,
            f"bound by {limit.name}",
            evidence,
            limit.suggestion,
            kernel.name,
            numbers=numbers,
        )
    if kernel.unknown:
        return Finding(
            "counters.bound.unknown",
            Severity.INFO,
            "what bounds the kernel is not known: nothing that was measured is near its peak",
            f"{evidence}; not known: {', '.join(kernel.unknown)}",
            "collect panel 2 (-b sol); clocks that are missing can be given with "
            "--specs-correction",
            kernel.name,
            numbers=numbers,
        )
    if kernel.mean_ns < SHORT_KERNEL_NS:
        return Finding(
            "counters.bound.launch",
            Severity.WARNING,
            "bound by launch: the kernel is too short to fill the GPU",
            f"{evidence}; {kernel.mean_ns / 1000:.1f} us each",
            "do more work in a launch: larger batches, fused kernels, a graph instead of launches",
            kernel.name,
            numbers=numbers,
        )
    waits = f"; waves wait {kernel.waiting:.0f} % of their cycles" if kernel.waiting > 0 else ""
    latency = kernel.waiting >= WAITING_PERCENT
    return Finding(
        "counters.bound.latency",
        Severity.WARNING,
        f"bound by latency: no unit reaches {BOUND_PERCENT:.0f} % of its peak"
        + ("" if latency else ", and waves hardly wait"),
        evidence + waits,
        _HIDE_LATENCY if latency else _FIND_IMBALANCE,
        kernel.name,
        numbers=numbers,
    )


def _is_lacking(values: MetricValues, limit: _Limit) -> bool:
    """Whether the chip has no such unit, or does not count what it does."""
    missing = values.measured.missing(limit.formula)
    return bool(values.measured.catalogue.lacked(missing))


def _shares(values: MetricValues, limit: _Limit) -> Floats:
    """Percent of the peak that each kernel reaches; HBM of the measured peak where there is one."""
    measured = measured_peaks(values.measured.table).get(_MEASURED_HBM)
    if limit.id == "hbm" and measured:
        traffic = Metric(
            "traffic", "GB/s", "(fabric_read_bytes + fabric_write_bytes) / duration", ""
        )
        return 100 * values.of_kernels(traffic) / measured
    return _percent(values, limit.formula)


def _percent(values: MetricValues, formula: str) -> Floats:
    return values.of_kernels(Metric("share", "%", formula, ""))
