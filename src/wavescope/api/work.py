"""How near to the peaks of the GPU the operators of a trace run."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from wavescope.analyze.work import work_result
from wavescope.api.opened import Where, concluded, opened, selection_of, with_notes
from wavescope.model.paths import PathLike
from wavescope.model.progress import Tell, tell_nobody
from wavescope.model.result import Result
from wavescope.model.selection import Selection
from wavescope.model.trace import Trace
from wavescope.patterns import compiled

if TYPE_CHECKING:
    from typing_extensions import Unpack


def work(
    trace: Trace | PathLike,
    *,
    captures: Sequence[Trace | PathLike] = (),
    selection: Selection | None = None,
    tell: Tell = tell_nobody,
    **where: Unpack[Where],
) -> Result:
    """FLOPs, bytes, rates and the roofline of operators, from their recorded shapes and types.

    `captures` are traces in which the graphs that this one replays were captured: what is replayed
    is the work of the operators there.
    """
    chosen = selection_of(selection, where)
    # An operator's rate is that of all its kernels: a kernel's name chooses operators, not ops.
    kernel = compiled(chosen.kernel) if chosen.kernel else None
    with opened(trace, replace(chosen, kernel="")) as part, ExitStack() as stack:
        shown = [stack.enter_context(opened(each)) for each in captures]
        result = with_notes(work_result(part, kernel, shown), [part])
        return concluded(result, [part], chosen, tell)
