"""Traffic of each kernel: means per dispatch, so that passes and repeated runs fit together.

Which dispatches it is about is chosen by kernel and number; they come from traces, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from wavescope.analyze.traffic import requests
from wavescope.analyze.traffic.requests import ReadMix, Transfer
from wavescope.errors import UsageError
from wavescope.model.chips.chip_table import Chip, find_chip
from wavescope.model.counters import (
    MEMORY_COUNTERS_HINT,
    CounterTable,
    Floats,
    Integers,
    counter_name,
    kernel_names_and_codes,
    whole_counters,
)
from wavescope.model.trace import Trace
from wavescope.names.kernel_names import kernel_key
from wavescope.patterns import compiled


@dataclass(frozen=True)
class TrafficOptions:
    """What the counters do not say themselves."""

    chip: Chip | None = None
    peak_gb_per_s: float | None = None
    ideal_gb: float | None = None
    """What a dispatch must read at least, in GB (10^9 bytes)."""
    ea_channels: int | None = None
    """Use the channel model instead of the vendor's formula."""
    measured_gb_per_s: float | None = None
    """The bandwidth that a benchmark reached on the machine."""


class KernelTraffic(NamedTuple):
    """One kernel; sizes and times are means over its dispatches, None where unknown."""

    kernel: str
    dispatches: int
    duration_ns: float | None
    hit_percent: float | None
    reads: ReadMix | None
    read: Transfer | None
    write: Transfer | None
    read_gb_per_s: float | None
    write_gb_per_s: float | None
    peak_percent: float | None
    over_fetch: float | None
    total_duration_ns: float
    uneven_counts: bool
    """Counters come from different numbers of dispatches: means may not fit together."""
    measured_percent: float | None = None
    """Of the bandwidth that was measured on the machine."""

    @property
    def small_read_percent(self) -> float | None:
        """Share of reads that fetch only 32 bytes."""
        if self.reads is None or self.reads.of_32_bytes is None:
            return None
        return 100 * min(self.reads.of_32_bytes / self.reads.total, 1.0)

    @property
    def large_read_percent(self) -> float | None:
        """Share of reads that fetch 128 bytes."""
        if self.reads is None or self.reads.of_128_bytes is None:
            return None
        return 100 * min(self.reads.of_128_bytes / self.reads.total, 1.0)


@dataclass
class _Sums:
    """What the dispatches of a kernel counted together."""

    values: dict[str, float] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    read_spans: list[float] = field(default_factory=list)
    """Durations of the dispatches whose reads were counted."""
    other_spans: list[float] = field(default_factory=list)

    def add(self, values: Mapping[str, float], duration_ns: float) -> None:
        """Count a dispatch; NaN is unknown."""
        known = {name: value for name, value in values.items() if not math.isnan(value)}
        for name, value in known.items():
            self.values[name] = self.values.get(name, 0.0) + value
            self.counts[name] = self.counts.get(name, 0) + 1
        if not math.isnan(duration_ns):
            spans = self.read_spans if any(map(_counts_reads, known)) else self.other_spans
            spans.append(duration_ns)

    @property
    def means(self) -> dict[str, float]:
        """By counter, over the dispatches that have it."""
        return {name: value / self.counts[name] for name, value in self.values.items()}

    def mean_duration(self) -> float | None:
        """Of the dispatches whose reads were counted; of all where none were timed."""
        chosen = self.read_spans or self.other_spans
        return sum(chosen) / len(chosen) if chosen else None


def kernel_traffic(tables: Iterable[CounterTable], options: TrafficOptions) -> list[KernelTraffic]:
    """Every kernel, that with the most time first (the most bytes where no time is known)."""
    sums: dict[str, _Sums] = {}
    first_spelling: dict[str, str] = {}
    for table in tables:
        keys = {name: kernel_key(name) for name in table.kernel_names}
        for kernel, values, duration_ns in _dispatches(table):
            name = first_spelling.setdefault(keys[kernel], kernel)
            sums.setdefault(name, _Sums()).add(values, duration_ns)
    found = [_traffic(kernel, each, options) for kernel, each in sums.items()]
    return sorted(found, key=lambda each: (-each.total_duration_ns, -_bytes(each.read)))


def each_dispatch(table: CounterTable, options: TrafficOptions) -> Iterator[KernelTraffic]:
    """As `kernel_traffic` for single runs of dispatches."""
    for kernel, values, duration_ns in _dispatches(table):
        alone = _Sums()
        alone.add(values, duration_ns)
        yield _traffic(kernel, alone, options)


def mean_counters(tables: Iterable[CounterTable]) -> dict[str, float]:
    """The counters of memory traffic over all dispatches, each over those that have it."""
    sums = _Sums()
    for table in tables:
        for _, values, duration_ns in _dispatches(table):
            sums.add(values, duration_ns)
    return sums.means


def _dispatches(table: CounterTable) -> Iterator[tuple[str, dict[str, float], float]]:
    """Kernel, counters and duration of each dispatch; NaN where there is none."""
    counters = whole_counters(table, requests.TRAFFIC_COUNTERS.__contains__)
    columns = [values.tolist() for values in counters.values()]
    rows = zip(*columns, strict=True) if columns else [()] * table.count
    durations = table.known_durations_ns.tolist()
    for kernel, row, duration_ns in zip(table.kernels(), rows, durations, strict=True):
        yield kernel, dict(zip(counters, row, strict=True)), duration_ns


def _traffic(kernel: str, sums: _Sums, options: TrafficOptions) -> KernelTraffic:
    means = sums.means
    read = _read(means, options)
    write = requests.write_transfer(means)
    duration = sums.mean_duration()
    read_rate, write_rate = _rate(read, duration), _rate(write, duration)
    dispatches = max(sums.counts.values(), default=0)
    return KernelTraffic(
        kernel=kernel,
        dispatches=dispatches,
        duration_ns=duration,
        hit_percent=requests.hit_percent(means),
        reads=requests.read_mix(means),
        read=read,
        write=write,
        read_gb_per_s=read_rate,
        write_gb_per_s=write_rate,
        peak_percent=_percent(read_rate, write_rate, _published(options)),
        over_fetch=_over_fetch(read, options),
        total_duration_ns=(duration or 0.0) * dispatches,
        uneven_counts=len(set(sums.counts.values())) > 1,
        measured_percent=_percent(read_rate, write_rate, options.measured_gb_per_s),
    )


def _read(means: requests.Values, options: TrafficOptions) -> Transfer | None:
    if options.ea_channels is not None:
        return requests.channel_transfer(means, options.ea_channels)
    return requests.read_transfer(means, options.chip)


def _rate(transfer: Transfer | None, duration_ns: float | None) -> float | None:
    """Bytes per ns are GB per s."""
    return transfer.size_bytes / duration_ns if transfer and duration_ns else None


def _published(options: TrafficOptions) -> float | None:
    peak = options.peak_gb_per_s
    if peak is None and options.chip is not None:
        peak = options.chip.product.memory_gb_per_s
    return peak


def _percent(read_rate: float | None, write_rate: float | None, peak: float | None) -> float | None:
    if read_rate is None or not peak:
        return None
    return 100 * (read_rate + (write_rate or 0.0)) / peak


def _over_fetch(read: Transfer | None, options: TrafficOptions) -> float | None:
    if read is None or not options.ideal_gb:
        return None
    return read.size_bytes / (options.ideal_gb * 1e9)


def _bytes(transfer: Transfer | None) -> float:
    return transfer.size_bytes if transfer else 0.0


def _counts_reads(name: str) -> bool:
    return "_RDREQ" in name or name == "FETCH_SIZE"


_LISTED = 5
_HBM = "HBMBw"


def chosen_dispatches(
    tables: Sequence[CounterTable], kernel: str = "", dispatches: Collection[int] = ()
) -> list[CounterTable]:
    """Dispatches of kernels whose name matches `kernel` somewhere, with one of these numbers."""
    names = kernels_of(tables)
    if not names:
        raise UsageError("these files hold no memory counters", hint=MEMORY_COUNTERS_HINT)
    wanted = set(filter(compiled(kernel).search, names)) if kernel else set(names)
    kept = [_chosen(table, wanted, dispatches) for table in tables]
    if not any(table.count for table in kept):
        listed = ", ".join(names[:_LISTED])
        raise UsageError("no dispatch passes the filters", hint=f"there are: {listed}")
    return kept


def kernels_of(tables: Sequence[CounterTable]) -> list[str]:
    """Names of the kernels that were dispatched, in the order of their first dispatch."""
    return list(dict.fromkeys(name for table in tables for name in table.kernels()))


def completed_options(options: TrafficOptions, tables: Sequence[CounterTable]) -> TrafficOptions:
    """The options with the chip, and the peak of the product, that the first of the files names."""
    measured = next((peak for table in tables if (peak := table.measured_peaks.get(_HBM))), None)
    options = replace(options, measured_gb_per_s=options.measured_gb_per_s or measured)
    if options.chip is not None:
        return options
    named = next((table for table in tables if table.chip), None)
    chip = find_chip(named.chip) if named else None
    peak = options.peak_gb_per_s
    if peak is None and named is not None and chip is not None:
        product = chip.product_named(named.product)
        peak = product.memory_gb_per_s if product else None
    return replace(options, chip=chip, peak_gb_per_s=peak)


def counters_of_trace(trace: Trace, path: str, wanted: Callable[[str], bool]) -> CounterTable:
    """The ops of a trace that have a counter whose name, without `_sum`, is wanted."""
    counters = trace.counters
    counters.load("op", "name", "value")
    codes = np.unique(counters["name"])
    columns: dict[str, Floats] = {}
    chosen = {
        code: text
        for code, text in zip(codes.tolist(), counters.string_table.decode(codes), strict=True)
        if (name := counter_name(text)) is not None and wanted(name.base)
    }
    rows = np.flatnonzero(np.isin(counters["name"], list(chosen)) & (counters["value"] >= 0))
    ids, places = np.unique(counters["op"][rows], return_inverse=True)
    for code, text in chosen.items():
        own = counters["name"][rows] == code
        sums = np.bincount(places[own], counters["value"][rows][own], minlength=len(ids))
        seen = np.bincount(places[own], minlength=len(ids))
        columns[text] = np.where(seen > 0, sums, np.nan)
    return _table_of_ops(trace, path, ids, columns)


def _table_of_ops(
    trace: Trace, path: str, ids: Integers, columns: dict[str, Floats]
) -> CounterTable:
    ops = trace.ops
    ops.load("id", "name", "start_ns", "end_ns", "gpu")
    rows = np.minimum(np.searchsorted(ops["id"], ids), max(len(ops["id"]) - 1, 0))
    is_known = ops["id"][rows] == ids if len(ops["id"]) else np.zeros(len(ids), dtype=np.bool_)
    rows = rows[is_known]
    names, codes = kernel_names_and_codes(ops.string_table.decode(ops["name"][rows]))
    return CounterTable(
        path,
        names,
        codes,
        ids[is_known],
        ops["gpu"][rows].astype(np.int64),
        (ops["end_ns"] - ops["start_ns"])[rows].astype(np.float64),
        {name: values[is_known] for name, values in columns.items()},
        system=_machine(trace),
        starts_ns=ops["start_ns"][rows],
    )


def _chosen(table: CounterTable, kernels: set[str], dispatches: Collection[int]) -> CounterTable:
    codes = [code for code, name in enumerate(table.kernel_names) if name in kernels]
    mask = np.isin(table.kernel_codes, codes)
    if dispatches:
        mask &= np.isin(table.dispatch_ids, list(dispatches))
    return table.rows(mask)


def _machine(trace: Trace) -> dict[str, str]:
    agents = zip(trace.agents.strings("chip"), trace.agents.strings("model"), strict=True)
    chip, model = next((each for each in agents if each[0]), ("", ""))
    return {"gpu_arch": chip, "gpu_model": model}
