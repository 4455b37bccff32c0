"""Panel 21: where the program counters of waves were seen, and why waves stalled there."""

from __future__ import annotations

import enum

from wavescope.model.counters import CounterTable, PcSample
from wavescope.model.result import ResultColumn, ResultTable, Unit, Value

_COLUMNS = (
    ResultColumn("id", "id", Unit.NAME),
    ResultColumn("kernel", "kernel", Unit.NAME, "where the samples tell"),
    ResultColumn("offset", "offset", Unit.NONE, "of the instruction in its code, in bytes"),
    ResultColumn("source", "source", Unit.NAME, "file and line, where known"),
    ResultColumn("instruction", "instruction", Unit.NAME),
    ResultColumn("count", "samples", Unit.COUNT),
    ResultColumn("percent", "share", Unit.PERCENT, "of all samples"),
    ResultColumn("issued", "issued", Unit.COUNT, "samples in which the instruction was issued"),
    ResultColumn("stalled", "stalled", Unit.COUNT, "samples in which the wave waited"),
    ResultColumn("reasons", "stall reasons", Unit.NONE),
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
    result = ResultTable("21.1", "21.1 PC Sampling", _COLUMNS)
    samples = [
        s for s in table.pc_samples if kernels is None or not s.kernel or s.kernel in kernels
    ]
    total = sum(sample.sample_count for sample in samples)
    if order is SampleOrder.COUNT:
        samples.sort(key=lambda sample: -sample.sample_count)
    else:
        samples.sort(key=lambda sample: (sample.kernel, sample.offset or 0))
    result.rows = [_row(at, sample, total) for at, sample in enumerate(samples)]
    return result


def _row(at: int, sample: PcSample, total: int) -> tuple[Value, ...]:
    reasons = ", ".join(f"{name} {count}" for name, count in sample.stall_reasons)
    return (
        f"21.1.{at}",
        sample.kernel or None,
        sample.offset,
        sample.source or "unknown",
        sample.instruction,
        sample.sample_count,
        100 * sample.sample_count / total,
        sample.issued_count,
        sample.stalled_count,
        reasons or None,
    )
