"""Attention in parts that writes its scores to memory, where a fused kernel keeps them inside."""

from __future__ import annotations

import numpy as np

from wavescope.analyze.findings.attention_parts import AttentionParts, attention_parts
from wavescope.analyze.findings.context import FindingContext
from wavescope.analyze.findings.kernel_time import (
    WHERE,
    in_words,
    is_too_small,
    leading_kernels,
    leading_sql,
    leading_words,
    percent_of_gpu_time,
    span_ns,
)
from wavescope.analyze.work import uses_of_operators
from wavescope.model.result import Finding, Severity
from wavescope.units import count_text, duration_text

ID = "unfused-attention"
_AT_PEAK = "all of it in a fused kernel that does both products at the board's published peak"
_WITHOUT_SOFTMAX = "softmax and what is between the products gone, the products as fast as now"


def unfused_attention(context: FindingContext) -> list[Finding]:
    """One finding for the trace, or none."""
    if is_too_small(context):
        return []
    parts = context.trace.derived(attention_parts)
    if not parts.count:
        return []
    shortest_ns = _fused_at_best_ns(context, parts)
    gain_ns = parts.time_ns - (parts.products_ns if shortest_ns is None else shortest_ns)
    gain = 100 * gain_ns / span_ns(context)
    if gain < context.thresholds.unfused_attention_percent:
        return []
    return [_finding(context, parts, gain, _WITHOUT_SOFTMAX if shortest_ns is None else _AT_PEAK)]


def _fused_at_best_ns(context: FindingContext, parts: AttentionParts) -> float | None:
    """What both products of all attentions take at the peak; None where that is not known."""
    found = context.trace.derived(uses_of_operators)
    calls, firsts = np.unique(found.call_of_op[parts.product_rows], return_index=True)
    if not len(calls) or calls[0] < 0:
        return None
    total_ns = 0.0
    for place in found.use_of_op[parts.product_rows[firsts]].tolist():
        use = found.uses[place]
        peak = use.board.tflops.get(use.data_type) if use.board else None
        if use.work is None or peak is None:
            return None
        total_ns += use.work.flops / (peak * 1e3)
    return total_ns


def _finding(context: FindingContext, parts: AttentionParts, gain: float, basis: str) -> Finding:
    share = percent_of_gpu_time(context, parts.time_ns)
    leading = leading_kernels(context, np.flatnonzero(parts.is_part))
    assert parts.longest is not None
    first, last = parts.longest
    return Finding(
        ID,
        Severity.WARNING,
        f"Attention runs as separate products and softmax: {share:.1f} % of GPU time",
        in_words(
            f"{count_text(parts.count)} times a batched product, softmax and a second product: "
            f"{duration_text(parts.products_ns)} in products, "
            f"{duration_text(parts.softmax_ns)} in softmax, "
            f"{duration_text(parts.between_ns)} in what is between",
            leading_words(leading),
        ),
        "use fused attention, which keeps the scores on the chip: "
        "torch.nn.functional.scaled_dot_product_attention, attn_implementation='sdpa' or "
        "'flash_attention_2' in transformers",
        WHERE,
        gain_percent=gain,
        gain_basis=f"{basis}; percent of the span of the GPUs",
        sql=leading_sql(leading),
        numbers={
            "attention_count": parts.count,
            "products_ns": parts.products_ns,
            "softmax_ns": parts.softmax_ns,
            "between_ns": parts.between_ns,
            "gpu_time_percent": share,
            "first_op": context.op_id(first),
            "last_op": context.op_id(last),
        },
    )
