"""`wavescope view` told to end while it is at work: it waits for nothing and leaves nothing."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.integration.test_view_command import asked
from tests.processes import wait_until_killed
from tests.sample_files import rich_trace, write_as
from wavescope.errors import EXIT_INTERRUPTED

PATIENCE_S = 120
STUCK = """
import sys, tempfile, threading
from itertools import count
from pathlib import Path
from types import ModuleType
from wavescope.cli.main import main
from wavescope.view.server.questions import QUESTIONS

def answer(asked):
    with asked.view.turn, tempfile.TemporaryDirectory() as folder:
        try:
            for number in count():
                Path(folder, str(number)).touch()
        except OSError:
            threading.Event().wait()

module = ModuleType("wavescope.view.answers.stuck")
module.answer = answer
sys.modules[module.__name__] = module
QUESTIONS["stuck"] = "answers.stuck:answer"
sys.exit(main(["view", "--no-browser", "--no-cache", "--quiet", sys.argv[1]]))
"""
"""The command, with a question that never ends and makes file after file."""
TOLD_TWICE = STUCK.replace('"--quiet", ', "").replace(
    "\nmodule =",
    """
import os, signal
from wavescope.cli import view

def say(text):
    if text.startswith("ended"):
        os.kill(os.getpid(), signal.SIGINT)

view.say = say

module =""",
)
"""The same, and Ctrl-C comes once more while it says that it ends."""
HANGUP_IGNORED = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n" + STUCK
"""The same as nohup runs it."""
ENDLESS_SQL = """
import json, sys
from pathlib import Path
from wavescope.view.answers import Asked
from wavescope.view.answers.sql import answer_within
from wavescope.view.answers.sql_process import SqlLimits
from wavescope.view.opening import open_view

statement = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
view = open_view(sys.argv[1], cache=False)
answer_within(Asked([view], {"sql": statement}), SqlLimits(wall_s=3600))
"""


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_as(rich_trace(), tmp_path_factory.mktemp("ended") / "trace.db")


@contextmanager
def running(program: str, trace: Path, folder: Path) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", program, str(trace)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(folder)},
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def asked_in_vain(process: subprocess.Popen[str], folder: Path) -> Iterator[None]:
    """While the block runs, the question that never ends is being answered."""
    address = first_line(process)

    def ask() -> None:
        with suppress(OSError):
            asked(address, "api/stuck")

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    try:
        wait_for(folder, "*/*/0")
        yield
    finally:
        process.kill()
        asking.join(PATIENCE_S)


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def wait_for(path: Path, pattern: str) -> Path:
    deadline_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline_s:
        found = next(path.glob(pattern), None)
        if found is not None:
            return found
        time.sleep(0.01)
    pytest.fail(f"there is no {pattern} in {path}")


@pytest.mark.parametrize(
    ("stop", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_an_answer_that_takes_forever_is_not_waited_for(
    trace: Path, tmp_path: Path, stop: signal.Signals, code: int
) -> None:
    with running(STUCK, trace, tmp_path) as process, asked_in_vain(process, tmp_path):
        process.send_signal(stop)
        output = process.communicate(timeout=PATIENCE_S)

    assert (process.returncode, *output) == (code, "", "")
    assert list(tmp_path.iterdir()) == []


def test_nor_is_it_when_told_twice(trace: Path, tmp_path: Path) -> None:
    with running(TOLD_TWICE, trace, tmp_path) as process, asked_in_vain(process, tmp_path):
        process.send_signal(signal.SIGINT)
        output = process.communicate(timeout=PATIENCE_S)

    assert (process.returncode, *output) == (EXIT_INTERRUPTED, "", "")
    assert list(tmp_path.iterdir()) == []


def test_under_nohup_it_outlives_the_terminal(trace: Path, tmp_path: Path) -> None:
    with running(HANGUP_IGNORED, trace, tmp_path) as process:
        address = first_line(process)
        process.send_signal(signal.SIGHUP)
        assert asked(address, "api/traces")[0] == 200
        process.terminate()
        output = process.communicate(timeout=PATIENCE_S)

    assert (process.returncode, *output) == (128 + signal.SIGTERM, "", "")
    assert list(tmp_path.iterdir()) == []


def test_a_second_ctrl_c_disturbs_no_cleaning_up(trace: Path, tmp_path: Path) -> None:
    with running(STUCK, trace, tmp_path) as process:
        first_line(process)
        for _ in range(3):
            process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE_S)

    assert "Traceback" not in errors
    assert list(tmp_path.iterdir()) == []


def test_a_statement_ends_with_its_server(trace: Path, tmp_path: Path) -> None:
    with running(ENDLESS_SQL, trace, tmp_path) as process:
        child = wait_for_statement(process.pid)
        process.kill()
    try:
        wait_until_killed(child)
    finally:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)


def wait_for_statement(server: int) -> int:
    """The process of a statement, which has given itself limits and begins."""
    deadline_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline_s:
        for child in Path(f"/proc/{server}/task/{server}/children").read_text().split():
            if re.search(r"Max cpu time +3601", Path(f"/proc/{child}/limits").read_text()):
                return int(child)
        time.sleep(0.01)
    pytest.fail("no statement runs")
