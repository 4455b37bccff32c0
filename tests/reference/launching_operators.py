"""The operator of each op by the whole tree of calls, for tests."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavescope.analyze.calls.call_tree import NO_CALL, nearest_marked, parent_calls
from wavescope.analyze.calls.outermost import operator_rows
from wavescope.analyze.ops.op_links import op_links
from wavescope.model.trace import Trace


def launching_operators(trace: Trace) -> npt.NDArray[np.int64]:
    """For each op the row of the innermost operator around its launch, -1 where there is none.

    The launch is the call that the trace links the op to; when that is an operator, it counts.
    """
    is_operator = np.zeros(len(trace.calls), np.bool_)
    is_operator[operator_rows(trace)] = True
    links = op_links(trace)
    found = np.full(len(trace.ops), NO_CALL, np.int64)
    found[links.op_rows] = nearest_marked(parent_calls(trace), is_operator, links.call_rows)
    return found
