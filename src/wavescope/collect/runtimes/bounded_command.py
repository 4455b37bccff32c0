"""Runs a tool of the system to its end, within a time limit, and leaves nothing of it behind."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from wavescope.errors import MachineError


@dataclass(frozen=True)
class CommandEnd:
    """What a tool printed, both streams together, and its exit code."""

    output: str
    status: int


def run_bounded(command: Sequence[str], limit_s: float) -> CommandEnd:
    """Run `command`; it and all it started are gone when this returns or raises."""
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
            output, _ = process.communicate(timeout=limit_s)
        except BaseException as error:
            os.killpg(process.pid, signal.SIGKILL)
            if isinstance(error, subprocess.TimeoutExpired):
                raise MachineError(
                    f"{command[0]} took longer than {limit_s:.0f} s and was stopped",
                    hint="try again; what was fetched is not kept",
                ) from error
            raise
    return CommandEnd(output.decode(errors="replace"), process.returncode)
