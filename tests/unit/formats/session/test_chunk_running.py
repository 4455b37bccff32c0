"""Whether a recorded process lives: told by what it has mapped, and by when it began."""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from wavescope.formats.session.folder import is_running

MAPS_ITS_FILE = """
import mmap, os, sys
file = os.open(sys.argv[1], os.O_RDWR)
mapped = mmap.mmap(file, 0)
os.close(file)
print("mapped", flush=True)
if sys.stdin.readline() == "become another\\n":
    os.execlp("sh", "sh", "-c", "echo other; read line")
"""


def now_ns() -> int:
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


@pytest.fixture
def facts(tmp_path: Path) -> Path:
    path = tmp_path / "7-8.facts"
    path.write_bytes(bytes(mmap.PAGESIZE))
    return path


@pytest.fixture
def process(facts: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", MAPS_ITS_FILE, str(facts)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as started:
        assert started.stdout is not None
        assert started.stdout.readline() == "mapped\n"
        yield started
        started.kill()


def test_a_process_that_has_its_facts_mapped_runs(
    process: subprocess.Popen[str], facts: Path
) -> None:
    assert is_running(process.pid, now_ns(), facts.name)
    assert not is_running(process.pid, now_ns(), "7-9.facts")
    assert not is_running(os.getpid(), now_ns(), facts.name)


def test_a_later_process_of_the_same_number_is_another(
    process: subprocess.Popen[str], facts: Path
) -> None:
    assert not is_running(process.pid, 1, facts.name)


def test_a_program_that_it_became_is_another(process: subprocess.Popen[str], facts: Path) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("become another\n")
    process.stdin.flush()
    assert process.stdout.readline() == "other\n"

    assert not is_running(process.pid, now_ns(), facts.name)


def test_one_that_ended_and_was_not_waited_for_does_not_run(
    process: subprocess.Popen[str], facts: Path
) -> None:
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)

    assert not is_running(process.pid, now_ns(), facts.name)
