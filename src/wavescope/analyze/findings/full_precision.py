"""Products of 32-bit numbers on a board whose narrower products are many times faster."""

from __future__ import annotations

from collections.abc import Sequence

from wavescope.analyze.findings.context import FindingContext
from wavescope.analyze.findings.kernel_time import (
    WHERE,
    is_too_small,
    percent_of_gpu_time,
    span_ns,
)
from wavescope.analyze.quick_findings import evidence_sql
from wavescope.analyze.work import OperatorUse, uses_on_known_boards
from wavescope.model.chips.board_table import Board
from wavescope.model.result import Finding, Severity
from wavescope.names.kernel_names import short_name
from wavescope.units import counted, duration_text

ID = "full-precision-products"
_FULL = "fp32"
_NARROWER = ("bf16", "fp16")
_SHORT = "tf32"
_LEAST_RATIO = 2.0
_SHOWN = 3


def full_precision(context: FindingContext) -> list[Finding]:
    """One finding for the trace, or none."""
    if is_too_small(context):
        return []
    uses = [
        use
        for use in uses_on_known_boards(context.trace)
        if use.data_type == _FULL
        and use.work is not None
        and use.work.kind.is_matrix
        and use.board is not None
        and _faster_type(use.board) is not None
    ]
    gain = 100 * sum(map(_gain_ns, uses)) / span_ns(context) if uses else 0.0
    if gain < context.thresholds.full_precision_percent:
        return []
    return [_finding(context, uses, gain)]


def _faster_type(board: Board) -> str | None:
    """The type for products that programs can switch to, if it is much faster on the board."""
    full = board.tflops.get(_FULL)
    for name in (_SHORT, *_NARROWER):
        peak = board.tflops.get(name)
        if full and peak and peak >= _LEAST_RATIO * full:
            return name
    return None


def _gain_ns(use: OperatorUse) -> float:
    """What all calls take beyond the time in the faster type; the bytes of TF32 stay the same."""
    assert use.board is not None and use.work is not None
    faster = _faster_type(use.board)
    assert faster is not None
    narrowed = 1 if faster == _SHORT else 2
    at_best_ns = max(
        use.work.flops / (use.board.tflops[faster] * 1e3),
        use.work.bytes / narrowed / use.board.memory_gb_per_s,
    )
    return max(0.0, use.gpu_time_ns - use.calls * at_best_ns)


def _finding(context: FindingContext, uses: Sequence[OperatorUse], gain: float) -> Finding:
    most = uses[0]
    assert most.board is not None and most.work is not None
    faster = _faster_type(most.board)
    assert faster is not None
    ratio = most.board.tflops[faster] / most.board.tflops[_FULL]
    total_ns = sum(use.gpu_time_ns for use in uses)
    share = percent_of_gpu_time(context, total_ns)
    how = (
        "allow TF32 (torch.set_float32_matmul_precision('high')), or use torch.autocast"
        if faster == _SHORT
        else "use mixed precision (torch.autocast)"
    )
    return Finding(
        ID,
        Severity.WARNING,
        f"Products of 32-bit numbers take {share:.1f} % of GPU time; {most.board.name} does "
        f"{faster.upper()} ones {ratio:.0f} times as fast",
        f"{duration_text(total_ns)} in {counted(sum(use.calls for use in uses), 'call')}; most in "
        f"{most.operator} {most.work.shape} ({duration_text(most.gpu_time_ns)}, "
        f"{short_name(most.kernels[0])})",
        f"{how} where the result stays accurate enough",
        WHERE,
        gain_percent=gain,
        gain_basis=f"all of them at the published {faster.upper()} peak or the memory's; percent "
        "of the span of the GPUs",
        sql=evidence_sql.labelled_ops_sql(sorted({use.kernels[0] for use in uses[:_SHOWN]})),
        numbers={
            "gpu_time_ns": total_ns,
            "gpu_time_percent": share,
            "faster_type": faster,
            "name": most.kernels[0],
            "board": most.board.name,
        },
    )
