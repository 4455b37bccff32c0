"""A connection to the viewer's server that sends the bytes of a case, and looks at what comes back."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Iterator
from email.message import Message
from email.parser import BytesParser
from http import HTTPStatus
from pathlib import Path

from wavescope.formats import open_trace
from wavescope.view.answers import JSON
from wavescope.view.answers import sql as sql_answers
from wavescope.view.answers.sql_process import SqlLimits
from wavescope.view.opening import loaded_view
from wavescope.view.server.admission import ANSWER_HEADERS
from wavescope.view.server.connection import Connection
from wavescope.view.server.loopback import LoopbackServer
from wavescope.view.server.site import Site

TOKEN = "fuzz" * 8
"""In place of a random one, so that a case is told by its seed."""
_SQL_LIMITS = SqlLimits(wall_s=1.0)
_STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")
_OWN_HOST = re.compile(rb"127\.0\.0\.1|localhost|\[::1\]", re.IGNORECASE)
_BUGS = {HTTPStatus.INTERNAL_SERVER_ERROR, HTTPStatus.NOT_IMPLEMENTED}
_BLOCK_BYTES = 1 << 16


def talk(trace_path: Path, sent: bytes) -> None:
    """Answer `sent` as the server does, and check that every answer is one that may be given."""
    bugs: list[Exception] = []
    sql_answers.LIMITS = _SQL_LIMITS
    with open_trace(trace_path) as trace:
        server = LoopbackServer(Site([loaded_view(trace)], b"page", bugs.append), 0, Connection)
        server.token = TOKEN
        try:
            came = _answered(server, sent)
        finally:
            server.server_close()
    if bugs:
        raise bugs[0]
    for status, head, body in _answers(came, may_lack_body=b"HEAD" in sent):
        _check(status, head, body)
        if status == HTTPStatus.OK:
            assert f"/t/{TOKEN}/".encode() in sent, "somebody without the token was answered"
            assert _OWN_HOST.search(sent), "somebody from elsewhere was answered"


def _answered(server: LoopbackServer, sent: bytes) -> bytes:
    """What comes back before the server closes the connection; it raises what a thread would."""
    ours = socket.create_connection(server.server_address[:2])
    theirs, peer = server.get_request()
    came: list[bytes] = []
    threads = [
        threading.Thread(target=_send, args=(ours, sent)),
        threading.Thread(target=_receive, args=(ours, came)),
    ]
    for thread in threads:
        thread.start()
    try:
        Connection(theirs, peer, server)
    finally:
        theirs.close()
        for thread in threads:
            thread.join()
        ours.close()
    return b"".join(came)


def _send(ours: socket.socket, sent: bytes) -> None:
    try:
        ours.sendall(sent)
        ours.shutdown(socket.SHUT_WR)
    except OSError:
        return  # the server has heard enough


def _receive(ours: socket.socket, came: list[bytes]) -> None:
    try:
        while part := ours.recv(_BLOCK_BYTES):
            came.append(part)
    except OSError:
        return


def _answers(came: bytes, *, may_lack_body: bool) -> Iterator[tuple[int, Message, bytes]]:
    """Each last answer: its status, its head, and its body of the length that was told."""
    while came:
        found = _STATUS.match(came)
        assert found, f"no answer of HTTP: {came[:80]!r}"
        head, end, came = came.partition(b"\r\n\r\n")
        assert end, "a head without an end"
        if int(found[1]) == HTTPStatus.CONTINUE:
            continue
        headers = BytesParser().parsebytes(head.partition(b"\r\n")[2])
        size_bytes = int(headers["Content-Length"])
        if may_lack_body and (not came or _STATUS.match(came)):
            size_bytes = 0
        assert len(came) >= size_bytes, "an answer is cut"
        yield int(found[1]), headers, came[:size_bytes]
        came = came[size_bytes:]


def _check(status: int, head: Message, body: bytes) -> None:
    assert status not in _BUGS, f"status {status}: {body[:200]!r}"
    for name, value in ANSWER_HEADERS.items():
        assert head.get_all(name) == [value], f"{name} is missing"
    if body and head["Content-Type"] == JSON:
        json.loads(body)
