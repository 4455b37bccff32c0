"""The server of `wavescope view`: on 127.0.0.1, with a token that only its address tells."""

from __future__ import annotations

import errno
import threading
from collections.abc import Sequence

from wavescope.closing import Closing
from wavescope.errors import MachineError
from wavescope.view.opening import TraceView
from wavescope.view.server.connection import Connection
from wavescope.view.server.loopback import LOOPBACK, LoopbackServer
from wavescope.view.server.questions import import_what_is_asked_first
from wavescope.view.server.site import OnBug, Site, tell_no_bug

_POLL_S = 0.1


class ViewServer(Closing):
    """Shows `views` in the page `page_html` to whoever has `address`, until it is closed.

    The operating system chooses the port where `port` is 0.
    """

    def __init__(
        self,
        views: Sequence[TraceView],
        page_html: str,
        port: int = 0,
        *,
        on_bug: OnBug = tell_no_bug,
    ) -> None:
        self._server = _bound(Site(tuple(views), page_html.encode(), on_bug), port)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(_POLL_S,), name="wavescope-view", daemon=True
        )
        self._is_closed = False
        self._thread.start()
        threading.Thread(target=import_what_is_asked_first, daemon=True).start()

    @property
    def port(self) -> int:
        """Where it listens on 127.0.0.1."""
        return self._server.server_port

    @property
    def address(self) -> str:
        """The address of the page; who knows it sees the traces."""
        return f"http://{LOOPBACK}:{self.port}/t/{self._server.token}/"

    def serve_forever(self) -> None:
        """Come back when the server is closed."""
        while self._thread.is_alive():
            self._thread.join(_POLL_S)

    def close(self) -> None:
        """Listen no more, and end what is being answered."""
        if self._is_closed:
            return
        self._is_closed = True
        self._server.shutdown()
        self._server.server_close()
        self._server.end_connections()

    def wait_for_answers(self) -> None:
        """Come back when no question is being answered, and none will be."""
        self._server.site.take_all_turns()


def _bound(site: Site, port: int) -> LoopbackServer:
    try:
        return LoopbackServer(site, port, Connection)
    except OSError as error:
        reasons = {
            errno.EADDRINUSE: f"port {port} is in use by another program",
            errno.EACCES: f"port {port} is one that only root may use",
        }
        reason = reasons.get(error.errno or 0, f"port {port}: {error.strerror or error}")
        raise MachineError(
            reason, hint="choose another --port, or leave it out for a free one"
        ) from error
