"""Which call caused which op, as row numbers instead of ids, and which calls cause many at once."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wavescope.arrays import Array
from wavescope.model.trace import Trace

RowArray = npt.NDArray[np.int64]

_GRAPH_LAUNCH = re.compile(r"^(hip|cuda|cu)GraphLaunch")


@dataclass(frozen=True)
class OpLinks:
    """For every linked op its row and the row of the call that caused it."""

    op_rows: RowArray
    call_rows: RowArray
    dangling_count: int
    """Links with an end that the trace does not have."""
    repeated_count: int
    """Further links of ops that have one already; the first is kept."""


def op_links(trace: Trace) -> OpLinks:
    """The links of `trace` with both ends present, one for each op, in the order of the ops."""
    trace.links.load("call", "op")
    op_rows, has_op = rows_of_ids(trace.ops["id"], trace.links["op"])
    call_rows, has_call = rows_of_ids(trace.calls["id"], trace.links["call"])
    whole = has_op & has_call
    op_rows, call_rows = op_rows[whole], call_rows[whole]
    dangling_count = len(whole) - len(op_rows)
    # Written backwards, so that of several links the first one stays.
    call_of_op = np.full(len(trace.ops), -1, np.int64)
    call_of_op[op_rows[::-1]] = call_rows[::-1]
    linked = np.flatnonzero(call_of_op >= 0)
    return OpLinks(linked, call_of_op[linked], dangling_count, len(op_rows) - len(linked))


def rows_of_ids(ids: Array, wanted: Array) -> tuple[RowArray, npt.NDArray[np.bool_]]:
    """Where each wanted id stands among `ids`, which increase, and whether it does."""
    if not len(ids):
        return np.zeros(len(wanted), np.int64), np.zeros(len(wanted), bool)
    first, last = int(ids[0]), int(ids[-1])
    if last - first == len(ids) - 1:
        # Without holes a row is its id: no search needed.
        present = (wanted >= first) & (wanted <= last)
        return np.where(present, wanted - first, 0), present
    rows = np.minimum(np.searchsorted(ids, wanted), len(ids) - 1)
    return rows, ids[rows] == wanted


def graph_launch_names(trace: Trace) -> list[int]:
    """The codes of the names of calls that launch a graph."""
    codes = trace.calls.code_counts("name").codes.tolist()
    return [code for code in codes if _GRAPH_LAUNCH.match(trace.strings[code])]
