"""The counters of a trace (rocpd, rocprofv3 JSON, wavescope's own file) as counted dispatches."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from wavescope.model.dispatch_counters import (
    CountedDispatch,
    DispatchCounters,
    ValueSum,
    counter_name,
)
from wavescope.model.trace import Trace


def counters_of_trace(trace: Trace, file: str, wanted: Callable[[str], bool]) -> DispatchCounters:
    """The ops that have wanted counters, with their values and durations."""
    counters = trace.counters
    counters.load("op", "name", "value")
    names = {
        int(code): counter_name(counters.string_table.decode(np.array([code]))[0])
        for code in np.unique(counters["name"])
    }
    sums: dict[int, ValueSum] = {}
    for op, code, value in zip(
        counters["op"].tolist(), counters["name"].tolist(), counters["value"].tolist(), strict=True
    ):
        name = names[code]
        if name is not None and wanted(name.base) and value >= 0:
            sums.setdefault(op, ValueSum()).add(name, value)
    chip, product = _machine(trace)
    return DispatchCounters((file,), _dispatches(trace, sums), chip, product)


def _dispatches(trace: Trace, sums: dict[int, ValueSum]) -> list[CountedDispatch]:
    if not sums:
        return []
    ops = trace.ops
    ops.load("id", "name", "start_ns", "end_ns")
    ids = np.fromiter(sums, np.int64, len(sums))
    if not len(ops["id"]):
        return []
    rows = np.minimum(np.searchsorted(ops["id"], ids), len(ops["id"]) - 1)
    texts = ops.string_table.decode(ops["name"][rows])
    durations = (ops["end_ns"] - ops["start_ns"])[rows].tolist()
    known = (ops["id"][rows] == ids).tolist()
    return [
        CountedDispatch(0, str(op), text, duration if duration > 0 else None, values.values())
        for (op, values), text, duration, is_known in zip(
            sums.items(), texts, durations, known, strict=True
        )
        if is_known
    ]


def _machine(trace: Trace) -> tuple[str, str]:
    for chip, product in zip(
        trace.agents.strings("chip"), trace.agents.strings("model"), strict=True
    ):
        if chip:
            return chip, product
    return "", ""
