"""What is sent to the viewer in a case is answered, and answers that may not be given are seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzz.viewer_connection import TOKEN, talk
from tests.builders import a_trace
from tests.sample_files import write_as
from wavescope.view.server import admission, connection

HEADS = "Host: 127.0.0.1:9\r\n\r\n"


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_as(a_trace().with_kernel("gemm", 0, 10), tmp_path_factory.mktemp("t") / "t.db")


def request(place: str, method: str = "GET", token: str = TOKEN) -> bytes:
    return f"{method} /t/{token}/{place} HTTP/1.1\r\n{HEADS}".encode()


def test_questions_and_nonsense_are_answered(trace: Path) -> None:
    for sent in (
        b"",
        request("api/traces") * 3,
        request("api/traces", "HEAD") + request(""),
        request("api/details?table=ops&row=99"),
        request("api/nothing"),
        b"\xff" * 200_000,
        request("").replace(HEADS.encode(), b"Expect: 100-continue\r\n" + HEADS.encode()),
    ):
        talk(trace, sent)


def test_an_answer_to_a_stranger_is_seen(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "_place_in", lambda path, token: "")

    with pytest.raises(AssertionError, match="somebody without the token was answered"):
        talk(trace, request("", token="x"))


def test_a_bug_behind_a_question_is_seen(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(place: str) -> None:
        raise ZeroDivisionError(place)

    monkeypatch.setattr("wavescope.view.server.site.question", failing)

    with pytest.raises(ZeroDivisionError):
        talk(trace, request("api/traces"))


def test_a_missing_head_is_seen(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "ANSWER_HEADERS", {})

    with pytest.raises(AssertionError, match="Content-Security-Policy is missing"):
        talk(trace, request(""))
