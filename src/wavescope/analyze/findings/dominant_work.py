"""The kind of work that most of the kernel time goes to, where no other finding tells of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from wavescope.analyze.findings import (
    above_roofline,
    copy_storm,
    full_precision,
    tiny_kernels,
    unfused_elementwise,
)
from wavescope.analyze.findings.attention_parts import attention_parts
from wavescope.analyze.findings.context import FindingContext
from wavescope.analyze.findings.kernel_time import (
    WHERE,
    has_amd_gpus,
    in_words,
    is_too_small,
    leading_kernels,
    leading_sql,
    leading_words,
    percent_of_gpu_time,
)
from wavescope.analyze.ops.op_labels import op_categories
from wavescope.analyze.work import OperatorUse, WorkKind, uses_of_operators
from wavescope.arrays.groups import group_sums
from wavescope.model.op_kinds import OpKind
from wavescope.model.result import Finding, Severity
from wavescope.names.kernel_names import (
    ATTENTION,
    COMMUNICATION,
    COPY_FILL,
    ELEMENTWISE,
    GEMM,
    MOE,
    NORMALIZATION,
    OTHER,
)
from wavescope.units import count_text, duration_text

ID = "dominant-work"
_SHOWN = 3
_ALL_TOLD_BY = {
    ELEMENTWISE: (unfused_elementwise.ID, tiny_kernels.ID),
    COPY_FILL: (unfused_elementwise.ID, copy_storm.ID),
    GEMM: (full_precision.ID,),
}
"""Findings that are about a category whatever they say."""
_CONVOLUTION = WorkKind.CONVOLUTION.value
_SOFTMAX = WorkKind.SOFTMAX.value
_KINDS = {
    GEMM: (WorkKind.GEMM,),
    _CONVOLUTION: (WorkKind.CONVOLUTION,),
    _SOFTMAX: (WorkKind.SOFTMAX,),
    ATTENTION: (WorkKind.ATTENTION,),
    MOE: (WorkKind.MOE,),
    NORMALIZATION: (WorkKind.NORMALIZATION,),
    ELEMENTWISE: (WorkKind.ELEMENTWISE,),
    COPY_FILL: (WorkKind.COPY,),
}
_ADVICE = {
    MOE: "look at the tokens that each expert gets: few mean that reading weights bounds it "
    "(larger batches, expert parallelism, narrower weights), many that the kernel should be "
    "tuned for this shape",
    GEMM: "with few rows reading weights bounds products (larger batches, narrower weights help), "
    "with many the matrix units do (tuning, a narrower type or better sizes help)",
    ATTENTION: "compare attention backends, and look at the lengths: long contexts need a kernel "
    "that splits them over the chip, many heads of one key need one that shares it",
    _CONVOLUTION: "try torch.channels_last and a 16-bit type, and let the library search its "
    "algorithms (torch.backends.cudnn.benchmark = True)",
    _SOFTMAX: "fuse the softmax with what is around it: fused attention, torch.compile, a fused "
    "loss",
    NORMALIZATION: "fuse normalizations with the additions and quantizations around them",
    ELEMENTWISE: "fuse elementwise kernels with their neighbours (torch.compile)",
    COPY_FILL: "find what needs the copies: casts, layouts and padding can often be avoided",
}
_OTHER_ADVICE = "look at its largest kernel first"
_LOOK_CLOSER = "`wavescope capture` shows where a kernel stalls"
_RECORD_SHAPES = (
    "with recorded shapes (torch.profiler.profile(record_shapes=True)) `wavescope work` shows how "
    "near to the peak they run"
)


def dominant_work(context: FindingContext, told: Sequence[Finding]) -> list[Finding]:
    """One finding, or none where the largest category is small or what `told` is about."""
    if is_too_small(context):
        return []
    trace = context.trace
    found = trace.derived(op_categories)
    # Parts of an attention belong together, whatever each of them is.
    attentions = trace.derived(attention_parts)
    chosen = trace.op_kind == OpKind.KERNEL
    if attentions.count:
        chosen &= ~attentions.is_part
    codes, times = found.codes, trace.op_length_ns
    if not chosen.all():
        codes, times = codes[chosen], times[chosen]
    totals = group_sums(codes, times, len(found.labels))
    largest = int(np.argmax(totals))
    category = found.labels[largest]
    share = percent_of_gpu_time(context, totals[largest])
    is_dominant = share >= context.thresholds.dominant_percent and category != OTHER
    if not is_dominant or _is_told(category, told):
        return []
    rows = np.flatnonzero(chosen & (found.codes == largest))
    return [_finding(context, category, rows, totals[largest])]


def _is_told(category: str, told: Iterable[Finding]) -> bool:
    kinds = {kind.value for kind in _KINDS.get(category, ())}
    return category == COMMUNICATION or any(
        finding.id in _ALL_TOLD_BY.get(category, ())
        or (finding.id == above_roofline.ID and finding.numbers.get("kind") in kinds)
        for finding in told
    )


def _finding(
    context: FindingContext, category: str, rows: npt.NDArray[np.intp], total_ns: int
) -> Finding:
    share = percent_of_gpu_time(context, total_ns)
    leading = leading_kernels(context, rows)
    uses = context.trace.derived(uses_of_operators)
    lacks_shapes = bool(uses.uses) and not uses.modelled
    advice = [
        _ADVICE.get(category, _OTHER_ADVICE),
        _RECORD_SHAPES if lacks_shapes else "",
        _LOOK_CLOSER if has_amd_gpus(context) else "",
    ]
    return Finding(
        ID,
        Severity.INFO,
        f"{category[0].upper()}{category[1:]} kernels take {share:.1f} % of GPU time",
        in_words(
            f"{duration_text(total_ns)} in {count_text(len(rows))} kernels",
            leading_words(leading),
            _known_work(context, category),
        ),
        in_words(*advice),
        WHERE,
        sql=leading_sql(leading),
        numbers={
            "category": category,
            "gpu_time_ns": total_ns,
            "kernel_count": len(rows),
            "gpu_time_percent": share,
        },
    )


def _known_work(context: FindingContext, category: str) -> str:
    """How near to the peak the largest uses of this kind run, where that is known."""
    kinds = _KINDS.get(category, ())
    uses = [
        use
        for use in context.trace.derived(uses_of_operators).uses
        if use.work is not None and use.work.kind in kinds and use.above_roofline_ns is not None
    ]
    return ", ".join(map(_use_words, uses[:_SHOWN]))


def _use_words(use: OperatorUse) -> str:
    assert use.work is not None and use.board is not None
    name = f"{use.operator} ({use.role})" if use.role else use.operator
    return f"{name} {use.work.shape} at {use.percent_of_peak:.0f} % of {use.board.name}'s peak"
