"""Progress: silent when work is short, plain lines when nobody watches."""

from __future__ import annotations

import io
import sys
import threading
import time

import pytest

from wavescope.cli import progress as progress_module
from wavescope.cli.progress import Progress


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_module, "SILENT_SECONDS", 0.02)
    monkeypatch.setattr(progress_module, "LINE_SECONDS", 0.02)


def test_short_work_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress("reading", quiet=False) as progress:
        progress(1, 2)

    assert capsys.readouterr().err == ""


def test_long_work_prints_lines_without_a_terminal(
    quick: None, capsys: pytest.CaptureFixture[str]
) -> None:
    with Progress("reading a\x1b[2Jb", quiet=False) as progress:
        time.sleep(0.1)
        progress(1, 4)
        time.sleep(0.1)

    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "reading a\\x1b[2Jb: 0 s"
    assert lines[-1] == "reading a\\x1b[2Jb: 25 %, 0 s"


def test_quiet_is_quiet(quick: None, capsys: pytest.CaptureFixture[str]) -> None:
    with Progress("reading", quiet=True):
        time.sleep(0.1)

    assert capsys.readouterr().err == ""


def test_a_terminal_gets_a_bar(quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")

    with Progress("reading [bold]x", quiet=False) as progress:
        progress(1, 2)
        time.sleep(0.6)

    assert "reading [bold]x" in terminal.getvalue()


def test_an_error_inside_ends_the_thread(quick: None) -> None:
    before = set(threading.enumerate())
    with pytest.raises(KeyboardInterrupt), Progress("reading", quiet=False):
        raise KeyboardInterrupt

    assert set(threading.enumerate()) <= before
