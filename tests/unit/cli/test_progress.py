"""Progress: silent when work is short, plain lines when nobody watches."""

from __future__ import annotations

import io
import sys
import threading
import time
from collections.abc import Callable

import pytest

from wavescope.cli import progress as progress_module
from wavescope.cli.progress import Progress, bar_line, left_text
from wavescope.render.cells.escape import cell_width

PATIENCE_S = 60


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


class Stopped:
    """A clock that does not go on."""

    @staticmethod
    def monotonic() -> float:
        return 100.0


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """All work is long, and lines follow each other at once; they tell no time of this machine."""
    monkeypatch.setattr(progress_module, "SILENT_SECONDS", 0.001)
    monkeypatch.setattr(progress_module, "LINE_SECONDS", 0.001)
    monkeypatch.setattr(progress_module, "time", Stopped)


def heard(monkeypatch: pytest.MonkeyPatch) -> Callable[[], str]:
    """Everything that is said on standard error from now on.

    pytest's own capture empties what it reads, and loses what another thread says meanwhile.
    """
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    return stream.getvalue


def wait_until(is_true: Callable[[], bool]) -> None:
    """Return as soon as it is true; how long that takes says nothing on a busy machine."""
    end = time.monotonic() + PATIENCE_S
    while not is_true():
        assert time.monotonic() < end
        time.sleep(0.001)


def test_short_work_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    said = heard(monkeypatch)
    with Progress("reading", quiet=False) as progress:
        progress(1, 2)

    assert said() == ""


def test_long_work_prints_lines_without_a_terminal(
    quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = heard(monkeypatch)
    with Progress("reading a\x1b[2Jb", quiet=False) as progress:
        wait_until(lambda: said().count("\n") >= 2)
        progress(1, 4)
        wait_until(lambda: "25 %" in said())

    lines = said().splitlines()
    assert lines[0] == "reading a\\x1b[2Jb: 0 s"
    assert lines[-1] == "reading a\\x1b[2Jb: 25 %, 0 s"


def test_quiet_is_quiet(quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    said = heard(monkeypatch)
    before = set(threading.enumerate())
    with Progress("reading", quiet=True):
        assert set(threading.enumerate()) <= before

    assert said() == ""


def test_a_terminal_gets_a_bar(quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")

    with Progress("reading [bold]x", quiet=False) as progress:
        progress(1, 2)
        wait_until(lambda: "reading [bold]x" in terminal.getvalue())


def test_an_error_inside_ends_the_thread(quick: None) -> None:
    before = set(threading.enumerate())
    with pytest.raises(KeyboardInterrupt), Progress("reading", quiet=False):
        raise KeyboardInterrupt

    assert set(threading.enumerate()) <= before


@pytest.mark.parametrize(
    ("done", "total", "width", "line"),
    [
        (1, 2, 100, f"reading [{'#' * 15}{'-' * 15}] 50 %, 3 s"),
        (9, 2, 100, f"reading [{'#' * 30}] 100 %, 3 s"),
        (7, 0, 100, "reading 3 s"),
        (1, 2, 40, "reading 50 %, 3 s"),
        (1, 2, 12, "reading…3 s"),
    ],
)
def test_the_bar_fits_into_the_terminal(done: int, total: int, width: int, line: str) -> None:
    drawn = bar_line("reading", done, total, 3.2, width)

    assert cell_width(drawn) < width
    assert drawn == line


def test_the_bar_is_wiped_in_the_end(quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")

    with Progress("reading", quiet=False) as progress:
        progress(1, 2)
        wait_until(lambda: "50 %" in terminal.getvalue())

    assert terminal.getvalue().endswith("\r\x1b[2K")
    assert "\n" not in terminal.getvalue()


def test_a_dumb_terminal_gets_lines(quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "dumb")

    with Progress("reading", quiet=False):
        wait_until(lambda: "\n" in terminal.getvalue())

    assert terminal.getvalue().splitlines()[0] == "reading: 0 s"


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """No work is long, however slow this machine is."""
    monkeypatch.setattr(progress_module, "SILENT_SECONDS", 3600.0)


def test_what_was_told_is_said_when_the_work_succeeded(
    unhurried: None, capsys: pytest.CaptureFixture[str]
) -> None:
    with Progress("reading", quiet=False) as progress:
        progress.tell("rows that were skipped: 3")
        assert capsys.readouterr().err == ""

    assert capsys.readouterr().err == "note: rows that were skipped: 3\n"


def test_failed_or_quiet_work_says_no_notes(
    unhurried: None, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ZeroDivisionError), Progress("reading", quiet=False) as failing:
        failing.tell("rows that were skipped: 3")
        raise ZeroDivisionError
    with Progress("reading", quiet=True) as silent:
        silent.tell("rows that were skipped: 3")

    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("done", "total", "seconds", "text"),
    [
        (1, 4, 10.0, ", about 30 s left"),
        (3, 4, 10.0, ", about 3 s left"),
        (1, 4, 4.9, ""),  # too early to tell
        (1, 51, 10.0, ""),  # too little to tell from
        (0, 4, 10.0, ""),
        (4, 4, 10.0, ""),
        (5, 4, 10.0, ""),
        (3, 0, 10.0, ""),
    ],
)
def test_what_is_left_is_told_where_it_is_known(
    done: int, total: int, seconds: float, text: str
) -> None:
    assert left_text(done, total, seconds) == text
