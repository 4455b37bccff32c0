"""Checks whether the counters can be true, and says what the analysis had to do without."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from wavescope.analyze.counters.catalogue import Metric
from wavescope.analyze.counters.choice import chosen_metrics
from wavescope.analyze.counters.measured import Measured
from wavescope.analyze.counters.metric_values import MetricValues, is_possible
from wavescope.model.counters import ACCUMULATED, Floats
from wavescope.model.result import Finding, Severity

PASSES_DIFFER_PERCENT = 25.0
COUNTS_DIFFER_PERCENT = 1.0
_AGAIN = "collect again; with several passes the program must do the same in each of them"


def sanity_findings(values: MetricValues, blocks: frozenset[str] | None = None) -> list[Finding]:
    """What is impossible, missing or contradictory in a workload; counters only of `blocks`."""
    measured = values.measured
    return [
        *_notes(measured),
        *_times(measured),
        *_impossible(values),
        *_passes(measured),
        *_accumulators(measured),
        *_channels(measured),
        *_missing(values, blocks),
    ]


def _notes(measured: Measured) -> list[Finding]:
    notes = measured.table.notes.sentences()
    if not notes:
        return []
    return [
        Finding(
            "counters.partial",
            Severity.WARNING,
            "the workload is incomplete",
            "; ".join(notes[:5]) + (f"; and {len(notes) - 5} more" if len(notes) > 5 else ""),
            "values that need what is missing say N/A; clocks can be given with --specs-correction",
            measured.table.path,
        )
    ]


def _times(measured: Measured) -> list[Finding]:
    durations = measured.table.durations_ns
    known = durations[np.isfinite(durations)]
    wrong = int((known <= 0).sum())
    if not wrong:
        return []
    return [
        Finding(
            "counters.no_duration",
            Severity.PROBLEM,
            "dispatches end when they start",
            f"{wrong} of {len(durations)} dispatches last 0 ns or less, so nothing can be divided "
            "by their time",
            "were the times rounded by a spreadsheet? bandwidths and rates need the original file",
            measured.table.path,
        )
    ]


def _impossible(values: MetricValues) -> list[Finding]:
    found = []
    metrics = values.measured.catalogue.metrics
    for key in sorted(key for key, metric in metrics.items() if metric.peak or metric.is_share):
        metric = metrics[key]
        if values.unavailable(metric):
            continue
        ranged = values.ranged(metric).statistics
        peaked = values.with_peak(metric).statistics
        if not is_possible(metric, ranged | peaked):
            found.append(f"{key} {_extreme(metric, ranged, peaked['percent_of_peak']):.1f} %")
    if not found:
        return []
    return [
        Finding(
            "counters.impossible",
            Severity.PROBLEM,
            "values beyond what is physically possible",
            ", ".join(found[:6]) + (f" and {len(found) - 6} more" if len(found) > 6 else ""),
            "the counters of such a metric come from different passes, or a clock or the chip in "
            "sysinfo.csv is wrong: do not trust these values",
            values.measured.table.path,
        )
    ]


def _extreme(metric: Metric, ranged: Mapping[str, float | None], share: float | None) -> float:
    """The value that is farthest out, in percent."""
    known = [value for value in ranged.values() if value is not None] if metric.unit == "%" else []
    return max([*known, *([share] if share is not None else [])], key=lambda value: abs(value - 50))


def _passes(measured: Measured) -> list[Finding]:
    table = measured.table
    findings = []
    spans = {name: values for name, values in table.pass_durations_ns.items() if len(values)}
    if len(spans) > 1:
        stacked = np.vstack(list(spans.values()))
        timed = stacked[:, ~np.isnan(stacked).all(axis=0)]
        with np.errstate(all="ignore"):
            low, high = np.nanmin(timed, axis=0), np.nanmax(timed, axis=0)
            apart = 100 * (high - low) / low
        worst = float(np.max(apart, where=np.isfinite(apart), initial=0.0))
        if worst > PASSES_DIFFER_PERCENT:
            findings.append(
                Finding(
                    "counters.passes_differ",
                    Severity.WARNING,
                    "the passes took different times",
                    f"a dispatch took {worst:.0f} % longer in one pass than in another "
                    f"({len(spans)} passes with times)",
                    "warm up before measuring: ratios of counters from several passes are inexact",
                    table.path,
                )
            )
    disagreeing = _unequal_work(measured)
    if disagreeing:
        findings.append(
            Finding(
                "counters.passes_disagree",
                Severity.PROBLEM,
                "the passes did different work",
                "; ".join(disagreeing),
                _AGAIN,
                table.path,
            )
        )
    return findings


def _unequal_work(measured: Measured) -> list[str]:
    """Counts that every pass must agree on."""
    table = measured.table
    waves = table.columns.get("SQ_WAVES")
    found = []
    if waves is not None:
        for level, columns in table.levels.items():
            other = columns.get("SQ_WAVES")
            if other is not None and _differ(waves, other):
                found.append(f"SQ_WAVES in the pass of {level}")
        launched = table.columns.get("SPI_CSN_WAVE")
        if launched is not None and _differ(waves, launched):
            found.append("SQ_WAVES and SPI_CSN_WAVE")
    return found


def _accumulators(measured: Measured) -> list[Finding]:
    table = measured.table
    without = [level for level, columns in table.levels.items() if ACCUMULATED not in columns]
    if not without:
        return []
    return [
        Finding(
            "counters.no_accumulator",
            Severity.WARNING,
            "levels were counted and not summed up over time",
            f"no accumulated value in the pass of {', '.join(without)}",
            "occupancies and latencies need it: collect these passes again",
            table.path,
        )
    ]


def _differ(first: Floats, second: Floats) -> bool:
    with np.errstate(all="ignore"):
        apart = 100 * np.abs(first - second) / np.maximum(np.abs(first), 1.0)
    return bool((apart > COUNTS_DIFFER_PERCENT).any())


def _channels(measured: Measured) -> list[Finding]:
    table = measured.table
    stated = int(table.facts.get("total_l2_chan", 0))
    counted = [np.isfinite(block).any(axis=0) for block in table.channels.values()]
    widest = max(
        (int(np.flatnonzero(known)[-1]) + 1 for known in counted if known.any()), default=0
    )
    if not widest or not stated:
        return []
    if widest == stated:
        return []
    return [
        Finding(
            "counters.other_chip",
            Severity.WARNING if widest < stated else Severity.PROBLEM,
            "the L2 channels are not those of the chip",
            f"sysinfo.csv says {stated} channels on {table.chip}, the counters are of {widest}",
            "was sysinfo.csv written on another machine? "
            if widest > stated
            else "some channels were not collected: tables of channels are partial",
            table.path,
        )
    ]


def _missing(values: MetricValues, blocks: frozenset[str] | None) -> list[Finding]:
    catalogue = values.measured.catalogue
    needed: Counter[str] = Counter()
    count = 0
    for metric in chosen_metrics(catalogue, blocks):
        lacking = values.measured.missing(metric.value, metric.level_pass)
        lacking = [name for name in lacking if name not in catalogue.facts]
        never = metric.key in catalogue.not_counted or catalogue.lacked(lacking)
        if lacking and not never:
            count += 1
            needed.update(lacking)
    if not count:
        return []
    names = ", ".join(name for name, _ in needed.most_common(6))
    more = f" and {len(needed) - 6} more" if len(needed) > 6 else ""
    return [
        Finding(
            "counters.missing",
            Severity.INFO,
            f"{count} metrics lack a counter" if count > 1 else "a metric lacks a counter",
            f"not collected: {names}{more}",
            "`wavescope counters collect` adds what a folder lacks: the same command, without -b",
            values.measured.table.path,
        )
    ]
