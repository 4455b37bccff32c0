"""Processes that tests started and that others are to end."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest


def wait_until_killed(process: int) -> None:
    """Come back when the process is gone, or waits to be reaped; a loaded machine takes a while."""
    deadline_s = time.monotonic() + 120
    while time.monotonic() < deadline_s:
        try:
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return
        if state == "Z":
            return
        time.sleep(0.01)
    pytest.fail(f"process {process} still runs")


def wait_for_threads(most: int) -> None:
    """Come back when this process has no more threads than these; some end a moment after their work."""
    deadline_s = time.monotonic() + 120
    while time.monotonic() < deadline_s:
        if threading.active_count() <= most:
            return
        time.sleep(0.01)
    pytest.fail(f"threads that do not end: {[thread.name for thread in threading.enumerate()]}")
