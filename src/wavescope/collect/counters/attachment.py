"""Counting in a program that runs already, to which rocprofv3 attaches itself.

A program can be attached to when it was started with ROCP_TOOL_ATTACH=1, or with a ROCm that is
built to allow it always.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from wavescope.errors import UsageError

SYNC_OPTION = "--attach-sync-output"
"""Where rocprofv3 has it: the files are whole when it ends."""
_ALLOWED = b"ROCP_TOOL_ATTACH=1"
HOW_TO_ALLOW = (
    "start the program with ROCP_TOOL_ATTACH=1 in its environment, and attach as its user"
)


@dataclass(frozen=True)
class Attachment:
    """A running process, and for how long it is counted: until Enter is pressed, if 0."""

    pid: int
    duration_ms: int = 0
    waits_for_files: bool = False

    @property
    def options(self) -> list[str]:
        """rocprofv3's options for it."""
        duration = ["--attach-duration-msec", str(self.duration_ms)] if self.duration_ms else []
        return ["--pid", str(self.pid), *duration, *([SYNC_OPTION] if self.waits_for_files else [])]

    @property
    def words(self) -> tuple[str, ...]:
        """What stands where other workloads have the command of their program."""
        return ("--attach-pid", str(self.pid))


def require_running(pid: int) -> None:
    """Refuse a process that is not there."""
    if not Path(f"/proc/{pid}").is_dir():
        raise UsageError(
            f"there is no process {pid}", hint="`pgrep -af NAME` lists processes by name"
        )


def is_known_not_to_allow(pid: int) -> bool:
    """Whether the process's environment can be read and does not allow to be attached to."""
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False
    return _ALLOWED not in environment.split(b"\0")


def require_one_pass(count: int) -> None:
    """Refuse what takes several passes: what a running program does is not done again."""
    if count > 1:
        raise UsageError(
            f"this takes {count} passes, and a running program can be attached to for one only",
            hint="ask for less: --set NAME, or -b with few metrics; --plan shows the passes",
        )
