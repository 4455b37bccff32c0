"""Memory traffic as a result: a row per kernel, the decision tree as findings."""

from __future__ import annotations

from wavescope.analyze.traffic.decisions import Conclusion, Verdict, conclude
from wavescope.analyze.traffic.kernel_traffic import (
    KernelTraffic,
    TrafficOptions,
    each_dispatch,
    kernel_traffic,
)
from wavescope.analyze.traffic.requests import Transfer
from wavescope.model.dispatch_counters import DispatchCounters
from wavescope.model.result import (
    Finding,
    Result,
    ResultColumn,
    ResultTable,
    Severity,
    Unit,
    Value,
)
from wavescope.names.kernel_names import short_name

_FINDING_KERNELS = 5
_METRICS = (
    ResultColumn("duration_ns", "Mean", Unit.NS, "mean duration of the counted dispatches"),
    ResultColumn("l2_hit_percent", "L2 hit", Unit.PERCENT, "hits / (hits + misses)"),
    ResultColumn("small_read_percent", "32 B", Unit.PERCENT, "reads of 32 B of all reads"),
    ResultColumn("large_read_percent", "128 B", Unit.PERCENT, "reads of 128 B of all reads"),
    ResultColumn("read_bytes", "Read", Unit.BYTES, "from memory, per dispatch"),
    ResultColumn("write_bytes", "Written", Unit.BYTES, "to memory, per dispatch"),
    ResultColumn("read_gb_per_s", "Read", Unit.GB_PER_S),
    ResultColumn("write_gb_per_s", "Written", Unit.GB_PER_S),
    ResultColumn("peak_percent", "Of peak", Unit.PERCENT, "reads and writes of the peak"),
    ResultColumn("over_fetch", "Over-fetch", Unit.NONE, "bytes read / ideal bytes"),
)
_KERNEL_COLUMNS = (
    ResultColumn("kernel", "Kernel", Unit.NAME),
    ResultColumn("dispatches", "Dispatches", Unit.COUNT, "counted runs of the kernel"),
    *_METRICS,
    ResultColumn("verdict", "Verdict", Unit.NAME, "what the decision tree comes to"),
    ResultColumn("formula", "Bytes read by", Unit.NAME, "which formula gave the bytes"),
    ResultColumn("full_name", "Whole name", Unit.NAME),
)
_DISPATCH_COLUMNS = (
    ResultColumn("kernel", "Kernel", Unit.NAME),
    ResultColumn("dispatch", "Dispatch", Unit.NAME),
    ResultColumn("file", "File", Unit.NAME),
    *_METRICS,
)


def traffic_result(counters: DispatchCounters, options: TrafficOptions) -> Result:
    """The tables `kernels` and `dispatches`, one finding for each of the slowest kernels."""
    kernels = kernel_traffic(counters, options)
    conclusions = [conclude(each) for each in kernels]
    rows = zip(kernels, conclusions, strict=True)
    result = Result(
        "Memory traffic",
        [
            ResultTable(
                "kernels", "Kernels", _KERNEL_COLUMNS, [_kernel_row(*each) for each in rows]
            ),
            _dispatch_table(counters, options),
        ],
        facts=_facts(counters, options, kernels),
    )
    decided = [
        (traffic, conclusion)
        for traffic, conclusion in zip(kernels, conclusions, strict=True)
        if conclusion.answers
    ]
    result.findings += [_finding(*each) for each in decided[:_FINDING_KERNELS]]
    result.findings += _caveats(kernels, options)
    return result


def _facts(
    counters: DispatchCounters, options: TrafficOptions, kernels: list[KernelTraffic]
) -> dict[str, Value]:
    peak = options.peak_gb_per_s or (options.chip.product.memory_gb_per_s if options.chip else None)
    formulas = sorted({each.read.formula.value for each in kernels if each.read})
    facts: dict[str, Value] = {
        "file_count": len(counters.files),
        "kernel_name_count": len(kernels),
        "chip": options.chip.name if options.chip else "unknown",
        "peak_gb_per_s": peak,
        "formula": "; ".join(formulas) or "none: no read counters",
    }
    if options.ideal_gb:
        facts["ideal_gb_per_dispatch"] = options.ideal_gb
    if counters.notes:
        facts["notes"] = "; ".join(counters.notes)
    return facts


def _kernel_row(traffic: KernelTraffic, conclusion: Conclusion) -> tuple[Value, ...]:
    return (
        short_name(traffic.kernel),
        traffic.dispatches,
        *_metrics(traffic),
        conclusion.verdict.value,
        traffic.read.formula.value if traffic.read else None,
        traffic.kernel,
    )


def _dispatch_table(counters: DispatchCounters, options: TrafficOptions) -> ResultTable:
    table = ResultTable("dispatches", "Dispatches", _DISPATCH_COLUMNS)
    for dispatch, traffic in each_dispatch(counters.dispatches, options):
        file = counters.files[dispatch.file].rpartition("/")[2]
        row = (short_name(dispatch.kernel), dispatch.dispatch, file, *_metrics(traffic))
        table.rows.append(row)
    return table


def _metrics(traffic: KernelTraffic) -> tuple[Value, ...]:
    return (
        None if traffic.duration_ns is None else round(traffic.duration_ns),
        traffic.hit_percent,
        traffic.small_read_percent,
        traffic.large_read_percent,
        _size(traffic.read),
        _size(traffic.write),
        traffic.read_gb_per_s,
        traffic.write_gb_per_s,
        traffic.peak_percent,
        traffic.over_fetch,
    )


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
