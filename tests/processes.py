"""Processes that tests started and that others are to end."""

from __future__ import annotations

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
