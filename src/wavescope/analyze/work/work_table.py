"""Table `work`: what operators had to do, how fast that was, and how near to the peak."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from wavescope.analyze.ops.coverage import recorded, sampled_facts, sampled_finding
from wavescope.analyze.work.uses import OperatorUse, OperatorUses, uses_of_operators
from wavescope.model.result import (
    ColumnOf,
    Finding,
    Result,
    ResultColumn,
    ResultTable,
    Severity,
    Unit,
    Value,
    table_of,
)
from wavescope.model.trace import Trace
from wavescope.names.kernel_names import short_name
from wavescope.units import percent_of

_ABOVE_PEAK = "above the peak: cached data, or not the work that the arguments say"
_NO_WORK = "arguments not recorded, or not enough to tell the work"
_NO_BOARD = "peaks of this GPU unknown"
_NO_TYPE = "no peak for this data type"
_RATE_DECIMALS = 4


def _note(use: OperatorUse) -> str | None:
    if use.work is None:
        return _NO_WORK
    if use.board is None:
        return _NO_BOARD
    if use.limit is None:
        return _NO_TYPE
    return None if use.is_believable else _ABOVE_PEAK


def _rounded(rate: float | None) -> float | None:
    """A rate without digits that nobody reads: those of tiny operators are 0."""
    return None if rate is None else round(rate, _RATE_DECIMALS)


def _columns(kernel_time_ns: int) -> tuple[ColumnOf[OperatorUse], ...]:
    # Where there is no room, a table of text leaves out its last columns first.
    return (
        ResultColumn("operator", "Operator", Unit.NAME, "framework operator").of(
            lambda use: use.operator
        ),
        ResultColumn(
            "role", "Role", Unit.NONE, "what it is for in a layer, where modules or sizes tell"
        ).of(lambda use: use.role or None),
        ResultColumn(
            "shape", "Shape", Unit.NAME, "sizes that its work follows from; products: MxNxK"
        ).of(lambda use: use.work.shape if use.work else None),
        ResultColumn("data_type", "Type", Unit.NONE, "data type of the arithmetic").of(
            lambda use: use.data_type or None
        ),
        ResultColumn("gpu_time_ns", "GPU time", Unit.NS, "of the kernels that they launched").of(
            lambda use: use.gpu_time_ns
        ),
        ResultColumn("bound", "Bound", Unit.NONE, "what the roofline says limits it").of(
            lambda use: use.bound.value if use.bound else None
        ),
        ResultColumn(
            "percent_of_peak", "% of peak", Unit.PERCENT, "shortest possible time / actual time"
        ).of(lambda use: use.percent_of_peak),
        ResultColumn(
            "above_roofline_ns", "Above roofline", Unit.NS, "time beyond the shortest possible"
        ).of(lambda use: use.above_roofline_ns),
        ResultColumn("tflops_per_s", "TFLOP/s", Unit.NONE, "operations / GPU time").of(
            lambda use: _rounded(use.tflops_per_s)
        ),
        ResultColumn("calls", "Calls", Unit.COUNT, "calls that launched kernels").of(
            lambda use: use.calls
        ),
        ResultColumn("percent", "Share", Unit.PERCENT, "of the time of all kernels").of(
            lambda use: percent_of(use.gpu_time_ns, kernel_time_ns)
        ),
        ResultColumn("tb_per_s", "TB/s", Unit.NONE, "bytes / GPU time").of(
            lambda use: _rounded(use.tb_per_s)
        ),
        ResultColumn("flops_per_byte", "FLOP/B", Unit.NONE, "arithmetic intensity").of(
            lambda use: _rounded(use.flops_per_byte)
        ),
        ResultColumn("flops", "FLOP", Unit.NONE, "operations of all calls, by formula").of(
            lambda use: use.flops
        ),
        ResultColumn(
            "bytes", "Bytes", Unit.BYTES, "inputs read once and outputs written once, all calls"
        ).of(lambda use: use.bytes),
        ResultColumn("kernel", "Kernel", Unit.NAME, "the one with most of the time").of(
            lambda use: short_name(use.kernels[0]) if use.kernels[0] else None
        ),
        ResultColumn("note", "Note", Unit.NAME, "why figures are missing or not to be believed").of(
            _note
        ),
    )


def work_table(found: OperatorUses, uses: Iterable[OperatorUse]) -> ResultTable:
    """One row for each use."""
    return table_of(
        "work", "Work of operators and its roofline", _columns(found.kernel_time_ns), uses
    )


def work_result(
    trace: Trace, kernel: re.Pattern[str] | None = None, captures: Sequence[Trace] = ()
) -> Result:
    """Table `work` of a trace, with how much of its kernels' time has figures.

    `kernel` keeps the uses with a kernel that it matches: their time stays whole. `captures` are
    traces in which graphs were captured that this one replays.
    """
    found = uses_of_operators(trace, captures) if captures else trace.derived(uses_of_operators)
    uses = [use for use in found.uses if kernel is None or any(map(kernel.search, use.kernels))]
    boards = sorted({use.board.name for use in found.uses if use.board is not None})
    facts: dict[str, Value] = {
        "path": trace.path,
        "boards": ", ".join(boards) or "unknown",
        "kernel_time_ns": found.kernel_time_ns,
        "modelled_time_ns": found.modelled_time_ns,
        "modelled_percent": percent_of(found.modelled_time_ns, found.kernel_time_ns),
    }
    if found.replayed_time_ns:
        facts["replayed_ns"] = found.replayed_time_ns
        facts["joined_graph_replay_ns"] = found.joined_time_ns
    return Result(
        "Work", [work_table(found, uses)], _not_told(trace), {**facts, **sampled_facts(trace)}
    )


def _not_told(trace: Trace) -> list[Finding]:
    """Why there are no figures for a sampled trace."""
    if recorded(trace) is None:
        return []
    return [
        Finding(
            "work-unknown",
            Severity.INFO,
            "the work of operators is not told for a sampled trace",
            "slices cut operators: with some of its kernels unseen one would look faster than it "
            "is",
            "record with --mode standard",
        ),
        *sampled_finding(trace),
    ]
