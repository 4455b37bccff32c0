"""Traces shown in a browser, by a server on this machine that only its address leads to.

The function is not called `view`, as the command is: that is the package behind it.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING
from urllib.parse import quote

from wavescope.api.opened import Where, labels_of, paths_of, selection_of
from wavescope.closing import Closing
from wavescope.errors import UsageError
from wavescope.model.paths import PathLike
from wavescope.model.selection import Selection
from wavescope.render.html.view_page import view_page_html
from wavescope.view.opening import TraceView
from wavescope.view.opening import open_view as opened_trace
from wavescope.view.parts import prepare_parts
from wavescope.view.server import OnBug, ViewServer, tell_no_bug

if TYPE_CHECKING:
    from typing_extensions import Unpack

_MOST_PORT = 65_535
_ALIGNED = re.compile(
    r"step(?::(?P<step>\d{1,9}))?|marker:(?:(?P<number>\d{1,9}):)?(?P<name>.+)", re.S
)


class OpenedView(Closing):
    """Traces that can be looked at under `address` until this is closed."""

    def __init__(self, server: ViewServer, held: ExitStack, link: str = "") -> None:
        self._server, self._held, self._link = server, held, link

    @property
    def address(self) -> str:
        """The address of the page; who knows it sees the traces."""
        return self._server.address + self._link

    @property
    def port(self) -> int:
        """Where the server listens on 127.0.0.1."""
        return self._server.port

    def serve_forever(self) -> None:
        """Come back when it is closed; the page is served in any case."""
        self._server.serve_forever()

    def close(self) -> None:
        """End the server and let the traces go, when nothing uses them any more."""
        self._held.close()

    def closes_within(self, seconds: float) -> bool:
        """Close it; whether that was done in time, and no thread is at work any more.

        What analyzes or writes a trace cannot be interrupted: a program that is to end now has to
        end without it.
        """
        closing = threading.Thread(target=self._close_and_wait, daemon=True)
        closing.start()
        closing.join(seconds)
        return not closing.is_alive()

    def _close_and_wait(self) -> None:
        self.close()
        self._server.wait_for_answers()


def open_view(
    traces: PathLike | Sequence[PathLike],
    *,
    labels: Sequence[str] = (),
    align: str = "start",
    port: int = 0,
    cache: bool = True,
    selection: Selection | None = None,
    on_bug: OnBug = tell_no_bug,
    **where: Unpack[Where],
) -> OpenedView:
    """Show one trace, or several one above the other, at an address of this machine.

    Several are aligned at their starts, or as `align` says: "step", "step:3", "marker:NAME" or
    "marker:3:NAME". The system chooses the port where it is 0. With `cache`, what the page needs
    is kept in the user's cache folder, so that the same trace opens at once the next time.
    `on_bug` hears of questions that failed as they never should.
    """
    paths = paths_of(traces)
    names = labels_of(paths, labels)
    chosen = selection_of(selection, where)
    link = _aligned_link(align, len(paths))
    if not 0 <= port <= _MOST_PORT:
        raise UsageError(f"there is no port {port}", hint=f"ports are numbers up to {_MOST_PORT}")
    with ExitStack() as stack:
        views: list[TraceView] = []
        for number, (path, name) in enumerate(zip(paths, names, strict=True)):
            view = opened_trace(path, number=number, label=name, selection=chosen, cache=cache)
            stack.callback(view.close)
            views.append(view)
        stack.callback(_stop_reading, views)
        _compare_with_each_other(views)
        prepare_parts(views)
        server = stack.enter_context(ViewServer(views, view_page_html(), port, on_bug=on_bug))
        return OpenedView(server, stack.pop_all(), link)


def _aligned_link(align: str, trace_count: int) -> str:
    """The end of the page's address that aligns the traces, as a link from the page has it."""
    if align == "start":
        return ""
    found = _ALIGNED.fullmatch(align)
    number = int(found["step"] or found["number"] or 1) if found else 0
    if not found or not number:
        raise UsageError(
            f"traces cannot be aligned at '{align}'",
            hint="there are: start, step, step:3, marker:NAME and marker:3:NAME",
        )
    if trace_count < 2:
        raise UsageError("one trace alone cannot be aligned", hint="give two traces or more")
    kept = f"marker:{number}:{found['name']}" if found["name"] else f"step:{number}"
    return f"#x.align={quote(kept, safe=':', errors='replace')}"


def _stop_reading(views: Sequence[TraceView]) -> None:
    """All at once, before each is waited for."""
    for view in views:
        view.stop_reading()


def _compare_with_each_other(views: Sequence[TraceView]) -> None:
    """Each with the first, and that one with the second."""
    for view in views[1:]:
        view.compared_with = views[0]
        views[0].compared_with = views[1]
