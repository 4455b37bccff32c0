"""Every way to colour, in the order in which the page lists them."""

from __future__ import annotations

from collections.abc import Mapping

from wavescope.errors import UsageError
from wavescope.view.colouring.category import CategoryColouring
from wavescope.view.colouring.colouring import ViewColouring

COLOURINGS: Mapping[str, ViewColouring] = {
    colouring.id: colouring for colouring in (CategoryColouring(),)
}


def colouring_of(name: str) -> ViewColouring:
    """The colouring with that id."""
    found = COLOURINGS.get(name)
    if found is None:
        raise UsageError(f"there is no colouring '{name}'", hint=f"one of: {', '.join(COLOURINGS)}")
    return found
