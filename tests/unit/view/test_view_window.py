"""A window of the viewer as a file: what `wavescope trim` and `convert` write of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import wavescope
from tests.builders import a_trace
from tests.sample_files import FIRST_NS, rich_trace, write_as
from tests.view_servers import ask, opened_view, served
from wavescope.formats import open_source, open_trace
from wavescope.model.selection import Selection, selected_source
from wavescope.model.trace import Trace
from wavescope.view.answers import Asked
from wavescope.view.answers.window import window
from wavescope.view.opening import Loaded, StillReadingError, TraceView
from wavescope.view.server import ViewServer


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_as(rich_trace(), tmp_path_factory.mktemp("window") / "rich trace (1).db")


@pytest.fixture(scope="module")
def server(trace: Path) -> Iterator[ViewServer]:
    with served(opened_view(trace), opened_view(trace, 1, 'ö/../"\r\n Set-Cookie: x=1')) as server:
        yield server


def dumped(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return list(connection.iterdump())


def test_a_trace_of_the_window_is_what_trim_writes(
    server: ViewServer, trace: Path, tmp_path: Path
) -> None:
    reply = ask(server, "api/window?trace=0&start=51000&end=151001&format=wavescope")

    saved, trimmed = tmp_path / "saved.db", tmp_path / "trimmed.db"
    saved.write_bytes(reply.body)
    wavescope.trim(
        trace, trimmed, Selection(start=str(FIRST_NS + 51_000), end=str(FIRST_NS + 151_001))
    )
    assert dumped(saved) == dumped(trimmed)
    with open_trace(saved) as part:
        assert len(part.ops) == 16
        assert part.ops["start_ns"].min() == FIRST_NS + 53_000
    assert reply.headers["Content-Disposition"] == (
        'attachment; filename="rich-trace-1-51000-151001.db"'
    )


def test_a_window_for_perfetto_is_what_convert_writes(
    server: ViewServer, trace: Path, tmp_path: Path
) -> None:
    reply = ask(server, "api/window?trace=0&start=0&end=30000&format=perfetto")

    converted = tmp_path / "part.pftrace"
    part = Selection(start=str(FIRST_NS), end=str(FIRST_NS + 30_000))
    wavescope.convert(trace, converted, selection=part)
    assert reply.body == converted.read_bytes()
    assert reply.headers["Content-Type"] == "application/octet-stream"


def test_labels_make_harmless_file_names(server: ViewServer) -> None:
    reply = ask(server, "api/window?trace=1&start=0&end=9&format=perfetto")

    assert reply.headers["Content-Disposition"] == (
        'attachment; filename="Set-Cookie-x-1-0-9.pftrace"'
    )
    assert "Set-Cookie" not in reply.headers


@pytest.mark.parametrize(
    ("question", "error"),
    [
        ("trace=0&start=5&end=5&format=perfetto", "the window is empty"),
        ("trace=0&start=9&end=5&format=wavescope", "the window is empty"),
        ("trace=0&start=0&end=5&format=html", "the format is not known"),
        ("trace=0&start=0&end=5", "the parameter 'format' is missing"),
        ("trace=0&start=x&end=5&format=perfetto", "the parameter 'start' is no whole number"),
        ("trace=2&start=0&end=5&format=perfetto", "there is no trace 2"),
        ("trace=-1&start=0&end=5&format=perfetto", "there is no trace -1"),
    ],
)
def test_what_cannot_be_is_said(server: ViewServer, question: str, error: str) -> None:
    reply = ask(server, f"api/window?{question}")

    assert (reply.status, reply.json["error"]) == (400, error)


def test_while_reading_nobody_knows_the_first_event(trace: Path) -> None:
    view = opened_view(trace)
    view.loaded = Loaded(first_ns=7)
    parameters = {"start": "0", "end": "5", "format": "wavescope"}

    with pytest.raises(StillReadingError):
        window(Asked([view], parameters))
    view.trace.close()


def test_nothing_is_left_on_the_disk(
    server: ViewServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    assert ask(server, "api/window?start=0&end=9000&format=wavescope").status == 200
    assert list(tmp_path.iterdir()) == []


def test_of_an_opened_part_only_that_part(tmp_path: Path) -> None:
    maker = a_trace().with_kernel("a", 100, 200)
    maker.with_kernel("b", 300, 400).with_kernel("c", 500, 600)
    source = open_source(write_as(maker, tmp_path / "three.db"))
    part = Trace(selected_source(source, Selection(end="450")))
    view = TraceView(0, "three.db", part, Loaded(first_ns=100, end_ns=400, is_whole=True))

    answer = window(Asked([view], {"start": "150", "end": "900", "format": "wavescope"}))

    saved = tmp_path / "saved.db"
    with answer.stream as stream:
        saved.write_bytes(stream.read())
    with open_trace(saved) as kept:
        assert kept.ops.strings("name") == ["b"]
    part.close()
