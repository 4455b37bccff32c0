"""A command that is ended, in whatever way, leaves no worker behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.processes import wait_until_killed

_ROOT = str(Path(__file__).parents[3])
_PROGRAM = """
from wavescope.workers import EngineOptions, Task, run_all
run_all(Task("tests.worked_items:unlucky"), ["sleep 120"] * 4, EngineOptions(workers=2))
"""


def _children(process: int, count: int) -> list[int]:
    deadline_s = time.monotonic() + 60
    while time.monotonic() < deadline_s:
        listed = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        # A child that became its own group leader, and runs our program, has been started.
        found = [int(child) for child in listed if os.getpgid(int(child)) == int(child)]
        if len(found) == count:
            return found
        time.sleep(0.01)
    pytest.fail(f"process {process} started no {count} workers")


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, -signal.SIGINT), (signal.SIGTERM, -signal.SIGTERM), (signal.SIGKILL, -9)],
)
def test_workers_end_with_the_command(number: signal.Signals, code: int) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _PROGRAM],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([_ROOT, os.environ.get("PYTHONPATH", "")])},
    ) as command:
        workers = _children(command.pid, 2)
        time.sleep(0.2)  # they are at work, or about to be: both must end
        os.killpg(command.pid, number)
        _, said = command.communicate(timeout=60)

    assert command.returncode == code
    for worker in workers:
        wait_until_killed(worker)
    assert said.count("Traceback") == (number == signal.SIGINT)
    assert "process_main" not in said
