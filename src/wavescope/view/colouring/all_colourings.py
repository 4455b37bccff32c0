"""Every way to colour, in the order in which the page lists them."""

from __future__ import annotations

from collections.abc import Mapping

from wavescope.errors import UsageError
from wavescope.view.colouring.category import CategoryColouring
from wavescope.view.colouring.colouring import ViewColouring
from wavescope.view.colouring.difference import DifferenceColouring
from wavescope.view.colouring.kernel import KernelColouring
from wavescope.view.colouring.phases_and_steps import PHASE, STEP
from wavescope.view.colouring.process import ProcessColouring
from wavescope.view.opening import TraceView

_ALL: tuple[ViewColouring, ...] = (
    CategoryColouring(),
    KernelColouring(),
    PHASE,
    STEP,
    ProcessColouring(),
    DifferenceColouring(),
)
COLOURINGS: Mapping[str, ViewColouring] = {colouring.id: colouring for colouring in _ALL}


def colouring_of(name: str) -> ViewColouring:
    """The colouring with that id."""
    found = COLOURINGS.get(name)
    if found is None:
        raise UsageError(f"there is no colouring '{name}'", hint=f"one of: {', '.join(COLOURINGS)}")
    return found


def colourings_for(view: TraceView) -> list[ViewColouring]:
    """Those that a trace can be drawn in: differences need another trace, and whole ones."""
    pair = (view, view.compared_with)
    can_differ = not any(each is None or _is_sampled(each) for each in pair)
    return [each for each in _ALL if can_differ or each.id != DifferenceColouring.id]


def _is_sampled(view: TraceView) -> bool:
    return any(row.recorded is not None for row in view.loaded.rows)
