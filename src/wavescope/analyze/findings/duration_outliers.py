"""Kernels of which a few calls take many times longer than the others."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.findings.context import (
    FindingContext,
    by_launch_size,
    calls_of,
    nearest_rank_median,
)
from wavescope.analyze.findings.kernel_order import kernel_order
from wavescope.analyze.ops.op_labels import meaning_of_label
from wavescope.analyze.quick_findings import evidence_sql
from wavescope.arrays.coded_columns import blocks, looked_up
from wavescope.model.result import Finding, Severity
from wavescope.names.kernel_names import COPY_FILL, short_name
from wavescope.units import duration_text

ID = "duration-outliers"
_MOST_FINDINGS = 5
_MOST_SIZES = 50
_SHOWN = 3
_MOST_SHARE = 0.05
"""More calls than this share are no outliers but another kind of call."""
_ELSEWHERE_SHARE = 0.8
"""So are calls of which this share run where no other call does, as the head of a model after its
layers: between other kernels, and so on other data."""


class _Outliers(NamedTuple):
    """The outliers among like calls of a kernel, the longest first."""

    label: int
    rows: npt.NDArray[np.int64]
    calls: int
    median_ns: int
    excess_ns: int


def duration_outliers(context: FindingContext) -> list[Finding]:
    """A finding for each compute kernel whose outliers waste much time."""
    least_ns = context.thresholds.outlier_percent * context.duration_sum_ns / 100
    found = [
        outliers
        for label in _suspects(context, least_ns)
        for outliers in _outliers(context, label)
        if outliers.excess_ns >= max(least_ns, 1)
    ]
    found.sort(key=lambda each: -each.excess_ns)
    return [_finding(context, each) for each in found[:_MOST_FINDINGS]]


def _suspects(context: FindingContext, least_ns: float) -> list[int]:
    """Labels whose calls over the limit exceed it by enough in sum, whatever their launch size."""
    statistics, limits = context.by_label, context.thresholds
    limit_ns = np.full(len(context.labels.texts), np.iinfo(np.int64).max, np.int64)
    medians = np.minimum(statistics.percentiles(50), np.iinfo(np.int64).max // 1_000)
    enough = statistics.counts >= limits.outlier_calls
    groups = statistics.groups
    limit_ns[groups[enough]] = (medians[enough] * limits.outlier_factor).astype(np.int64)
    excess = np.zeros(len(limit_ns), np.float64)
    computes = context.compute_kernels
    for block in blocks(len(computes)):
        labels, durations = context.label_of_op[block], context.durations_ns[block]
        over = durations > looked_up(limit_ns, labels)
        if over.any():
            over &= computes[block]
            np.add.at(excess, labels[over], durations[over].astype(np.float64))
    # How much a copy moves is not told by its launch size.
    return [
        label
        for label in np.flatnonzero(excess >= max(least_ns, 1)).tolist()
        if meaning_of_label(context.labels.texts[label]).category != COPY_FILL
    ]


def _outliers(context: FindingContext, label: int) -> list[_Outliers]:
    limits = context.thresholds
    found = []
    for rows in by_launch_size(context, calls_of(context, label))[:_MOST_SIZES]:
        if len(rows) < limits.outlier_calls:
            break
        durations = context.durations_ns[rows].astype(np.int64)
        median_ns = nearest_rank_median(durations)
        over = durations > limits.outlier_factor * median_ns
        count = int(np.count_nonzero(over))
        if not count or count > _MOST_SHARE * len(rows) or _are_elsewhere(context, rows, over):
            continue
        longest = np.argsort(-durations, kind="stable")[:count]
        excess_ns = int((durations[longest] - median_ns).sum())
        found.append(_Outliers(label, rows[longest], len(rows), median_ns, excess_ns))
    return found


def _are_elsewhere(
    context: FindingContext, rows: npt.NDArray[np.int64], over: npt.NDArray[np.bool_]
) -> bool:
    """Whether most of the calls that are `over` have other neighbours than all that are not."""
    neighbours = _neighbours(context, rows)
    usual = np.unique(neighbours[~over])
    return bool(np.mean(~np.isin(neighbours[over], usual)) >= _ELSEWHERE_SHARE)


def _neighbours(context: FindingContext, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """A number for what runs before and after each op on its queue."""
    order = context.trace.derived(kernel_order)
    places = np.full(len(context.trace.ops), -1, np.int64)
    places[order.rows] = np.arange(len(order.rows))
    here, last = places[rows], len(order.rows) - 1
    before, after = (
        np.where(
            order.lane[place] == order.lane[here], context.label_of_op[order.rows[place]], -1
        ).astype(np.int64)
        for place in (np.maximum(here - 1, 0), np.minimum(here + 1, last))
    )
    return before * (len(context.labels.texts) + 1) + after


def _finding(context: FindingContext, each: _Outliers) -> Finding:
    text = context.labels.texts[each.label]
    name = short_name(text)
    longest_ns = int(context.durations_ns[each.rows[0]])
    share = 100 * each.excess_ns / context.duration_sum_ns
    return Finding(
        ID,
        Severity.WARNING,
        f"{len(each.rows):,} of {each.calls:,} calls of {name} took over "
        f"{context.thresholds.outlier_factor:g} times their median",
        f"median {duration_text(each.median_ns)}, longest {duration_text(longest_ns)} "
        f"({longest_ns / max(each.median_ns, 1):.0f} x); together "
        f"{duration_text(each.excess_ns)} too long; ops {context.op_ids(each.rows[:_SHOWN])}",
        "see what ran beside them (another stream, another process, a page migration) and whether "
        "they are the first calls after a load or a pause",
        f"kernel {name}",
        gain_percent=share,
        gain_basis="all calls as short as the median",
        sql=evidence_sql.longest_calls_sql(text),
        numbers={
            "name": text,
            "calls": each.calls,
            "outliers": len(each.rows),
            "median_ns": each.median_ns,
            "longest_ns": longest_ns,
            "excess_ns": each.excess_ns,
            "longest_op": context.op_id(int(each.rows[0])),
        },
    )
