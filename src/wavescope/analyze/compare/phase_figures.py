"""Calls and time of the phases of one trace: of marker paths, else of prefill and decode."""

from __future__ import annotations

import numpy as np

from wavescope.analyze.compare.figures import Figures, TraceFigures, total_of
from wavescope.analyze.phases.marker_paths import NO_PATH
from wavescope.analyze.phases.serving_phases import serving_phases
from wavescope.arrays import Array
from wavescope.arrays.coded_columns import code_counts
from wavescope.arrays.group_statistics import group_sums

OUTSIDE_PHASES = "(outside any marker)"


def figures_by_phase(figures: TraceFigures) -> dict[str, Figures]:
    """By marker path such as `request > decode`, nested ones included; `(outside ...)` the rest.

    A trace without ranges is split into prefill, decode and so on by what its kernels show.
    """
    found = figures.phases
    if found is None or not found.paths:
        phases = serving_phases(figures.trace)
        return _grouped(figures, phases.codes, list(phases.labels))
    # One more than the path, so that 0 stands for the ops outside all.
    own = _own(figures, found.path_of_op.astype(np.int64) + 1, len(found.paths) + 1)
    total = own[1:]
    for number in range(len(total) - 1, -1, -1):
        parent = found.paths[number].parent
        if parent != NO_PATH:
            total[parent] = total_of((total[parent], total[number]))
    result = {found.path_text(number): row for number, row in enumerate(total) if row.calls}
    if own[0].calls:
        result[OUTSIDE_PHASES] = own[0]
    return result


def _own(figures: TraceFigures, of_op: Array, count: int) -> list[Figures]:
    of_op = of_op if figures.rows is None else of_op[figures.rows]
    counts = code_counts(of_op, count).tolist()
    totals = group_sums(of_op, figures.duration_ns, count)
    return [Figures(calls, total_ns) for calls, total_ns in zip(counts, totals, strict=True)]


def _grouped(figures: TraceFigures, of_op: Array, names: list[str]) -> dict[str, Figures]:
    rows = _own(figures, of_op.astype(np.int64), len(names))
    return {name: row for name, row in zip(names, rows, strict=True) if row.calls}
