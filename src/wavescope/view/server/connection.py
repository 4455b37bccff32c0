"""One connection of a browser: requests are read, admitted and answered; nothing is printed."""

from __future__ import annotations

import os
import re
import select
import shutil
import socket
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qsl

import orjson

from wavescope.errors import UsageError
from wavescope.view.answers import Answer, Asked
from wavescope.view.server.admission import ANSWER_HEADERS, RefusedError, admitted_place
from wavescope.view.server.bounded_reading import BoundedReader
from wavescope.view.server.loopback import LoopbackServer
from wavescope.view.server.site import problem

MOST_BODY_BYTES = 256 << 10
_MOST_PARAMETERS = 64
_SEND_S = 30.0
_REST_S = 1.0
_MOST_REST_BYTES = 4 << 20
_BLOCK_BYTES = 1 << 20
_JSON_TYPE = re.compile(r"application/json\s*(;.*)?", re.ASCII | re.IGNORECASE)


class Connection(BaseHTTPRequestHandler):
    """Answers the requests of one connection, one after the other."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: LoopbackServer
    rfile: BoundedReader

    def setup(self) -> None:
        """As the base, with a reader that has limits."""
        self._has_unread = False
        super().setup()
        self.rfile.close()
        self.rfile = BoundedReader(self.connection)

    def handle_one_request(self) -> None:
        """Read one request and answer it; whoever goes away meanwhile is forgotten."""
        self.rfile.begin_request()
        try:
            super().handle_one_request()
        except OSError:
            self.close_connection = True

    def finish(self) -> None:
        """Close both directions, whether anybody takes what is left to send or not."""
        with suppress(OSError):
            super().finish()
            if self._has_unread:
                self._forget_the_rest()

    def _forget_the_rest(self) -> None:
        """Take what is still being sent: otherwise the system would drop the answer, too."""
        self.connection.shutdown(socket.SHUT_WR)
        self.connection.settimeout(_REST_S)
        left_bytes = _MOST_REST_BYTES
        while left_bytes > 0 and (part := self.connection.recv(_BLOCK_BYTES)):
            left_bytes -= len(part)

    def do_GET(self) -> None:
        """The page, a file of it, or a question."""
        self._reply()

    def do_HEAD(self) -> None:
        """The same, and the answer itself is left out."""
        self._reply()

    def do_POST(self) -> None:
        """A question whose parameters are the body."""
        self._reply()

    def _reply(self) -> None:
        path, _, query = self.path.partition("?")
        is_posted = self.command == "POST"
        try:
            if self.request_version == self.default_request_version:
                # To HTTP/0.9 an answer has no head: none of what keeps other pages out.
                raise RefusedError(HTTPStatus.HTTP_VERSION_NOT_SUPPORTED)
            place = admitted_place(path, self.headers, self.server.token)
            self.server.know(self.connection)
            parameters = {**_parameters(query), **self._members(is_posted=is_posted)}
            asked = Asked(self.server.site.views, parameters, self._is_awaited)
            status, answer = self.server.site.reply(place, asked, is_posted=is_posted)
        except RefusedError as error:
            self._refuse(error.status, str(error))
        except UsageError as error:
            self._refuse(HTTPStatus.BAD_REQUEST, str(error))
        else:
            self._send(status, answer)

    def _is_awaited(self) -> bool:
        """Whether the browser has not closed the connection, as it does when it gives up."""
        has_news = select.poll()
        try:
            has_news.register(self.connection, select.POLLIN)
            return not has_news.poll(0) or self.connection.recv(1, socket.MSG_PEEK) != b""
        except (OSError, ValueError):  # closed on this side
            return False

    def _members(self, *, is_posted: bool) -> dict[str, str]:
        """The texts in the JSON of the body; only questions that are posted have one."""
        sizes = self.headers.get_all("Content-Length", [])
        if "Transfer-Encoding" in self.headers or len(sizes) > 1:
            raise RefusedError(HTTPStatus.LENGTH_REQUIRED)
        if not is_posted:
            if sizes not in ([], ["0"]):
                raise RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            return {}
        if not sizes or not re.fullmatch(r"\d{1,12}", sizes[0], re.ASCII):
            raise RefusedError(HTTPStatus.LENGTH_REQUIRED)
        if int(sizes[0]) > MOST_BODY_BYTES:
            raise RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        if not _JSON_TYPE.fullmatch(self.headers.get("Content-Type", "")):
            raise RefusedError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
        return _texts(self.rfile.read_body(int(sizes[0])))

    def _send(self, status: HTTPStatus, answer: Answer) -> None:
        self.connection.settimeout(_SEND_S)
        stream = answer.stream
        size_bytes = len(answer.body) if stream is None else os.fstat(stream.fileno()).st_size
        self.send_response(status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(size_bytes))
        if answer.file_name:
            self.send_header("Content-Disposition", f'attachment; filename="{answer.file_name}"')
        for name, value in ANSWER_HEADERS.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if stream is None:
            self.wfile.write(b"" if self.command == "HEAD" else answer.body)
            return
        with stream:
            if self.command != "HEAD":
                shutil.copyfileobj(stream, self.wfile, _BLOCK_BYTES)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse what the base cannot read, and repeat nothing of it."""
        del message, explain
        is_unknown = code == HTTPStatus.NOT_IMPLEMENTED
        status = HTTPStatus.METHOD_NOT_ALLOWED if is_unknown else HTTPStatus(code)
        self._refuse(status, str(RefusedError(status)))

    def _refuse(self, status: HTTPStatus, sentence: str) -> None:
        """Tell that there is no answer. What else was sent is not read: the connection ends."""
        self.close_connection = True
        self._has_unread = True
        self.request_version = self.protocol_version  # so that it has a head in any case
        self._send(status, problem(sentence))

    def version_string(self) -> str:
        """What the header `Server` says."""
        return "wavescope"

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002  as the base has it
        """Say nothing: the terminal belongs to the command."""


def _parameters(query: str) -> dict[str, str]:
    try:
        return dict(parse_qsl(query, keep_blank_values=True, max_num_fields=_MOST_PARAMETERS))
    except ValueError:
        raise UsageError("there are too many parameters") from None


def _texts(body: bytes) -> dict[str, str]:
    try:
        members = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise UsageError("the body is no JSON") from None
    if not isinstance(members, dict) or not all(isinstance(v, str) for v in members.values()):
        raise UsageError("the body is not an object of texts")
    return members
