"""How large ops are launched: log2 of work-items and workgroups, kept in the trace."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavescope.analyze.phases.kind_scores import Numbers, Reals
from wavescope.arrays import Array
from wavescope.model.source import Batch
from wavescope.model.trace import Trace

_GRID_COLUMNS = ("grid_x", "grid_y", "grid_z")
_GROUP_COLUMNS = ("workgroup_x", "workgroup_y", "workgroup_z")
_LAUNCH_COLUMNS = (*_GRID_COLUMNS, *_GROUP_COLUMNS)
_WORK_ITEMS = "log2_work_items"
_GROUP_ITEMS = "log2_workgroup_items"


def load_launch_sizes(trace: Trace, *also: str) -> None:
    """Read what the functions below need and the columns `also` of ops, in one pass."""
    if trace.ops.has(_WORK_ITEMS):
        trace.ops.load(*also)
    else:
        trace.ops.derive(_LAUNCH_COLUMNS, _derived, also)


def launch_sizes(trace: Trace, rows: Numbers) -> Reals:
    """log2 of the work-items of each op, NaN where the trace does not know."""
    sizes: Reals = trace.ops[_WORK_ITEMS][rows].astype(np.float64)
    return sizes


def workgroup_counts(trace: Trace, rows: Numbers) -> Reals:
    """log2 of the workgroups of each op, NaN where the trace does not know."""
    return launch_sizes(trace, rows) - trace.ops[_GROUP_ITEMS][rows]


def _derived(batch: Batch) -> Batch:
    return {
        _WORK_ITEMS: _log2_product([batch[name] for name in _GRID_COLUMNS]),
        _GROUP_ITEMS: _log2_product([batch[name] for name in _GROUP_COLUMNS]),
    }


def _log2_product(sizes: list[Array]) -> npt.NDArray[np.float32]:
    first, *others = sizes
    product = first.astype(np.float64)
    for size in others:
        product *= np.maximum(size, 1)
    product[first <= 0] = np.nan
    logarithm: npt.NDArray[np.float32] = np.log2(product).astype(np.float32)
    return logarithm
