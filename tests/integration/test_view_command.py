"""`wavescope view` as a program: it serves until Ctrl-C, and leaves nothing behind."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

import wavescope
from tests.sample_files import rich_trace, write_as
from wavescope.model.result import RESULT_SCHEMA

PATIENCE_S = 120
CHANGED = "the file has changed since it was opened"
START_AGAIN = "start `wavescope view` again to see what is in it now"


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_as(rich_trace(), tmp_path_factory.mktemp("viewed") / "trace.db")


@contextmanager
def viewed(folder: Path, *arguments: str | Path) -> Iterator[tuple[subprocess.Popen[str], Any]]:
    """The running command and what it printed with --json."""
    (folder / "tmp").mkdir(exist_ok=True)
    environment = {
        **os.environ,
        "XDG_CACHE_HOME": str(folder / "cache"),
        "TMPDIR": str(folder / "tmp"),
    }
    command = [sys.executable, "-m", "wavescope", "view", "--json", "--no-browser"]
    with subprocess.Popen(
        [*command, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        try:
            yield process, json.loads(process.stdout.readline())
        finally:
            process.kill()


def asked(address: str, place: str, body: bytes | None = None) -> tuple[int, bytes]:
    parts = urlsplit(address)
    headers = {"Content-Type": "application/json"} if body else {}
    with closing(
        http.client.HTTPConnection(parts.hostname, parts.port, timeout=PATIENCE_S)
    ) as connection:
        connection.request("POST" if body else "GET", parts.path + place, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()


def test_it_serves_until_ctrl_c(trace: Path, tmp_path: Path) -> None:
    before = trace.read_bytes()
    with viewed(tmp_path, trace) as (process, printed):
        assert printed["schema"] == RESULT_SCHEMA
        facts = printed["facts"]
        address, port = facts["address"], facts["port"]
        assert re.fullmatch(rf"http://127\.0\.0\.1:{port}/t/[\w-]{{32}}/", address)
        assert facts["tunnel"].startswith(f"ssh -L {port}:127.0.0.1:{port} ")
        assert asked(address, "")[0] == 200
        rows = asked(address, "api/sql", b'{"sql": "SELECT count(*) FROM rocpd_api"}')
        assert json.loads(rows[1])["rows"] == [[36]]

        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=PATIENCE_S)

    assert (process.returncode, output) == (0, "")
    assert errors.splitlines()[-1] == "ended: the page no longer answers"
    assert "Traceback" not in errors
    with pytest.raises(ConnectionRefusedError):
        asked(address, "")
    assert trace.read_bytes() == before
    assert list((tmp_path / "tmp").iterdir()) == []


def test_told_to_stop_it_removes_what_it_made(tmp_path: Path) -> None:
    trace = write_as(rich_trace(), tmp_path / "trace.json.gz")
    with viewed(tmp_path, trace, "--no-cache") as (process, printed):
        asked(printed["facts"]["address"], "api/sql", b'{"sql": "SELECT 1"}')
        assert len(list((tmp_path / "tmp").iterdir())) == 1
        process.terminate()
        process.communicate(timeout=PATIENCE_S)

    assert process.returncode == 128 + signal.SIGTERM
    assert list((tmp_path / "tmp").iterdir()) == []
    assert not (tmp_path / "cache").exists()


def test_python_serves_the_same(
    trace: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with wavescope.open_view([trace, trace], labels=["a", "b"], cache=False) as view:
        assert asked(view.address, "")[0] == 200
        status, body = asked(view.address, "api/traces")
        assert status == 200
        assert [each["label"] for each in json.loads(body)["traces"]] == ["a", "b"]
        address = view.address

    view.serve_forever()
    view.close()
    with pytest.raises(ConnectionRefusedError):
        asked(address, "")
    assert list(tmp_path.iterdir()) == []


def test_one_file_twice_has_two_names(trace: Path) -> None:
    with wavescope.open_view([trace, trace, trace], cache=False) as view:
        body = asked(view.address, "api/traces")[1]

    labels = [each["label"] for each in json.loads(body)["traces"]]
    assert labels == [trace.name, f"{trace.name} (2)", f"{trace.name} (3)"]


def test_two_views_have_nothing_in_common(trace: Path) -> None:
    with (
        wavescope.open_view(trace, cache=False) as mine,
        wavescope.open_view(trace, cache=False) as theirs,
    ):
        token = urlsplit(mine.address).path
        crossed = f"http://127.0.0.1:{theirs.port}{token}"
        assert asked(mine.address, "")[0] == 200
        assert asked(crossed, "")[0] == 404


def test_a_file_that_was_replaced_meanwhile_is_not_mixed_with_what_is_shown(tmp_path: Path) -> None:
    path = write_as(rich_trace(), tmp_path / "trace.db")
    with wavescope.open_view(path, cache=False) as view:
        while not trace_of(view)["is_whole"]:
            time.sleep(0.01)
        assert trace_of(view)["notes"] == []
        write_as(rich_trace(), tmp_path / "other.db").replace(path)

        assert trace_of(view)["notes"] == [f"{CHANGED}: {START_AGAIN}"]
        for question in (
            "api/kernels",
            "api/findings",
            "api/range?start=0&end=9",
            "api/details?table=ops&row=0",
            "api/window?format=wavescope&start=0&end=9",
        ):
            assert asked(view.address, question) == (400, said_of(path))
        assert asked(view.address, "api/sql", b'{"sql": "SELECT 1"}') == (400, said_of(path))
        row = quote(trace_of(view)["rows"][0]["id"])
        tile = f"api/tiles?rows={row}&scale=10&first=0&count=9&by=category"
        assert asked(view.address, tile)[0] == 200

        path.unlink()
        assert asked(view.address, "api/kernels")[0] == 200


def trace_of(view: wavescope.OpenedView) -> Any:
    return json.loads(asked(view.address, "api/traces")[1])["traces"][0]


def said_of(path: Path) -> bytes:
    return json.dumps(
        {"error": f"cannot read {path}: {CHANGED}", "hint": START_AGAIN}, separators=(",", ":")
    ).encode()


def test_ports_beyond_the_last_are_refused(trace: Path) -> None:
    with pytest.raises(wavescope.WavescopeError, match="there is no port 65536"):
        wavescope.open_view(trace, port=65_536)
