"""What the viewer's server does with requests: odd, long, slow, cut, many, and wrong ones."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.view_servers import PAGE, PATIENCE_S, add_question, ask, ask_sql, send, served
from wavescope.errors import MachineError, UsageError
from wavescope.view.answers import Answer, Asked
from wavescope.view.opening import StillReadingError
from wavescope.view.server import ViewServer, bounded_reading, loopback, site
from wavescope.view.server.questions import POSTED, QUESTIONS, question


@pytest.fixture(scope="module")
def server() -> Iterator[ViewServer]:
    with served() as server:
        yield server


def head(server: ViewServer, *lines: str, method: str = "GET", place: str = "") -> bytes:
    path = urlsplit(server.address).path + place
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: localhost", *lines, "", ""]).encode()


def statuses(answers: bytes) -> list[int]:
    return [int(part[:3]) for part in answers.split(b"HTTP/1.1 ")[1:]]


def test_several_requests_use_one_connection(server: ViewServer) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
    path = urlsplit(server.address).path

    for _ in range(3):
        connection.request("GET", path)
        answer = connection.getresponse()
        assert (answer.status, answer.version, len(answer.read())) == (200, 11, 34)
    connection.close()


def test_answers_are_sent_at_once(server: ViewServer, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def look(self: object) -> None:
        option = self.connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        seen.append(option)
        seen.append(self.wfile.raw.fileno() >= 0)
        self._reply()

    monkeypatch.setattr("wavescope.view.server.connection.Connection.do_GET", look)
    ask(server)

    assert seen == [1, True]


def test_head_tells_the_length_and_sends_nothing(server: ViewServer) -> None:
    answered = send(server, head(server, "Connection: close", method="HEAD"))

    assert answered.startswith(b"HTTP/1.1 200 ")
    assert b"Content-Length: 34\r\n" in answered
    assert answered.endswith(b"\r\n\r\n")


def test_who_asks_for_an_answer_without_a_head_is_refused(server: ViewServer) -> None:
    for version in (b"", b" HTTP/0.9"):
        answered = send(server, head(server).replace(b" HTTP/1.1", version))

        assert statuses(answered) == [505]
        assert b"Content-Security-Policy: default-src 'none'" in answered
    assert statuses(send(server, head(server).replace(b" HTTP/1.1", b" HTTP/1.0"))) == [200]


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "CONNECT", "X"])
def test_other_methods_are_refused(server: ViewServer, method: str) -> None:
    assert ask(server, method=method).status == 405


def test_each_question_has_one_method(server: ViewServer) -> None:
    assert ask(server, "api/sql?sql=SELECT+1").status == 405
    json_type = {"Content-Type": "application/json"}
    for place, status in (("", 405), ("api/window", 405), ("api/x", 404), ("static/page.js", 405)):
        reply = ask(server, place, method="POST", headers=json_type, body=b"{}")
        assert reply.status == status


@pytest.mark.parametrize(
    ("kind", "body", "status"),
    [
        ("text/plain", b'{"sql": "SELECT 1"}', 415),
        ("application/x-www-form-urlencoded", b"sql=SELECT+1", 415),
        ("application/jsonp", b"{}", 415),
        ("application/json", b"{", 400),
        ("application/json", b"[]", 400),
        ("application/json", b'{"sql": 1}', 400),
        ("application/json", b"{}", 400),
        ("application/json", b'"' + b"x" * 300_000 + b'"', 413),
    ],
)
def test_what_is_posted_is_short_json(
    server: ViewServer, kind: str, body: bytes, status: int
) -> None:
    reply = ask(server, "api/sql", method="POST", headers={"Content-Type": kind}, body=body)

    assert reply.status == status
    assert reply.json["error"]


def test_a_body_of_unknown_or_two_lengths_is_refused(server: ViewServer) -> None:
    kind = "Content-Type: application/json"
    for lines, status in (
        ((kind,), 411),
        ((kind, "Transfer-Encoding: chunked"), 411),
        ((kind, "Content-Length: 2", "Content-Length: 20"), 411),
        ((kind, "Content-Length: -1"), 411),
        ((kind, "Content-Length: 1e3"), 411),
        ((kind, "Content-Length: 99999999999"), 413),
    ):
        asked = head(server, *lines, method="POST", place="api/sql")
        assert statuses(send(server, asked + b"{}")) == [status]
    assert statuses(send(server, head(server, "Content-Length: 9") + b"smuggled?")) == [413]


def test_garbage_behind_a_request_ends_the_connection(server: ViewServer) -> None:
    answered = send(server, head(server) + b"\x00\xff nonsense here \r\n\r\n" + head(server))

    assert statuses(answered) == [200, 400]
    assert b"nonsense" not in answered


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\n\r\n", 414),
        (b"GET / HTTP/1.1\r\nHost: " + b"x" * 70_000 + b"\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 200 + b"\r\n", 431),
        (b"GET / HTTP/1.1\r\n" + (b"A: " + b"b" * 4000 + b"\r\n") * 30 + b"\r\n", 431),
        (b"GET / HTTP/2.0\r\n\r\n", 505),
        (b"GET / HTTP/x\r\n\r\n", 400),
        (b"GET / and more HTTP/1.1\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 of TLS here\r\n\r\n", 400),
    ],
)
def test_requests_that_are_none_are_refused(server: ViewServer, data: bytes, status: int) -> None:
    assert statuses(send(server, data)) == [status]


def test_half_a_request_is_no_request(server: ViewServer) -> None:
    whole = head(server)
    posted = head(
        server,
        "Content-Type: application/json",
        "Content-Length: 50",
        method="POST",
        place="api/sql",
    )

    for end in (1, 20, len(whole) - 20, len(whole) - 4, len(whole) - 2, len(whole) - 1):
        assert send(server, whole[:end]) == b""
    assert send(server, posted + b'{"sql": "SELECT 1"}') == b""
    assert send(server, b"") == b""
    assert statuses(send(server, whole)) == [200]


def test_who_sends_too_slowly_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_reading, "REQUEST_S", 0.05)
    with served() as server:
        assert send(server, head(server)[:-3], end=False) == b""
        half_a_body = head(
            server,
            "Content-Type: application/json",
            "Content-Length: 50",
            method="POST",
            place="api/sql",
        )
        assert send(server, half_a_body + b'{"sql"', end=False) == b""
        monkeypatch.setattr(bounded_reading, "IDLE_S", 0.05)
        assert send(server, b"", end=False) == b""


def test_there_is_room_for_so_many_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loopback, "MOST_CONNECTIONS", 2)
    with served() as server:
        kept = []
        for _ in range(2):
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
            connection.request("GET", urlsplit(server.address).path)
            connection.getresponse().read()
            kept.append(connection)
        with pytest.raises((ConnectionError, http.client.HTTPException)):
            ask(server)
        kept.pop().close()
        wait_until_answered(server)
        kept.pop().close()


def test_strangers_that_stay_connected_keep_nobody_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loopback, "MOST_CONNECTIONS", 2)
    with served() as server, ExitStack() as stack:
        owner = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
        stack.callback(owner.close)
        owner.request("GET", urlsplit(server.address).path)
        assert owner.getresponse().read() == PAGE.encode()
        for _ in range(9):
            stack.enter_context(socket.create_connection(("127.0.0.1", server.port)))

        assert ask(server).status == 200
        owner.request("GET", urlsplit(server.address).path)
        assert owner.getresponse().read() == PAGE.encode()


def wait_until_answered(server: ViewServer) -> None:
    end_s = time.monotonic() + PATIENCE_S
    while not is_answered(server):
        assert time.monotonic() < end_s


def is_answered(server: ViewServer) -> bool:
    try:
        return ask(server).status == 200
    except (ConnectionError, http.client.HTTPException):
        return False


def test_too_many_questions_at_once_are_told_to_come_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(site, "MOST_RUNNING", 1)
    monkeypatch.setattr(site, "TURN_S", 0.01)
    begun, go_on = threading.Event(), threading.Event()

    def slow(asked: Asked) -> Answer:
        begun.set()
        assert go_on.wait(PATIENCE_S)
        return Answer(b"{}")

    add_question(monkeypatch, "slow", slow)
    with served() as server:
        first: list[int] = []
        asking = threading.Thread(target=lambda: first.append(ask(server, "api/slow").status))
        asking.start()
        assert begun.wait(PATIENCE_S)

        assert ask(server, "api/slow").status == 503
        assert ask(server).status == 200
        go_on.set()
        asking.join()
        assert first == [200]


def test_errors_of_questions_are_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    bugs: list[Exception] = []
    errors = {
        "usage": UsageError("there is no trace 7", hint="there are 2"),
        "machine": MachineError("no room"),
        "reading": StillReadingError(),
        "bug": ZeroDivisionError("secret /home/me"),
        "memory": MemoryError(),
        "gone": FileNotFoundError(2, "No such file or directory", "/home/me/secret.db"),
    }

    def fail(asked: Asked) -> Answer:
        raise errors[asked.text("how")]

    add_question(monkeypatch, "fails", fail)
    with served(on_bug=bugs.append) as server:
        replies = {how: ask(server, f"api/fails?how={how}") for how in errors}
        assert ask(server, "api/fails").json["error"] == "the parameter 'how' is missing"

    assert {how: reply.status for how, reply in replies.items()} == {
        "usage": 400,
        "machine": 400,
        "reading": 503,
        "bug": 500,
        "memory": 500,
        "gone": 500,
    }
    assert replies["usage"].json == {"error": "there is no trace 7", "hint": "there are 2"}
    assert replies["bug"].json["error"] == "sorry, this is a bug in wavescope: ZeroDivisionError"
    assert replies["gone"].json["error"] == "the machine refused it: No such file or directory"
    assert not any(b"secret" in reply.body for reply in replies.values())
    assert bugs == [errors["bug"]]


def test_parameters_are_those_of_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    add_question(
        monkeypatch, "echo", lambda asked: Answer(json.dumps(dict(asked.parameters)).encode())
    )
    with served() as server:
        reply = ask(server, "api/echo?rows=gpu%2F0,queue/0/1&empty=&name=a+b%26%C3%A4")
        assert reply.json == {"rows": "gpu/0,queue/0/1", "empty": "", "name": "a b&ä"}
        assert reply.headers["Content-Type"] == "application/json"
        assert ask(server, "api/echo?" + "&".join(f"a{i}=1" for i in range(65))).status == 400


def test_a_client_that_goes_away_harms_nobody(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    add_question(monkeypatch, "large", lambda asked: Answer(bytes(20_000_000)))
    with served() as server:
        for _ in range(3):
            with socket.create_connection(("127.0.0.1", server.port)) as connection:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                connection.sendall(head(server, place="api/large"))
                assert connection.recv(10) == b"HTTP/1.1 2"

        assert len(ask(server, "api/large").body) == 20_000_000
    assert capfd.readouterr() == ("", "")


def test_a_file_is_sent_under_its_name_and_closed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stored = tmp_path / "stored"
    stored.write_bytes(b"part" * 1_000_000)
    streams = []

    def file(asked: Asked) -> Answer:
        streams.append(stored.open("rb"))
        return Answer(b"", "application/octet-stream", "part.db", streams[-1])

    add_question(monkeypatch, "file", file)
    with served() as server:
        reply = ask(server, "api/file")
        empty = ask(server, "api/file", method="HEAD")

    assert reply.headers["Content-Disposition"] == 'attachment; filename="part.db"'
    assert reply.body == stored.read_bytes()
    assert (empty.body, empty.headers["Content-Length"]) == (b"", "4000000")
    assert [stream.closed for stream in streams] == [True, True]


def test_a_closed_server_answers_nobody() -> None:
    with served() as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
        connection.request("GET", urlsplit(server.address).path)
        connection.getresponse().read()
        server.close()
        server.close()
        server.serve_forever()

        with pytest.raises(ConnectionError):
            ask(server)
        with pytest.raises((ConnectionError, http.client.HTTPException)):
            kept = connection.sock
            kept.sendall(head(server))
            if not kept.recv(1):
                raise ConnectionError
        connection.close()


def test_a_port_in_use_is_told_with_a_way_out(server: ViewServer) -> None:
    with pytest.raises(MachineError) as caught:
        ViewServer([], "", port=server.port)

    assert str(caught.value) == f"port {server.port} is in use by another program"
    assert caught.value.hint == "choose another --port, or leave it out for a free one"


def test_only_this_machine_can_connect(server: ViewServer) -> None:
    listening = {
        line.split()[1]
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]
        if line.split()[3] == "0A" and line.split()[1].endswith(f":{server.port:04X}")
    }

    assert listening == {f"0100007F:{server.port:04X}"}


def test_sql_is_refused_from_elsewhere(server: ViewServer) -> None:
    assert ask_sql(server, "SELECT 1").status == 400  # no trace is opened
    body = json.dumps({"sql": "SELECT 1"}).encode()
    for extra in ({"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        headers = {"Content-Type": "application/json", **extra}
        assert ask(server, "api/sql", method="POST", headers=headers, body=body).status == 403


@pytest.mark.parametrize("place", [*QUESTIONS.values(), *POSTED.values()])
def test_every_question_has_its_answer(place: str) -> None:
    assert callable(question(place))
