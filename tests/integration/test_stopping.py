"""Signals end a command soon, whatever is at work, with its exit code and no files left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.builders import a_trace, random_ops
from tests.sample_files import write_as

LONGEST_S = 10
"""Far more than it takes: machines are busy."""
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"

AT_WORK = """
import os, runpy, sys
import {module} as module
real = module.{name}
def told(*arguments, **options):
    os.write(3, b"x")
    return real(*arguments, **options)
module.{name} = told
sys.argv = ["wavescope", *sys.argv[1:]]
runpy.run_module("wavescope", run_name="__main__")
"""
"""The program, which tells when it gets to what takes long."""
IN_NATIVE_CODE = """
import ctypes, os, runpy, sys
import wavescope.formats.sniff as sniff

def sleeping(path):
    os.write(3, b"x")
    # EINTR does not end it, as it does not end a loop of native code.
    library = ctypes.CDLL(None)
    while True:
        library.pthread_mutex_lock(lock)

lock = ctypes.create_string_buffer(64)
sniff._probe_file = sleeping
runpy.run_module("wavescope", run_name="__main__")
"""
"""The program inside of a call that no signal ends: a lock that it holds already."""
WHILE_IMPORTING = """
import os, runpy, signal, sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "wavescope.cli.commands":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
runpy.run_module("wavescope", run_name="__main__")
"""
WHILE_GETTING_READY = """
import os, runpy, signal
import wavescope.cli.main as main

main.prepare_streams = lambda: os.kill(os.getpid(), signal.SIGINT)
runpy.run_module("wavescope", run_name="__main__")
"""
SWALLOWED = """
import os, runpy, signal, sys, time
import wavescope.formats.sniff as sniff

class Unwilling:
    def __del__(self):
        os.kill(os.getpid(), signal.{name})
        time.sleep(0.001)

def swallowing(path):
    Unwilling()
    while True:
        time.sleep(0.001)

sniff._probe_file = swallowing
runpy.run_module("wavescope", run_name="__main__")
"""
"""The program, told to stop while Python unmakes an object, where exceptions are ignored."""
LOADING = """
import os, runpy, signal, sys, time
import wavescope.formats.sniff as sniff

class ExtensionFileLoader:
    def exec_module(self):
        os.kill(os.getpid(), signal.{name})
        time.sleep(0.1)
        print("whole", flush=True)

def loading(path):
    ExtensionFileLoader().exec_module()
    while True:
        time.sleep(0.001)

sniff._probe_file = loading
runpy.run_module("wavescope", run_name="__main__")
"""
"""The program, told to stop while a library makes itself ready, which must not be unwound."""
FAILING = """
import os, runpy, signal, sys, time
import wavescope.formats.sniff as sniff
from wavescope.errors import UnreadableInputError

class HalfMade:
    def __del__(self):
        self.missing

def failing(path):
    half_made = HalfMade()
    try:
        os.kill(os.getpid(), signal.{name})
        time.sleep(60)
    except BaseException:
        raise {error}

sniff._probe_file = failing
runpy.run_module("wavescope", run_name="__main__")
"""
"""The program, in which what is interrupted takes that for an error of its own."""


def stopped(
    program: str, arguments: list[str], number: signal.Signals, folder: Path
) -> subprocess.CompletedProcess[str]:
    """How the program ended that was sent a signal when it said that it is at work."""
    temporary = folder / "tmp"
    temporary.mkdir()
    said, says = os.pipe()
    line = [sys.executable, "-c", f"import os; os.dup2({says}, 3)\n{program}", *arguments]
    with subprocess.Popen(
        line,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        pass_fds=[says],
        env={**os.environ, "TMPDIR": str(temporary)},
    ) as process:
        os.close(says)
        assert os.read(said, 1) == b"x", process.communicate()[1]
        time.sleep(0.2)  # it said so just before
        process.send_signal(number)
        try:
            out, err = process.communicate(timeout=LONGEST_S)
        finally:
            process.kill()
            os.close(said)
    assert list(temporary.iterdir()) == []
    return subprocess.CompletedProcess(line, process.returncode, out, err)


@pytest.mark.parametrize("number", STOPS)
def test_while_sqlite_is_at_work(number: signal.Signals, tmp_path: Path) -> None:
    trace = write_as(a_trace().with_kernel("k", 1, 2), tmp_path / "trace.json")
    program = AT_WORK.format(module="wavescope.api.queries", name="ReadOnlyQuery")

    ended = stopped(program, ["query", str(trace), ENDLESS], number, tmp_path)

    assert ended.returncode == 128 + number
    assert "Traceback" not in ended.stderr


def test_while_a_regular_expression_is_matched(tmp_path: Path) -> None:
    trace = write_as(a_trace().with_kernel("a" * 60, 1, 2), tmp_path / "trace.db")
    program = AT_WORK.format(module="wavescope.api.summaries", name="summary")

    ended = stopped(
        program, ["summary", str(trace), "--kernel", "(a+)+$x"], signal.SIGTERM, tmp_path
    )

    assert (ended.returncode, ended.stderr) == (143, "")


@pytest.mark.parametrize("number", STOPS)
def test_inside_a_call_that_python_cannot_interrupt(number: signal.Signals, tmp_path: Path) -> None:
    trace = write_as(random_ops(5), tmp_path / "trace.db")
    output = tmp_path / "out.db"

    ended = stopped(IN_NATIVE_CODE, ["convert", str(trace), "-o", str(output)], number, tmp_path)

    assert (ended.returncode, ended.stderr) == (128 + number, "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tmp", "trace.db"]


@pytest.mark.parametrize("program", [WHILE_IMPORTING, WHILE_GETTING_READY])
def test_ctrl_c_during_the_start_is_quiet(program: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", program, "--version"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "")


def test_an_ignored_ctrl_c_stays_ignored() -> None:
    ignoring = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
    ran = subprocess.run(
        [sys.executable, "-c", f"{ignoring}\n{WHILE_IMPORTING}", "--version"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert ran.returncode == 0
    assert ran.stdout.startswith("wavescope ")


def ended_by_itself(program: str, folder: Path) -> tuple[int, str, str]:
    trace = write_as(a_trace().with_kernel("k", 1, 2), folder / "trace.db")
    ran = subprocess.run(
        [sys.executable, "-c", program, "summary", str(trace)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return ran.returncode, ran.stdout, ran.stderr


@pytest.mark.parametrize("number", STOPS)
def test_a_stop_that_python_ignores_comes_again(number: signal.Signals, tmp_path: Path) -> None:
    said = "interrupted\n" if number == signal.SIGINT else ""

    ended = ended_by_itself(SWALLOWED.format(name=number.name), tmp_path)

    assert ended == (128 + number, "", said)


@pytest.mark.parametrize("number", STOPS)
def test_a_library_that_is_being_loaded_is_loaded_first(
    number: signal.Signals, tmp_path: Path
) -> None:
    said = "interrupted\n" if number == signal.SIGINT else ""

    ended = ended_by_itself(LOADING.format(name=number.name), tmp_path)

    assert ended == (128 + number, "whole\n", said)


@pytest.mark.parametrize(
    "error", ["UnreadableInputError(path, 'damaged')", "ImportError('x')", "OSError(5, 'x')"]
)
def test_what_fails_because_it_was_stopped_is_no_error(error: str, tmp_path: Path) -> None:
    ended = ended_by_itself(FAILING.format(name="SIGTERM", error=error), tmp_path)

    assert ended == (143, "", "")
