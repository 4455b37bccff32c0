"""A server that listens to this machine only, and to so many connections at once."""

from __future__ import annotations

import socket
import socketserver
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from wavescope.view.server.admission import new_token
from wavescope.view.server.site import Site

LOOPBACK = "127.0.0.1"
MOST_CONNECTIONS = 128


class LoopbackServer(ThreadingHTTPServer):
    """Accepts connections from this machine, at most `MOST_CONNECTIONS` at once."""

    daemon_threads = True
    request_queue_size = MOST_CONNECTIONS

    def __init__(self, site: Site, port: int, handler: type[BaseHTTPRequestHandler]) -> None:
        self.site = site
        self.token = new_token()
        self._connections: dict[socket.socket, bool] = {}
        """Whether each has shown that it knows the token; the oldest first."""
        self._lock = threading.Lock()
        super().__init__((LOOPBACK, port), handler)

    def server_bind(self) -> None:
        """As the base, which would also ask the network for this machine's name."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = LOOPBACK, self.server_address[1]

    def verify_request(self, request: object, client_address: object) -> bool:
        """Whether there is room for one more connection."""
        del client_address
        assert isinstance(request, socket.socket)
        with self._lock:
            has_room = len(self._connections) < MOST_CONNECTIONS or self._end_a_stranger()
            if has_room:
                self._connections[request] = False
        return has_room

    def _end_a_stranger(self) -> bool:
        """Make room: another user of the machine must not keep the owner out by connecting."""
        stranger = next(
            (each for each, is_known in self._connections.items() if not is_known), None
        )
        if stranger is None:
            return False
        del self._connections[stranger]
        with suppress(OSError):
            stranger.shutdown(socket.SHUT_RDWR)
        return True

    def know(self, connection: socket.socket) -> None:
        """It has the token: it is not ended to make room for others."""
        with self._lock:
            if connection in self._connections:
                self._connections[connection] = True

    def close_request(self, request: object) -> None:
        """Forget a connection that ended."""
        assert isinstance(request, socket.socket)
        with self._lock:
            self._connections.pop(request, None)
        super().close_request(request)

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: a browser that goes away is no news."""

    def end_connections(self) -> None:
        """Answer nobody any more, not even on connections that are open."""
        with self._lock:
            for connection in self._connections:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
