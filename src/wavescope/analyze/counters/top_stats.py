"""Panel 0: where the time went, and which dispatches there were."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wavescope.analyze.counters.dispatch_choice import kernels_by_time
from wavescope.model.counters import CounterTable
from wavescope.model.result import ResultColumn, ResultTable, Unit, Value

_KERNEL_COLUMNS = (
    ResultColumn("kernel_id", "id", Unit.COUNT, "what -k takes"),
    ResultColumn("kernel", "kernel", Unit.NAME),
    ResultColumn("count", "calls", Unit.COUNT),
    ResultColumn("sum_ns", "sum", Unit.NS),
    ResultColumn("mean_ns", "mean", Unit.NS),
    ResultColumn("median_ns", "median", Unit.NS),
    ResultColumn("percent", "time", Unit.PERCENT, "of all kernels' time"),
    ResultColumn("selected", "selected", Unit.NONE, "whether the metrics are about it"),
)
_DISPATCH_COLUMNS = (
    ResultColumn("dispatch_id", "dispatch", Unit.COUNT, "what -d takes"),
    ResultColumn("kernel", "kernel", Unit.NAME),
    ResultColumn("gpu_id", "GPU", Unit.NONE),
    ResultColumn("duration_ns", "duration", Unit.NS),
    ResultColumn("selected", "selected", Unit.NONE, "whether the metrics are about it"),
)


def top_kernels(table: CounterTable, chosen: NDArray[np.bool_]) -> ResultTable:
    """All kernels, the one with most time first; filters only mark the chosen ones."""
    result = ResultTable("0.1", "0.1 Top Kernels", _KERNEL_COLUMNS)
    durations = np.nan_to_num(table.durations_ns)
    total = float(durations.sum())
    marked = set(table.kernel_codes[chosen].tolist())
    order = np.argsort(table.kernel_codes, kind="stable")
    bounds = np.searchsorted(table.kernel_codes[order], np.arange(len(table.kernel_names) + 1))
    for place, code in enumerate(kernels_by_time(table).tolist()):
        own = durations[order[bounds[code] : bounds[code + 1]]]
        spent = float(own.sum())
        row: tuple[Value, ...] = (
            place,
            table.kernel_names[code],
            len(own),
            _whole(spent),
            _whole(spent / len(own)),
            _whole(float(np.median(own))),
            100 * spent / total if total else None,
            code in marked,
        )
        result.rows.append(row)
    return result


def dispatch_list(table: CounterTable, chosen: NDArray[np.bool_]) -> ResultTable:
    """All dispatches in the order of the workload."""
    result = ResultTable("0.2", "0.2 Dispatch List", _DISPATCH_COLUMNS)
    result.rows = [
        (int(id_), table.kernel_names[code], int(gpu), _whole(duration), bool(mark))
        for id_, code, gpu, duration, mark in zip(
            table.dispatch_ids.tolist(),
            table.kernel_codes.tolist(),
            table.gpu_ids.tolist(),
            table.durations_ns.tolist(),
            chosen.tolist(),
            strict=True,
        )
    ]
    return result


def _whole(value: float) -> int | float | None:
    """Whole nanoseconds as an integer; a mean keeps its fraction."""
    if not np.isfinite(value):
        return None
    return int(value) if value == int(value) else value
