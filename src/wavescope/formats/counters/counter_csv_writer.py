"""Writes counters as a wide CSV of a workload folder, as ROCm Compute Profiler reads it."""

from __future__ import annotations

import csv
import math
from pathlib import Path

from wavescope.model.counters import LAUNCH_COLUMNS, CounterTable
from wavescope.model.workload_layout import (
    DISPATCH_ID,
    END,
    GPU_ID,
    KERNEL_NAME,
    START,
    collected_name,
)


def write_counter_csv(table: CounterTable, target: Path) -> None:
    """One row for each dispatch.

    Times of several passes count from 0, because passes have clocks of their own.
    """
    launch = [name for name in LAUNCH_COLUMNS if name in table.columns]
    counters = table.counters
    starts = [0] * table.count if table.starts_ns is None else table.starts_ns.tolist()
    channels = [
        (f"{family}[{channel}]", family, channel)
        for family, block in table.channels.items()
        for channel in range(block.shape[1])
    ]
    unfinished = target.with_suffix(".unfinished")
    with unfinished.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        counted = [*counters, *(name for name, _, _ in channels)]
        names = [collected_name(name, table.system.get("gpu_arch", "")) for name in counted]
        writer.writerow([DISPATCH_ID, GPU_ID, *launch, KERNEL_NAME, *names, START, END])
        for row, kernel in enumerate(table.kernels()):
            values = [table.columns[name][row] for name in counters]
            values += [table.channels[family][row, channel] for _, family, channel in channels]
            writer.writerow(
                [
                    int(table.dispatch_ids[row]),
                    int(table.gpu_ids[row]),
                    *(_text(table.columns[name][row]) for name in launch),
                    kernel,
                    *map(_text, values),
                    starts[row],
                    _end_text(starts[row], table.durations_ns[row]),
                ]
            )
    unfinished.replace(target)


def _end_text(start_ns: int, duration_ns: float) -> str:
    whole = not math.isnan(duration_ns) and float(duration_ns).is_integer()
    return str(start_ns + int(duration_ns)) if whole else _text(start_ns + duration_ns)


def _text(value: float) -> str:
    number = float(value)
    if math.isnan(number):
        return ""
    return str(int(number)) if number.is_integer() and abs(number) < 2**53 else repr(number)
