"""Operators that run far below what the board could do, and the time that this costs."""

from __future__ import annotations

from collections.abc import Sequence

from wavescope.analyze.findings.attention_parts import attention_parts
from wavescope.analyze.findings.context import FindingContext
from wavescope.analyze.findings.kernel_time import WHERE, in_words, is_too_small, span_ns
from wavescope.analyze.quick_findings import evidence_sql
from wavescope.analyze.work import (
    Bound,
    GemmSizes,
    OperatorUse,
    WorkKind,
    uses_of_operators,
    uses_on_known_boards,
)
from wavescope.model.result import Finding, Severity
from wavescope.names.kernel_names import short_name
from wavescope.units import counted, duration_text

ID = "above-roofline"
_SHOWN = 3
_ALIGNED = 64
FUSIBLE_KINDS = (WorkKind.ELEMENTWISE.value, WorkKind.COPY.value, WorkKind.REDUCTION.value)
"""Kinds that go when neighbours are fused."""

_ADVICE = {
    WorkKind.CONVOLUTION: "try torch.channels_last, and let the library search: "
    "torch.backends.cudnn.benchmark = True",
    WorkKind.ATTENTION: "compare attention backends ({backends}), and check that head size and "
    "type are those that the fast kernels are made for",
    WorkKind.MOE: "tune the MoE kernel for this number of tokens and experts, and give each "
    "expert more tokens at a time",
    WorkKind.SOFTMAX: "fuse the softmax with its neighbours (fused attention, torch.compile)",
    WorkKind.NORMALIZATION: "use a fused normalization (with the residual's addition and the "
    "quantization in it), or torch.compile",
    WorkKind.ELEMENTWISE: "fuse it with its neighbours (torch.compile), and keep tensors "
    "contiguous: strided ones are read in pieces",
    WorkKind.COPY: "avoid the copy: keep one layout and one data type, or fuse it with its "
    "neighbours (torch.compile)",
    WorkKind.REDUCTION: "fuse it with its neighbours (torch.compile)",
    WorkKind.EMBEDDING: "look at the look-up kernel: rows are read in pieces",
}


def above_roofline(context: FindingContext) -> list[Finding]:
    """A finding for each kind of operator with much time above the roofline."""
    if is_too_small(context):
        return []
    by_kind: dict[WorkKind, list[OperatorUse]] = {}
    for use in _slow_uses(context):
        if use.work is not None:
            by_kind.setdefault(use.work.kind, []).append(use)
    span = span_ns(context)
    found = []
    for kind, uses in by_kind.items():
        gain = 100 * sum(use.above_roofline_ns or 0 for use in uses) / span
        if gain >= context.thresholds.above_roofline_percent:
            found.append(_finding(kind, uses, gain))
    return found


def _slow_uses(context: FindingContext) -> list[OperatorUse]:
    """Uses below the share of the peak that is told, most time above the roofline first.

    Short calls are left out, as their fixed cost hides their rate, and so are the parts of an
    attention that should be one kernel.
    """
    limits = context.thresholds
    if not uses_on_known_boards(context.trace):
        return []
    parts = context.trace.derived(attention_parts)
    found = context.trace.derived(uses_of_operators)
    of_attention = set(found.use_of_op[parts.product_rows].tolist())
    slow = [
        use
        for place, use in enumerate(found.uses)
        if use.limit is not None
        and use.above_roofline_ns is not None
        and use.limit.time_ns >= limits.above_roofline_least_ns
        and (use.percent_of_peak or 0) <= limits.above_roofline_peak_percent
        and place not in of_attention
        and not (parts.count and use.work and use.work.kind is WorkKind.SOFTMAX)
    ]
    return sorted(slow, key=lambda use: -(use.above_roofline_ns or 0))


def _finding(kind: WorkKind, uses: Sequence[OperatorUse], gain: float) -> Finding:
    worst = uses[0]
    assert worst.board is not None
    above_ns = sum(use.above_roofline_ns or 0 for use in uses)
    peak = f"{worst.board.name}'s {_peak_words(worst)} peak"
    return Finding(
        ID,
        Severity.WARNING,
        f"{_name(worst)} runs at {worst.percent_of_peak:.0f} % of {peak}; "
        f"{duration_text(worst.above_roofline_ns or 0)} above the roofline in total",
        in_words(_evidence(worst), *(_short_evidence(use) for use in uses[1:_SHOWN])),
        _advice(kind, worst),
        WHERE,
        gain_percent=gain,
        gain_basis="every such call at the published peak, which no kernel quite reaches; "
        f"{counted(len(uses), 'shape')} of {kind.value}, {duration_text(above_ns)} above the "
        "roofline; percent of the span of the GPUs",
        sql=evidence_sql.labelled_ops_sql(sorted({use.kernels[0] for use in uses[:_SHOWN]})),
        numbers={
            "kind": kind.value,
            "operator": worst.operator,
            "role": worst.role or None,
            "shape": worst.work.shape if worst.work else None,
            "percent_of_peak": worst.percent_of_peak,
            "above_roofline_ns": above_ns,
            "gpu_time_ns": sum(use.gpu_time_ns for use in uses),
            "board": worst.board.name,
        },
    )


def _peak_words(use: OperatorUse) -> str:
    return f"{use.data_type} matrix" if use.bound is Bound.COMPUTE else "memory"


def _name(use: OperatorUse) -> str:
    return f"{use.operator} ({use.role})" if use.role else use.operator


def _rate(use: OperatorUse) -> str:
    if use.bound is Bound.COMPUTE:
        return f"{use.tflops_per_s or 0:,.0f} TFLOP/s"
    return f"{use.tb_per_s or 0:.2f} TB/s"


def _evidence(use: OperatorUse) -> str:
    assert use.work is not None
    kernel = f" in {short_name(use.kernels[0])}" if use.kernels[0] else ""
    return (
        f"{use.work.shape}, {use.data_type}: {counted(use.calls, 'call')}, "
        f"{duration_text(use.gpu_time_ns)} at {_rate(use)}{kernel}"
    )


def _short_evidence(use: OperatorUse) -> str:
    assert use.work is not None
    return (
        f"{_name(use)} {use.work.shape}: {use.percent_of_peak:.0f} %, "
        f"{duration_text(use.above_roofline_ns or 0)} above"
    )


def _advice(kind: WorkKind, use: OperatorUse) -> str:
    gemm = use.work.gemm if use.work else None
    if gemm is None or kind is not WorkKind.GEMM:
        is_amd = use.board is not None and use.board.is_amd
        backends = "CK, AITER, Triton" if is_amd else "FlashAttention, cuDNN"
        return _ADVICE[kind].format(backends=backends)
    if use.bound is Bound.COMPUTE:
        return _tuning_advice(use, gemm)
    if gemm.batch == 1 and gemm.m < min(gemm.n, gemm.k):
        return (
            "with so few rows reading the weights bounds it: more rows (tokens) per call, or "
            "narrower weights (FP8, 4 bits)"
        )
    return "memory bounds it: keep its operands in a narrower type, or fuse what is around it"


def _tuning_advice(use: OperatorUse, gemm: GemmSizes) -> str:
    is_amd = use.board is not None and use.board.is_amd
    tuned = (
        "tune it (PYTORCH_TUNABLEOP_ENABLED=1, or hipBLASLt's own tuning)"
        if is_amd
        else "try torch.compile(mode='max-autotune') or a newer cuBLAS"
    )
    odd = gemm.n % _ALIGNED or gemm.k % _ALIGNED
    padded = f", and pad N and K to multiples of {_ALIGNED}" if odd else ""
    look = "; then look at clocks and at one kernel (`wavescope capture`)" if is_amd else ""
    return f"{tuned}{padded}{look}"
