"""Launches that take long because they are a kernel's first: its code is loaded during them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.idle.gap_parts import Flags, GapParts
from wavescope.analyze.ops.op_links import op_links
from wavescope.arrays import Array
from wavescope.arrays.intervals import is_sorted
from wavescope.model.trace import Trace

_MUCH_LONGER = 10
"""A first launch that takes this many times the median of all launches does more than launch."""


class LaunchCalls(NamedTuple):
    """The calls that launched ops."""

    ops_of_call: npt.NDArray[np.int64]
    """How many ops each call of the trace launched."""
    first_start_ns: npt.NDArray[np.int64]
    """When the first of them began."""
    median_ns: float
    """The median length of the calls that launched one op."""
    first_of_name: npt.NDArray[np.int64]
    """For each code of a name the row of its first op."""


class FirstLaunches(NamedTuple):
    """The time that gaps spent in first launches."""

    total_ns: int
    kernels: int
    longest_op: int
    """The row of the op whose first launch took longest."""
    longest_ns: int
    median_ns: float
    """Of all launches."""


def launch_calls(trace: Trace) -> LaunchCalls:
    """The calls that launched ops of a trace that has links."""
    links, ops, calls = trace.derived(op_links), trace.ops, trace.calls
    ops_of_call = np.bincount(links.call_rows, minlength=len(calls))
    first_start_ns = np.full(len(calls), np.iinfo(np.int64).max, np.int64)
    np.minimum.at(first_start_ns, links.call_rows, ops["start_ns"][links.op_rows])
    single = ops_of_call == 1
    lengths = calls["end_ns"][single] - calls["start_ns"][single]
    median_ns = float(np.median(lengths)) if len(lengths) else 0.0
    return LaunchCalls(ops_of_call, first_start_ns, median_ns, _first_rows(trace))


def _first_rows(trace: Trace) -> npt.NDArray[np.int64]:
    """For each code of a name the row of the op that began first."""
    names = trace.ops["name"]
    # One more than codes, for ops without a name: their code is -1, the last place.
    first = np.full(int(names.max(initial=-1)) + 2, -1, np.int64)
    # Written backwards, so that of several ops the earliest stays.
    starts = trace.ops["start_ns"]
    order = np.arange(len(names)) if is_sorted(starts) else np.argsort(starts, kind="stable")
    first[names[order[::-1]]] = order[::-1]
    return first


def is_first_launch(parts: GapParts) -> Flags:
    """Which gaps ended with the first op of its name, launched by a far longer call than usual."""
    calls, launches = parts.trace.calls, parts.trace.derived(launch_calls)
    rows: Array = np.where(parts.linked, parts.calls, 0)
    lengths = calls["end_ns"][rows] - calls["start_ns"][rows]
    names = parts.trace.ops["name"][parts.after]
    is_first = parts.linked & (launches.ops_of_call[rows] == 1)
    is_first &= launches.first_of_name[names] == parts.after
    is_first &= lengths >= _MUCH_LONGER * launches.median_ns
    found: Flags = is_first & (parts.in_launch_ns > 0)
    return found


def first_launches(parts: GapParts) -> FirstLaunches | None:
    """The first launches of kernels among a GPU's gaps, None where there are none."""
    if not parts.linked.any():
        return None
    gaps = np.flatnonzero(is_first_launch(parts))
    if not len(gaps):
        return None
    spent = parts.in_launch_ns[gaps]
    longest = int(gaps[np.argmax(spent)])
    return FirstLaunches(
        int(spent.sum()),
        len(gaps),
        int(parts.after[longest]),
        int(spent.max()),
        parts.trace.derived(launch_calls).median_ns,
    )
