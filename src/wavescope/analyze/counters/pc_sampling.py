"""Panel 21: where the program counters of waves were seen, and why waves stalled there."""

from __future__ import annotations

import enum

from wavescope.model.counters import CounterTable, PcSample
from wavescope.model.result import ResultColumn, ResultTable, Unit, Value

_COLUMNS = (
    ResultColumn("id", "id", Unit.NAME),
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


def pc_samples(table: CounterTable, order: SampleOrder = SampleOrder.COUNT) -> ResultTable:
    """One row for each instruction that was seen."""
    result = ResultTable("21.1", "21.1 PC Sampling", _COLUMNS)
    samples = list(table.pc_samples)
    total = sum(sample.sample_count for sample in samples)
    if order is SampleOrder.COUNT:
        samples.sort(key=lambda sample: -sample.sample_count)
    result.rows = [_row(at, sample, total) for at, sample in enumerate(samples)]
    return result


def _row(at: int, sample: PcSample, total: int) -> tuple[Value, ...]:
    reasons = ", ".join(f"{name} {count}" for name, count in sample.stall_reasons)
    return (
        f"21.1.{at}",
        sample.source or "unknown",
        sample.instruction,
        sample.sample_count,
        100 * sample.sample_count / total,
        sample.issued_count,
        sample.stalled_count,
        reasons or None,
    )
