"""The tables that are made of other things than metrics: kernels, dispatches, machine, samples."""

from __future__ import annotations

import enum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wavescope.analyze.counters.choice import kernels_by_time
from wavescope.model.counters import (
    CounterTable,
    MultiplexedCounter,
    MultiplexedKernel,
    PcSample,
)
from wavescope.model.result import (
    ColumnOf,
    ResultColumn,
    ResultTable,
    Unit,
    Value,
    table_of,
)

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
    rows: list[tuple[Value, ...]] = []
    durations = np.nan_to_num(table.durations_ns)
    total = float(durations.sum())
    marked = set(table.kernel_codes[chosen].tolist())
    order = np.argsort(table.kernel_codes, kind="stable")
    bounds = np.searchsorted(table.kernel_codes[order], np.arange(len(table.kernel_names) + 1))
    for place, code in enumerate(kernels_by_time(table).tolist()):
        own = durations[order[bounds[code] : bounds[code + 1]]]
        spent = float(own.sum())
        rows.append(
            (
                place,
                table.kernel_names[code],
                len(own),
                _whole(spent),
                _whole(spent / len(own)),
                _whole(float(np.median(own))),
                100 * spent / total if total else None,
                code in marked,
            )
        )
    return ResultTable("0.1", "0.1 Top Kernels", _KERNEL_COLUMNS, rows)


def dispatch_list(table: CounterTable, chosen: NDArray[np.bool_]) -> ResultTable:
    """All dispatches in the order of the workload."""
    rows: list[tuple[Value, ...]] = [
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
    return ResultTable("0.2", "0.2 Dispatch List", _DISPATCH_COLUMNS, rows)


def _whole(value: float) -> int | float | None:
    """Whole nanoseconds as an integer; a mean keeps its fraction."""
    if not np.isfinite(value):
        return None
    return int(value) if value == int(value) else value


_COLUMNS = (
    ResultColumn("name", "name", Unit.NAME),
    ResultColumn("value", "value", Unit.NONE),
    ResultColumn("source", "source", Unit.NONE, "read from the workload, or assumed for the chip"),
)


def system_info(table: CounterTable) -> ResultTable:
    """All that was noted of the machine, then what was assumed."""
    read: list[tuple[Value, ...]] = [
        (name, text if text.strip() else "unknown", "sysinfo.csv")
        for name, text in table.system.items()
    ]
    assumed: list[tuple[Value, ...]] = [
        (name, f"{value:g}", "assumed")
        for name, value in table.facts.items()
        if not table.system.get(name, "").strip()
    ]
    return ResultTable("1.1", "1.1 System Info", _COLUMNS, read + assumed)


class _SampleRow(NamedTuple):
    """An instruction that was seen, under its id, and the samples of all."""

    id: str
    sample: PcSample
    total: int

    @property
    def reasons(self) -> str:
        return ", ".join(f"{name} {count}" for name, count in self.sample.stall_reasons)


_SAMPLE_COLUMNS: tuple[ColumnOf[_SampleRow], ...] = (
    ResultColumn("id", "id", Unit.NAME).of(lambda row: row.id),
    ResultColumn("kernel", "kernel", Unit.NAME, "where the samples tell").of(
        lambda row: row.sample.kernel or None
    ),
    ResultColumn("offset", "offset", Unit.NONE, "of the instruction in its code, in bytes").of(
        lambda row: row.sample.offset
    ),
    ResultColumn("source", "source", Unit.NAME, "file and line, where known").of(
        lambda row: row.sample.source or "unknown"
    ),
    ResultColumn("instruction", "instruction", Unit.NAME).of(lambda row: row.sample.instruction),
    ResultColumn("count", "samples", Unit.COUNT).of(lambda row: row.sample.sample_count),
    ResultColumn("percent", "share", Unit.PERCENT, "of all samples").of(
        lambda row: 100 * row.sample.sample_count / row.total
    ),
    ResultColumn("issued", "issued", Unit.COUNT, "samples in which the instruction was issued").of(
        lambda row: row.sample.issued_count
    ),
    ResultColumn("stalled", "stalled", Unit.COUNT, "samples in which the wave waited").of(
        lambda row: row.sample.stalled_count
    ),
    ResultColumn("reasons", "stall reasons", Unit.NONE).of(lambda row: row.reasons or None),
)


class SampleOrder(str, enum.Enum):
    """In which order instructions are listed."""

    COUNT = "count"
    OFFSET = "offset"


def pc_samples(
    table: CounterTable,
    order: SampleOrder = SampleOrder.COUNT,
    kernels: frozenset[str] | None = None,
) -> ResultTable:
    """One row for each instruction that was seen; with `kernels` only theirs.

    By offset, instructions of a kernel stand in the order of its code, where offsets are known.
    """
    samples = [
        s for s in table.pc_samples if kernels is None or not s.kernel or s.kernel in kernels
    ]
    total = sum(sample.sample_count for sample in samples)
    if order is SampleOrder.COUNT:
        samples.sort(key=lambda sample: -sample.sample_count)
    else:
        samples.sort(key=lambda sample: (sample.kernel, sample.offset or 0))
    rows = [_SampleRow(f"21.1.{at}", each, total) for at, each in enumerate(samples)]
    return table_of("21.1", "21.1 PC Sampling", _SAMPLE_COLUMNS, rows)


_KERNEL_OF = ResultColumn("kernel", "kernel", Unit.NAME, "launches that are taken to be alike")
_MULTIPLEXED_KERNELS: tuple[ColumnOf[MultiplexedKernel], ...] = (
    _KERNEL_OF.of(lambda each: each.kernel),
    ResultColumn("dispatches", "dispatches", Unit.COUNT, "launches of it").of(
        lambda each: each.dispatches
    ),
    ResultColumn("groups", "groups", Unit.COUNT, "groups of counters in the run").of(
        lambda each: each.groups
    ),
    ResultColumn("measured_groups", "measured", Unit.COUNT, "groups that met a launch").of(
        lambda each: each.measured_groups
    ),
    ResultColumn(
        "fewest_samples",
        "fewest",
        Unit.COUNT,
        "launches in which the least measured counter was counted",
    ).of(lambda each: each.fewest_samples),
    ResultColumn(
        "interval_percent", "interval", Unit.PERCENT, "half of the widest 95 % interval of a mean"
    ).of(lambda each: round(each.widest_interval_percent, 3)),
    ResultColumn("interval_counter", "of counter", Unit.NAME, "whose interval it is").of(
        lambda each: each.widest_counter
    ),
)
_MULTIPLEXED_COUNTERS: tuple[ColumnOf[MultiplexedCounter], ...] = (
    _KERNEL_OF.of(lambda each: each.kernel),
    ResultColumn("counter", "counter", Unit.NAME).of(lambda each: each.counter),
    ResultColumn("launches", "launches", Unit.COUNT, "launches that it was counted in").of(
        lambda each: each.launches
    ),
    ResultColumn("mean", "mean", Unit.NONE, "mean over these launches").of(lambda each: each.mean),
    ResultColumn(
        "interval_percent", "interval", Unit.PERCENT, "half of the mean's 95 % interval"
    ).of(lambda each: round(each.interval_percent, 3)),
)


def multiplexing_table(workload: CounterTable) -> ResultTable:
    """By kernel: launches, groups of counters that met one, and how sure the means are."""
    kernels = sorted(workload.multiplexed, key=lambda each: -each.dispatches)
    return table_of("0.3", "0.3 Multiplexing", _MULTIPLEXED_KERNELS, kernels)


def multiplexed_counters(workload: CounterTable) -> ResultTable:
    """By kernel and counter: the launches behind its mean and how sure that is, the least first."""
    counters = [counter for kernel in workload.multiplexed for counter in kernel.counters]
    counters.sort(key=lambda each: (-each.interval_percent, each.kernel, each.counter))
    return table_of("0.4", "0.4 Multiplexed Counters", _MULTIPLEXED_COUNTERS, counters)
