"""`wavescope view`: what is refused before anything is served, and where a browser is opened."""

from __future__ import annotations

import os
import socket
import stat
import threading
import webbrowser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import wavescope
from tests.unit.cli.conftest import Run
from wavescope.cli.browser import has_desktop, shown_in_browser


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def interrupted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Views are interrupted as soon as they are served; their addresses."""
    addresses: list[str] = []

    def serve_forever(view: wavescope.OpenedView) -> None:
        addresses.append(view.address)
        raise KeyboardInterrupt

    monkeypatch.setattr(wavescope.OpenedView, "serve_forever", serve_forever)
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(webbrowser, "open", lambda address: pytest.fail("a browser was opened"))
    return addresses


def test_the_address_is_data_and_the_rest_is_talk(
    run: Run, trace_file: Path, interrupted: list[str]
) -> None:
    ran = run("view", trace_file)

    port = urlsplit(interrupted[0]).port
    assert (ran.code, ran.out) == (0, f"{interrupted[0]}\n")
    assert ran.err == (
        f"from another machine: ssh -L {port}:127.0.0.1:{port} {socket.gethostname()}, "
        "then open the same address there\n"
        "keep the address to yourself: it shows the trace; Ctrl-C ends it\n"
        "ended: the page no longer answers\n"
    )


def test_quiet_says_the_address_only(run: Run, trace_file: Path, interrupted: list[str]) -> None:
    ran = run("view", trace_file, "-q")

    assert (ran.code, ran.out, ran.err) == (0, f"{interrupted[0]}\n", "")


@pytest.mark.parametrize(
    ("align", "link"),
    [
        ("start", ""),
        ("step", "#x.align=step:1"),
        ("step:12", "#x.align=step:12"),
        ("marker:decode", "#x.align=marker:1:decode"),
        ("marker:3:decode", "#x.align=marker:3:decode"),
        ("marker:1:3:## a & b", "#x.align=marker:1:3:%23%23%20a%20%26%20b"),
        ("marker:ä:\n\udcff", "#x.align=marker:1:%C3%A4:%0A%3F"),
    ],
)
def test_several_traces_begin_aligned_by_the_link_of_the_address(
    run: Run, trace_file: Path, align: str, link: str, interrupted: list[str]
) -> None:
    ran = run("view", trace_file, trace_file, "--align", align, "-q")

    assert (ran.code, ran.out) == (0, f"{interrupted[0]}\n")
    page, hash_sign, rest = interrupted[0].partition("#")
    assert (page[-1], hash_sign + rest) == ("/", link)


@pytest.mark.parametrize("align", ["", "end", "step:", "step:0", "step:x", "marker:", "kernel"])
def test_other_alignments_are_refused(
    run: Run, trace_file: Path, align: str, interrupted: list[str]
) -> None:
    ran = run("view", trace_file, trace_file, "--align", align)

    assert (ran.code, ran.out, interrupted) == (2, "", [])
    assert ran.err == (
        f"error: traces cannot be aligned at '{align}'\n"
        "hint: there are: start, step, step:3, marker:NAME and marker:3:NAME\n"
    )


def test_one_trace_is_not_aligned(run: Run, trace_file: Path, interrupted: list[str]) -> None:
    ran = run("view", trace_file, "--align", "step")

    assert (ran.code, ran.out, interrupted) == (2, "", [])
    assert ran.err == ("error: one trace alone cannot be aligned\nhint: give two traces or more\n")


@pytest.mark.parametrize("port", ["-1", "65536", "8e3", "x", "٣"])
def test_ports_are_numbers(run: Run, trace_file: Path, port: str, interrupted: list[str]) -> None:
    ran = run("view", trace_file, f"--port={port}")

    assert ran.code == 2
    assert f"'{port}' is not a port, a number up to 65535" in ran.err
    assert interrupted == []


def test_a_port_in_use_is_told(run: Run, trace_file: Path, interrupted: list[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        ran = run("view", trace_file, "--port", port)

    assert (ran.code, ran.out) == (4, "")
    assert ran.err == (
        f"error: port {port} is in use by another program\n"
        "hint: choose another --port, or leave it out for a free one\n"
    )


def test_what_is_no_trace_is_refused_before_anything_is_served(
    run: Run, trace_file: Path, tmp_path: Path, interrupted: list[str]
) -> None:
    junk = tmp_path / "junk.db"
    junk.write_bytes(b"no trace at all")
    for given, code, words in (
        ([tmp_path / "absent.db"], 3, "absent.db"),
        ([junk], 3, "no known trace format"),
        ([trace_file, junk], 3, "no known trace format"),
        ([trace_file, "--label", "a", "--label", "b"], 2, "2 labels for 1 trace\n"),
        ([trace_file, "--start", "9s", "--end", "1s"], 2, "the window is empty"),
        ([], 2, "TRACE"),
    ):
        ran = run("view", *given)
        assert (ran.code, ran.out) == (code, "")
        assert words in ran.err
        assert "hint: " in ran.err or "the window is empty" in ran.err
    assert interrupted == []


def test_a_capture_is_looked_at_with_another_command(
    run: Run, capture_folder: Path, interrupted: list[str]
) -> None:
    ran = run("view", capture_folder)

    assert ran.code == 3
    assert f"use `wavescope hotspots {capture_folder}`" in ran.err


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, False),
        ({"DISPLAY": ""}, False),
        ({"DISPLAY": ":0"}, True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, True),
        ({"DISPLAY": "localhost:10.0", "SSH_CONNECTION": "1 2 3 4"}, False),
        ({"DISPLAY": ":0", "SSH_TTY": "/dev/pts/1"}, False),
    ],
)
def test_a_browser_is_for_desktops(environment: dict[str, str], expected: bool) -> None:
    assert has_desktop(environment) is expected


def test_a_desktop_gets_its_browser_unless_told_otherwise(
    run: Run, trace_file: Path, interrupted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = threading.Event()
    monkeypatch.setattr(webbrowser, "open", lambda address: opened.set())
    monkeypatch.setenv("DISPLAY", ":0")

    assert run("view", trace_file, "-q", "--no-browser").code == 0
    assert not opened.is_set()
    assert run("view", trace_file, "-q").code == 0
    assert opened.wait(120)


def test_other_users_see_a_file_name_and_cannot_read_the_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given: list[str] = []
    opened = threading.Event()

    def open_browser(address: str) -> None:
        given.append(address)
        opened.set()

    monkeypatch.setattr(webbrowser, "open", open_browser)
    address = "http://127.0.0.1:1/t/secret-token/"
    with shown_in_browser(address):
        assert opened.wait(120)
        page = Path(unquote(urlsplit(given[0]).path))
        assert given[0].startswith("file:///") and "secret" not in given[0]
        assert f'content="0; url={address}"' in page.read_text()
        assert stat.S_IMODE(page.stat().st_mode) == 0o600
        assert stat.S_IMODE(page.parent.stat().st_mode) == 0o700
        assert page.stat().st_uid == os.getuid()
    assert not page.parent.exists()
