"""Joins the passes of a workload: the same program, run again and again with other counters.

Dispatches are paired by kernel, grid and occurrence: the third launch of a kernel with a grid in
one pass is the third in every pass. What finds no partner is counted and reported, never dropped
in silence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from wavescope.model.counters import CounterTable, Floats, Integers
from wavescope.model.notes import Notes

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
