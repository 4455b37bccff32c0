"""Captures that tell nothing of the kernel: no wave was traced, or those that were had no work.

Kernels check at their beginning whether there is a tile, sequence or expert for a wave. Where all
traced waves left at such a check, the trace holds a few rows of the prologue and not the kernel.
"""

from __future__ import annotations

import numpy as np

from wavescope.analyze.capture.analysis import CaptureAnalysis
from wavescope.analyze.capture.instruction_kinds import Kind
from wavescope.model.capture import Measure
from wavescope.model.result import Finding, Severity

FEW_ROWS_PERCENT = 10.0
"""Of the kernel's instructions: waves that did the kernel's work executed more of them."""
_EFFECTS = (Kind.VMEM_STORE, Kind.ATOMIC, Kind.EXPORT)
NO_WORK = "capture-no-work"
NO_WAVES = "capture-no-waves"


def told_nothing(analysis: CaptureAnalysis) -> Finding | None:
    """What to say, and nothing else, of a capture that tells nothing; None for all others."""
    if _saw_no_wave(analysis):
        return _no_waves_finding(analysis)
    return _no_work_finding(analysis) if found_no_work(analysis) else None


def _saw_no_wave(analysis: CaptureAnalysis) -> bool:
    """Whether there is only the kernel's disassembly, which rocprofv3 writes for want of waves."""
    if analysis.instructions.measure is Measure.SAMPLES or len(analysis.waves):
        return False
    return bool((~analysis.instructions.is_label).any()) and not analysis.executed_rows.any()


def _no_waves_finding(analysis: CaptureAnalysis) -> Finding:
    rows = int((~analysis.instructions.is_label).sum())
    return Finding(
        NO_WAVES,
        Severity.WARNING,
        "No wave was traced: no instruction has an execution",
        f"the capture holds {rows:,} instructions of the kernel without any times: the traced "
        "compute unit had no wave of it, or the data was lost",
        "trace a launch that fills the GPU, or other compute units: `wavescope capture` with "
        "--cu, --simd 0xf or a wider --se-mask such as 0x11111111",
        numbers={"rows": rows},
    )


def found_no_work(analysis: CaptureAnalysis) -> bool:
    """Whether the traced waves executed few rows to their end, and none of the kernel's stores."""
    if analysis.instructions.measure is Measure.SAMPLES:
        return False  # samples miss much of what ran
    executed = analysis.executed_rows
    rows, ran = int((~analysis.instructions.is_label).sum()), int(executed.sum())
    if not ran or 100 * ran >= FEW_ROWS_PERCENT * rows:
        return False
    effects = analysis.is_of(*_EFFECTS)
    return bool(effects.any()) and not bool((effects & executed).any()) and _ended(analysis)


def _no_work_finding(analysis: CaptureAnalysis) -> Finding:
    """The one thing to say of such a capture."""
    rows = int((~analysis.instructions.is_label).sum())
    ran = int(analysis.executed_rows.sum())
    waves = len(analysis.waves)
    who = f"{waves:,} traced waves" if waves else "the traced waves"
    return Finding(
        NO_WORK,
        Severity.WARNING,
        f"These waves found no work: {ran:,} of {rows:,} instructions ran; capture others",
        f"{who} left before any store of the kernel, so that nothing here tells what the kernel "
        "does when it works",
        "trace another launch or other compute units: `wavescope capture` with --iterations, "
        "--cu or a wider --se-mask such as 0x11111111, and a load that fills the GPU",
        numbers={"executed_rows": ran, "rows": rows, "waves": waves},
    )


def _ended(analysis: CaptureAnalysis) -> bool:
    """Whether waves reached an end of the program: else the trace was cut off before the work."""
    ends = analysis.is_of(Kind.END) & analysis.executed_rows
    if not len(analysis.waves):
        return bool(ends.any())
    hits = int(analysis.instructions.hits[np.flatnonzero(ends)].sum())
    return hits >= len(analysis.waves)
