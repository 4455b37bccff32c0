"""Memory traffic as a result: a row per kernel, the decision tree as findings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from wavescope.analyze.traffic.decisions import Conclusion, Verdict, conclude
from wavescope.analyze.traffic.kernels import (
    KernelTraffic,
    TrafficOptions,
    completed_options,
    each_dispatch,
    kernel_traffic,
)
from wavescope.analyze.traffic.requests import Transfer
from wavescope.model.counters import CounterTable
from wavescope.model.result import (
    ColumnOf,
    Finding,
    Result,
    ResultColumn,
    Severity,
    Unit,
    Value,
    table_of,
)
from wavescope.names.kernel_names import short_name

_FINDING_KERNELS = 5


class _Row(NamedTuple):
    """A kernel or a single dispatch of it."""

    traffic: KernelTraffic
    conclusion: Conclusion | None = None
    dispatch: int = 0
    file: str = ""


_KERNEL: ColumnOf[_Row] = ResultColumn("kernel", "Kernel", Unit.NAME).of(
    lambda row: short_name(row.traffic.kernel)
)
_METRICS: tuple[ColumnOf[_Row], ...] = (
    ResultColumn("duration_ns", "Mean", Unit.NS, "mean duration of the counted dispatches").of(
        lambda row: None if row.traffic.duration_ns is None else round(row.traffic.duration_ns)
    ),
    ResultColumn("l2_hit_percent", "L2 hit", Unit.PERCENT, "hits / (hits + misses)").of(
        lambda row: row.traffic.hit_percent
    ),
    ResultColumn("small_read_percent", "32 B", Unit.PERCENT, "reads of 32 B of all reads").of(
        lambda row: row.traffic.small_read_percent
    ),
    ResultColumn("large_read_percent", "128 B", Unit.PERCENT, "reads of 128 B of all reads").of(
        lambda row: row.traffic.large_read_percent
    ),
    ResultColumn("read_bytes", "Read", Unit.BYTES, "from memory, per dispatch").of(
        lambda row: _size(row.traffic.read)
    ),
    ResultColumn("write_bytes", "Written", Unit.BYTES, "to memory, per dispatch").of(
        lambda row: _size(row.traffic.write)
    ),
    ResultColumn("read_gb_per_s", "Read", Unit.GB_PER_S).of(lambda row: row.traffic.read_gb_per_s),
    ResultColumn("write_gb_per_s", "Written", Unit.GB_PER_S).of(
        lambda row: row.traffic.write_gb_per_s
    ),
    ResultColumn("peak_percent", "Of peak", Unit.PERCENT, "reads and writes of the peak").of(
        lambda row: row.traffic.peak_percent
    ),
    ResultColumn("over_fetch", "Over-fetch", Unit.NONE, "bytes read / ideal bytes").of(
        lambda row: row.traffic.over_fetch
    ),
)
_KERNEL_COLUMNS: tuple[ColumnOf[_Row], ...] = (
    _KERNEL,
    ResultColumn("dispatches", "Dispatches", Unit.COUNT, "counted runs of the kernel").of(
        lambda row: row.traffic.dispatches
    ),
    *_METRICS,
    ResultColumn("verdict", "Verdict", Unit.NAME, "what the decision tree comes to").of(
        lambda row: row.conclusion.verdict.value if row.conclusion else None
    ),
    ResultColumn("formula", "Bytes read by", Unit.NAME, "which formula gave the bytes").of(
        lambda row: row.traffic.read.formula.value if row.traffic.read else None
    ),
    ResultColumn("full_name", "Whole name", Unit.NAME).of(lambda row: row.traffic.kernel),
)
_DISPATCH_COLUMNS: tuple[ColumnOf[_Row], ...] = (
    _KERNEL,
    ResultColumn("dispatch", "Dispatch", Unit.NAME).of(lambda row: str(row.dispatch)),
    ResultColumn("file", "File", Unit.NAME).of(lambda row: row.file),
    *_METRICS,
)


def traffic_result(tables: Sequence[CounterTable], options: TrafficOptions) -> Result:
    """The tables `kernels` and `dispatches`, one finding for each of the slowest kernels."""
    options = completed_options(options, tables)
    kernels = [_Row(each, conclude(each)) for each in kernel_traffic(tables, options)]
    dispatches = (
        _Row(traffic, None, number, table.path.rpartition("/")[2])
        for table in tables
        for number, traffic in zip(
            table.dispatch_ids.tolist(), each_dispatch(table, options), strict=True
        )
    )
    traffics = [row.traffic for row in kernels]
    decided = [
        (row.traffic, row.conclusion)
        for row in kernels
        if row.conclusion is not None and row.conclusion.answers
    ]
    return Result(
        "Memory traffic",
        [
            table_of("kernels", "Kernels", _KERNEL_COLUMNS, kernels),
            table_of("dispatches", "Dispatches", _DISPATCH_COLUMNS, dispatches),
        ],
        [*(_finding(*each) for each in decided[:_FINDING_KERNELS]), *_caveats(traffics, options)],
        _facts(tables, options, traffics),
    )


def _facts(
    tables: Sequence[CounterTable], options: TrafficOptions, kernels: list[KernelTraffic]
) -> dict[str, Value]:
    peak = options.peak_gb_per_s or (options.chip.product.memory_gb_per_s if options.chip else None)
    formulas = sorted({each.read.formula.value for each in kernels if each.read})
    facts: dict[str, Value] = {
        "file_count": len(tables),
        "kernel_name_count": len(kernels),
        "chip": options.chip.name if options.chip else "unknown",
        "peak_gb_per_s": peak,
        "formula": "; ".join(formulas) or "none: no read counters",
    }
    if options.ideal_gb:
        facts["ideal_gb_per_dispatch"] = options.ideal_gb
    notes = [sentence for table in tables for sentence in table.notes.sentences()]
    if notes:
        facts["notes"] = "; ".join(notes)
    return facts


def _size(transfer: Transfer | None) -> int | None:
    return None if transfer is None else round(transfer.size_bytes)


def _finding(traffic: KernelTraffic, conclusion: Conclusion) -> Finding:
    is_fault = conclusion.verdict is Verdict.WASTEFUL
    return Finding(
        f"traffic-{conclusion.verdict.value.replace(' ', '-')}",
        Severity.WARNING if is_fault else Severity.INFO,
        f"{short_name(traffic.kernel)}: {conclusion.verdict.value}",
        "; ".join(answer.words for answer in conclusion.answers),
        conclusion.words,
        where=short_name(traffic.kernel),
        numbers={
            "kernel": traffic.kernel,
            "l2_hit_percent": traffic.hit_percent,
            "small_read_percent": traffic.small_read_percent,
            "over_fetch": traffic.over_fetch,
            "peak_percent": traffic.peak_percent,
            "read_bytes": _size(traffic.read),
        },
    )


def _caveats(kernels: list[KernelTraffic], options: TrafficOptions) -> list[Finding]:
    """What keeps the numbers from being exact, once for all kernels."""
    caveats = sorted({each.read.caveat for each in kernels if each.read and each.read.caveat})
    found = [
        Finding("traffic-caveat", Severity.WARNING, "the bytes read are not exact", caveat)
        for caveat in caveats
    ]
    if any(each.uneven_counts for each in kernels):
        found.append(
            Finding(
                "traffic-uneven",
                Severity.INFO,
                "counters come from different numbers of dispatches",
                "means per dispatch are compared; they fit together if the dispatches are alike",
                "collect all counters on the same dispatches, at most four TCC counters per pass",
            )
        )
    if options.chip is None and options.peak_gb_per_s is None:
        found.append(
            Finding(
                "traffic-no-peak",
                Severity.INFO,
                "the share of the peak bandwidth is unknown",
                "the files do not say which chip this is",
                "name it with --arch, or the bandwidth with --peak-gbps",
            )
        )
    if kernels and all(each.duration_ns is None for each in kernels):
        found.append(
            Finding(
                "traffic-no-times",
                Severity.WARNING,
                "no bandwidth: the files have no usable times",
                "start and end of all dispatches are missing or equal",
                "use a CSV as the profiler wrote it, not one that a spreadsheet has saved",
            )
        )
    return found
