"""Tests that a shell or nohup runs in the background: what they start can still be told to end."""

from __future__ import annotations

import subprocess
import sys

IN_THE_BACKGROUND = """
import os, signal, subprocess, sys

signals = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)
for number in signals:
    signal.signal(number, signal.SIG_IGN)

import tests.conftest

child = "import signal; print(*(signal.getsignal(each) is not signal.SIG_IGN for each in (1, 2, 3)))"
subprocess.run([sys.executable, "-c", child], check=True)
os.kill(os.getpid(), signal.SIGHUP)
print("goes on")
"""


def test_programs_do_not_inherit_that_signals_are_ignored() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", IN_THE_BACKGROUND], capture_output=True, text=True, check=True
    )

    assert ran.stdout.splitlines() == ["True True True", "goes on"]
