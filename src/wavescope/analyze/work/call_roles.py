"""The calls with matrix work of a trace, with the modules around them, given to `roles`."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from wavescope.analyze.calls.call_tree import nearest_marked, parent_calls
from wavescope.analyze.work.operator_work import OperatorWork
from wavescope.analyze.work.roles import MatrixCall, Module, roles_of, tells_roles
from wavescope.arrays.coded_columns import distinct
from wavescope.model.trace import Trace

Rows = npt.NDArray[np.int64]

_MODULE = re.compile(r"nn\.Module: (\w{1,200}?)(?:_\d+)?", re.ASCII)
_MOST_LEVELS = 8


def call_roles(
    trace: Trace,
    rows: Rows,
    works: Sequence[OperatorWork | None],
    work_of_row: npt.NDArray[np.integer],
) -> dict[int, str]:
    """The roles of those calls that have one, by row; `work_of_row` says what each call does."""
    of_matrices = {
        number: work
        for number, work in enumerate(works)
        if work is not None and work.kind.is_matrix
    }
    names = _module_names(trace)
    if not names and not any(map(tells_roles, of_matrices.values())):
        return {}
    is_matrix = np.isin(work_of_row, list(of_matrices))
    chosen = rows[is_matrix]
    modules = _modules(trace, chosen, names)
    calls = trace.calls
    _, thread = distinct(calls["thread"][chosen])
    lanes = thread.astype(np.int64) + (len(chosen) + 1) * calls["process"][chosen].astype(np.int64)
    starts = calls["start_ns"][chosen].tolist()
    return roles_of(
        [
            MatrixCall(row, lane, start_ns, of_matrices[number], tuple(around))
            for row, number, lane, start_ns, around in zip(
                chosen.tolist(),
                work_of_row[is_matrix].tolist(),
                lanes.tolist(),
                starts,
                modules,
                strict=True,
            )
        ]
    )


def _module_names(trace: Trace) -> dict[int, str]:
    """The classes of modules by the codes of the calls that are named for them."""
    return {
        code: found.group(1)
        for code in trace.calls.code_counts("name").codes.tolist()
        if code >= 0 and (found := _MODULE.fullmatch(trace.strings[code]))
    }


def _modules(trace: Trace, rows: Rows, names: dict[int, str]) -> list[list[Module]]:
    """For each call the modules around it, the innermost first."""
    calls = trace.calls
    around: list[list[Module]] = [[] for _ in rows]
    if not names:
        return around
    is_module = np.isin(calls["name"], list(names))
    parent = parent_calls(trace)
    level = nearest_marked(parent, is_module, rows)
    for _ in range(_MOST_LEVELS):
        inside = np.flatnonzero(level >= 0)
        codes = calls["name"][level[inside]].tolist()
        for place, code, row in zip(inside.tolist(), codes, level[inside].tolist(), strict=True):
            around[place].append(Module(names[code], row))
        outer = np.full(len(rows), -1, np.int64)
        outer[inside] = parent[level[inside]]
        level = nearest_marked(parent, is_module, outer)
    return around
