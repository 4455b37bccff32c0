"""Counters of a run that measured other counters at every launch, made whole.

Each launch of a kernel has the counters of one group only. Launches of one kernel (and, if asked,
of the same size) are taken to be alike: what a launch lacks is the mean over those that have it.
How many they are and how far they scatter is kept, for everything that is computed from them.
"""

from __future__ import annotations

import json
import math
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
from wavescope.model.workload_layout import present_name

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
