"""Joins the passes of a workload: the same program, run again and again with other counters.

Dispatches are paired by kernel, grid and occurrence: the third launch of a kernel with a grid in
one pass is the third in every pass. What finds no partner is counted and reported, never dropped
in silence.

In a multiplexed run each launch of a kernel has the counters of one group only. Launches of one
kernel (and, if asked, of the same size) are taken to be alike: what a launch lacks is the mean over
those that have it. How many they are and how far they scatter is kept, for all that is computed
from them.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from wavescope.arrays.student_t import quantile
from wavescope.errors import UnreadableInputError
from wavescope.model.counters import (
    CounterTable,
    Floats,
    Integers,
    MultiplexedCounter,
    MultiplexedKernel,
)
from wavescope.model.notes import Notes
from wavescope.model.workload_layout import present_name

DispatchKey = tuple[str, float, int]
_MISSING = -1


def dispatch_keys(table: CounterTable) -> list[DispatchKey]:
    """For each dispatch its kernel, grid and which occurrence of them it is."""
    grids = table.columns.get("Grid_Size")
    sizes = [0.0] * table.count if grids is None else np.nan_to_num(grids, nan=-1.0).tolist()
    seen: Counter[tuple[str, float]] = Counter()
    keys = []
    for kernel, size in zip(table.kernels(), sizes, strict=True):
        occurrence = seen[kernel, size]
        seen[kernel, size] += 1
        keys.append((kernel, size, occurrence))
    return keys


class Pairing:
    """For each dispatch of the first pass the row of another pass that shows the same launch."""

    def __init__(self, keys: Sequence[DispatchKey]) -> None:
        self._keys = list(keys)

    def rows_of(self, table: CounterTable, notes: Notes) -> Integers | None:
        """Row numbers (-1: none; None: the same order); it is noted when some have no partner."""
        other = dispatch_keys(table)
        if other == self._keys:
            return None
        place = {key: row for row, key in enumerate(other)}
        rows = np.array([place.get(key, _MISSING) for key in self._keys], dtype=np.int64)
        alone = int((rows == _MISSING).sum())
        left_over = len(set(other) - set(self._keys))
        found = []
        if alone:
            found.append(f"{alone} of {len(self._keys)} dispatches were not found in this pass")
        if left_over:
            found.append(f"{left_over} of its dispatches were left out, as other passes lack them")
        if found:
            what = ", ".join(found)
            notes.add(f"{Path(table.path).name}: {what} (different launches in each run?)")
        return rows


def placed(values: Floats, rows: Integers | None) -> Floats:
    """`values` in the order of the first pass, NaN where there is no partner."""
    if rows is None:
        return values
    if not len(values):
        return np.full(len(rows), np.nan)
    return np.where(rows == _MISSING, np.nan, values[np.maximum(rows, 0)])


def joined(passes: Sequence[CounterTable], notes: Notes) -> CounterTable:
    """One table of all passes, with how long each dispatch took in each of them.

    The pass with most dispatches decides which there are. A counter of several passes comes from
    the first that has it; the duration is the mean over the passes.
    """
    first = max(passes, key=lambda table: table.count)
    pairing = Pairing(dispatch_keys(first))
    columns = dict(first.columns)
    spans: dict[str, Floats] = {}
    for sentence in (sentence for table in passes for sentence in table.notes.sentences()):
        notes.add(sentence)
    for table in passes:
        rows = pairing.rows_of(table, notes)
        for name, values in table.columns.items():
            if name not in columns:
                columns[name] = placed(values, rows)
        if has_times(table):
            spans[Path(table.path).stem] = placed(table.durations_ns, rows)
    durations = _mean_over(list(spans.values())) if spans else first.durations_ns
    return replace(
        first,
        columns=columns,
        durations_ns=durations,
        pass_durations_ns=spans,
        starts_ns=None,
        notes=notes,
    )


def has_times(table: CounterTable) -> bool:
    """Whether any dispatch has a duration."""
    return bool(np.isfinite(table.durations_ns).any())


def _mean_over(columns: Sequence[Floats]) -> Floats:
    stacked = np.vstack(columns)
    known = np.isfinite(stacked)
    totals = np.where(known, stacked, 0.0).sum(axis=0)
    counts = known.sum(axis=0)
    return np.where(counts > 0, totals / np.maximum(counts, 1), np.nan)


_BY_LAUNCH = "kernel_launch_params"
_LAUNCH_KEY = ("Grid_Size", "Workgroup_Size", "LDS_Per_Workgroup")


def complete_multiplexed(table: CounterTable, path: Path) -> CounterTable:
    """The table with what launches lack filled in, as the file that describes the run says."""
    policy, groups = _description(path)
    keys = _keys(table, by_launch=policy == _BY_LAUNCH)
    completed = replace(
        table,
        columns={name: values.copy() for name, values in table.columns.items()},
    )
    kernels = [
        _completed(completed, np.flatnonzero(keys == key), groups)
        for key in range(int(keys.max()) + 1 if len(keys) else 0)
    ]
    lacking = [each for each in kernels if each.measured_groups < each.groups]
    if lacking:
        shown = ", ".join(f"{each.kernel} ({each.dispatches})" for each in lacking[:5])
        table.notes.add(
            f"{len(lacking)} kernels were launched too few times to meet all {len(groups)} groups "
            f"of counters, so some of their metrics are missing: {shown}"
        )
    return replace(completed, multiplexed=kernels)


def _description(path: Path) -> tuple[str, list[list[str]]]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        policy = str(content["policy"])
        groups = [[present_name(str(name)) for name in group] for group in content["groups"]]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise UnreadableInputError(path, f"it does not describe multiplexing: {error}") from error
    return policy, groups


def _keys(table: CounterTable, *, by_launch: bool) -> Integers:
    """For each dispatch the number of the launches it is alike."""
    columns = [table.kernel_codes.astype(np.float64)]
    if by_launch:
        columns += [table.columns[name] for name in _LAUNCH_KEY if name in table.columns]
    stacked = np.nan_to_num(np.stack(columns), nan=-1.0)
    _, keys = np.unique(stacked, axis=1, return_inverse=True)
    return keys.reshape(-1).astype(np.int64)


def _completed(
    table: CounterTable, rows: Integers, groups: Sequence[Sequence[str]]
) -> MultiplexedKernel:
    """Fill in what the launches `rows` lack."""
    kernel = table.kernel_names[int(table.kernel_codes[rows[0]])]
    counters = []
    for name in table.counters:
        values = table.columns[name]
        own = values[rows]
        known = own[np.isfinite(own)]
        if not len(known):
            continue
        mean, interval = float(known.mean()), 100 * relative_interval(known)
        counters.append(MultiplexedCounter(kernel, name, len(known), mean, interval))
        values[rows] = np.where(np.isfinite(own), own, mean)
    measured = {each.counter for each in counters}
    widest = max(counters, key=lambda each: each.interval_percent, default=None)
    is_known = widest is not None and widest.interval_percent > 0
    return MultiplexedKernel(
        kernel,
        len(rows),
        sum(any(name in measured for name in group) for group in groups),
        len(groups),
        min((each.launches for each in counters), default=len(rows)),
        widest.interval_percent if widest else 0.0,
        widest.counter if widest and is_known else "",
        tuple(counters),
    )


def relative_interval(values: Floats) -> float:
    """Half the width of the mean's 95 % confidence interval, as a share of the mean."""
    mean, count = float(values.mean()), len(values)
    if count < 2 or mean == 0:
        return 0.0
    return quantile(0.975, count - 1) * float(values.std(ddof=1)) / math.sqrt(count) / abs(mean)
