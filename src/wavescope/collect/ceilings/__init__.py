"""How fast this GPU can be: kernels that are compiled and timed here, for rooflines."""

from __future__ import annotations

from wavescope.collect.ceilings.gpu_runtime import opened_gpu
from wavescope.collect.ceilings.measurements import (
    CeilingOptions,
    ceilings_result,
    ceilings_text,
    chosen_ceilings,
    measure,
)

__all__ = [
    "CeilingOptions",
    "ceilings_result",
    "ceilings_text",
    "chosen_ceilings",
    "measure",
    "opened_gpu",
]
