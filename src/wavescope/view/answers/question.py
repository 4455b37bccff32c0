"""A question of the page: who asks what of which traces, and what comes back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

from wavescope.errors import UsageError
from wavescope.units import fit_for_pages
from wavescope.view.opening import TraceView

JSON = "application/json"
BINARY = "application/octet-stream"
_MOST = 2**63 - 1
"""No time of a trace is larger."""


@dataclass(frozen=True)
class Answer:
    """What is sent back."""

    body: bytes
    content_type: str = JSON
    file_name: str = ""
    """Where the browser is to save it under this name."""
    stream: BinaryIO | None = None
    """An opened file that is sent in place of `body`, and closed."""


@dataclass(frozen=True)
class Asked:
    """The opened traces, and the parameters of the address (or, of SQL, of the body)."""

    views: Sequence[TraceView]
    parameters: Mapping[str, str] = field(default_factory=dict)
    is_awaited: Callable[[], bool] = lambda: True
    """Whether whoever asked is still there; what takes long may look."""

    @property
    def view(self) -> TraceView:
        """The trace that the parameter `trace` numbers, the first by default."""
        number = self.integer("trace", 0)
        if not 0 <= number < len(self.views):
            raise UsageError(f"there is no trace {number}")
        return self.views[number]

    def text(self, name: str, default: str | None = None) -> str:
        """A parameter; one without a default must be there."""
        value = self.parameters.get(name, default)
        if value is None:
            raise UsageError(f"the parameter '{name}' is missing")
        return value

    def integer(self, name: str, default: int | None = None) -> int:
        """A parameter that is a whole number of at most 64 bits."""
        text = self.text(name, None if default is None else str(default))
        try:
            value = int(text)
        except ValueError:
            raise UsageError(f"the parameter '{name}' is no whole number") from None
        if not -(2**63) <= value < 2**63:
            raise UsageError(f"the parameter '{name}' is too large")
        return value

    def real(self, name: str) -> float:
        """A parameter that is a finite number."""
        try:
            value = float(self.text(name))
        except ValueError:
            raise UsageError(f"the parameter '{name}' is no number") from None
        if value - value != 0:
            raise UsageError(f"the parameter '{name}' is not finite")
        return value

    @property
    def window_ns(self) -> tuple[int, int]:
        """The times [start, end), which parameters count from the first event on, of the trace."""
        start, end = self.integer("start"), self.integer("end")
        view = self.view
        view.require_whole()  # until then an earlier event may be the first
        first_ns = view.loaded.first_ns
        start_ns, end_ns = (min(max(first_ns + each, -_MOST), _MOST) for each in (start, end))
        if start_ns >= end_ns:
            raise UsageError("the range is empty: it ends where it starts, or before")
        return start_ns, end_ns


def meant_name(told: str, names: Collection[str]) -> str:
    """Which of `names` the page means: it was told them as pages may show them."""
    if told in names:
        return told
    return next((name for name in names if fit_for_pages(name) == told), told)


Question = Callable[[Asked], Answer]
