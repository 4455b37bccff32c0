"""Runs a tool of the system to its end, within a time limit, and leaves nothing of it behind."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from wavescope.errors import MachineError

_WAITED_S = 5.0


@dataclass(frozen=True)
class CommandEnd:
    """What a tool printed, both streams together, and its exit code."""

    output: str
    status: int


def run_bounded(
    command: Sequence[str], limit_s: float, waited: Callable[[], None] | None = None
) -> CommandEnd:
    """Run `command`; it and all it started are gone when this returns or raises.

    `waited` is called every few seconds while it runs.
    """
    environment = {**os.environ, "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
    except FileNotFoundError as error:
        raise MachineError(
            f"there is no {command[0]} on this machine",
            hint="runtimes are fetched on Debian and Ubuntu; elsewhere copy the folder of one",
        ) from error
    with process:
        try:
            output = _output(process, limit_s, waited)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    if output is None:
        raise MachineError(
            f"{command[0]} took longer than {limit_s:.0f} s and was stopped",
            hint="try again; what was fetched is not kept",
        )
    return CommandEnd(output.decode(errors="replace"), process.returncode)


def _output(
    process: subprocess.Popen[bytes], limit_s: float, waited: Callable[[], None] | None
) -> bytes | None:
    """What a process prints until it ends; None when it was ended for taking too long."""
    deadline = time.monotonic() + limit_s
    while True:
        remaining_s = deadline - time.monotonic()
        try:
            return process.communicate(timeout=min(_WAITED_S, max(0.0, remaining_s)))[0]
        except subprocess.TimeoutExpired:
            if remaining_s <= _WAITED_S:
                os.killpg(process.pid, signal.SIGKILL)
                return None
            if waited:
                waited()
