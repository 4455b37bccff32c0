"""The bytes of a connection, with limits: how long a request may take, how long its head may be."""

from __future__ import annotations

import http.client
import io
import socket
import time
from typing import Any

IDLE_S = 60.0
"""How long a connection may stay open between requests."""
REQUEST_S = 10.0
"""How long a request may take to arrive from its first byte on."""
MOST_HEAD_BYTES = 96 << 10


class BoundedReader(io.BufferedReader):
    """Reads requests from a socket; who is too slow runs into `TimeoutError`."""

    def __init__(self, connection: socket.socket) -> None:
        self._timed = _TimedSocket(connection)
        self._head_left = 0
        super().__init__(self._timed)

    def begin_request(self) -> None:
        """Expect a new request now."""
        self._head_left = MOST_HEAD_BYTES
        self._timed.begin_request()

    def readline(self, size: int | None = -1) -> bytes:
        """The next line of a head; whoever ends in the middle of one is gone."""
        line = super().readline(size)
        is_cut = not line.endswith(b"\n") and (size is None or not 0 <= size <= len(line))
        if is_cut and (line or self._head_left < MOST_HEAD_BYTES):
            raise ConnectionAbortedError("half a request")
        self._head_left -= len(line)
        if self._head_left < 0:
            raise http.client.LineTooLong("head")
        return line

    def read_body(self, size_bytes: int) -> bytes:
        """What follows a head, all of it."""
        body = self.read(size_bytes)
        if len(body) < size_bytes:
            raise ConnectionAbortedError("half a request")
        return body


class _TimedSocket(io.RawIOBase):
    """A socket that waits for the first byte of a request, and then for all of it only so long."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._end_s: float | None = None

    def begin_request(self) -> None:
        self._end_s = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        left_s = IDLE_S if self._end_s is None else self._end_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("the request came too slowly")
        self._connection.settimeout(left_s)
        count = self._connection.recv_into(buffer)
        if self._end_s is None:
            self._end_s = time.monotonic() + REQUEST_S
        return count
