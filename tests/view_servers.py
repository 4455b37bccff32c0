"""A viewer's server for tests, and clients that say to it exactly what a test wants."""

from __future__ import annotations

import http.client
import json
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest

from wavescope.formats import open_trace
from wavescope.model.selection import trace_span
from wavescope.view.answers import Answer, Asked
from wavescope.view.opening import Loaded, TraceView
from wavescope.view.server import ViewServer
from wavescope.view.server.questions import QUESTIONS

PAGE = "<!DOCTYPE html><title>page</title>"
PATIENCE_S = 120


class Reply(NamedTuple):
    """An answer: its status, its headers and its bytes."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def opened_view(path: Path, number: int = 0, label: str = "") -> TraceView:
    """The trace at `path`, whole, without rows."""
    trace = open_trace(path)
    first_ns, end_ns = trace_span(trace)
    loaded = Loaded(version=1, first_ns=first_ns, end_ns=end_ns, share=1.0, is_whole=True)
    return TraceView(number, label or path.name, trace, loaded)


@contextmanager
def served(*views: TraceView, **options: Any) -> Iterator[ViewServer]:
    """A server of `views`, closed with them in the end."""
    try:
        with ViewServer(views, PAGE, **options) as server:
            yield server
    finally:
        for view in views:
            view.trace.close()


def ask(
    server: ViewServer,
    place: str = "",
    *,
    method: str = "GET",
    headers: dict[str, str] | None = None,
    body: bytes | None = None,
    path: str | None = None,
) -> Reply:
    """What the server answers at `place` behind its token, or at another path altogether."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
    target = urlsplit(server.address).path + place if path is None else path
    try:
        connection.request(method, target, body, headers or {})
        answer = connection.getresponse()
        return Reply(answer.status, answer.headers, answer.read())
    finally:
        connection.close()


def ask_sql(server: ViewServer, statement: str, place: str = "api/sql?trace=0") -> Reply:
    """What one statement gives."""
    return ask(
        server,
        place,
        method="POST",
        headers={"Content-Type": "application/json"},
        body=json.dumps({"sql": statement}).encode(),
    )


def send(server: ViewServer, data: bytes, *, end: bool = True) -> bytes:
    """Everything that comes back for these bytes until the server closes the connection."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S) as connection:
        connection.sendall(data)
        if end:
            connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(1 << 16), b""))


def add_question(
    monkeypatch: pytest.MonkeyPatch, name: str, function: Callable[[Asked], Answer]
) -> None:
    """Have the page ask `api/NAME`, which `function` answers."""
    module = ModuleType(f"wavescope.view.answers.{name}")
    module.answer = function
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(QUESTIONS, name, f"answers.{name}:answer")
