"""Traces themselves: in which formats, opened, and parts of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wavescope.api.opened import PathLike, Where, selection_of
from wavescope.formats import open_trace
from wavescope.model.selection import Selection
from wavescope.model.selection import select as selected_part
from wavescope.model.trace import Trace

if TYPE_CHECKING:
    from typing_extensions import Unpack


def open(path: PathLike) -> Trace:  # noqa: A001  reads as wavescope.open(...)
    """The trace at `path`, in any known format; columns are loaded when first used."""
    return open_trace(path)


def select(trace: Trace, selection: Selection | None = None, **where: Unpack[Where]) -> Trace:
    """A part of a trace, which is a trace: `select(trace, marker="decode", gpus=0)`."""
    return selected_part(trace, selection_of(selection, where))
