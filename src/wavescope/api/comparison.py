"""What changed between traces."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from wavescope.api.opened import PathLike, opened, with_notes
from wavescope.errors import UsageError
from wavescope.model.result import Result
from wavescope.model.selection import Selection
from wavescope.model.trace import Trace

if TYPE_CHECKING:
    from wavescope.analyze.compare.comparison import CompareOptions


def compare(
    traces: Sequence[Trace | PathLike],
    options: CompareOptions | None = None,
    *,
    selection: Selection | None = None,
) -> Result:
    """What changed from the first trace to each of the others, and which parts account for it."""
    from wavescope.analyze.compare.comparison import compare as compared  # noqa: PLC0415

    if len(traces) < 2:
        raise UsageError("at least two traces are compared")
    with ExitStack() as stack:
        chosen = [stack.enter_context(opened(trace, selection)) for trace in traces]
        return with_notes(compared(chosen, options), chosen)
