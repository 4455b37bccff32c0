"""When to give up a program that does not end: a limit, or nothing moving for a long time.

rocprofv3 is seen to wait for ever after an error of its own. Then no process of it uses the CPU any
more, which a program that works does now and then, however it waits for its GPU.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from wavescope.units import NS_PER, duration_text

STANDSTILL_S = 300.0
TIMES_AS_LONG = 10
SHORTEST_S = 60.0
GRACE_S = 10.0
"""How long a program that was asked to end has to write down what it has."""


@dataclass(frozen=True)
class Patience:
    """How long to wait for a program; 0 is for ever."""

    limit_s: float = 0.0
    """For its end."""
    standstill_s: float = STANDSTILL_S
    """For any of its processes to use the CPU again."""
    basis: str = ""
    """What the limit follows from, where nobody stated it."""


def patience_for(limit_s: float, longest_run_s: float) -> Patience:
    """What was asked for; else many times the longest of the runs that ended well."""
    if limit_s:
        return Patience(limit_s)
    if not longest_run_s:
        return Patience()
    limit_s = max(SHORTEST_S, TIMES_AS_LONG * longest_run_s)
    return Patience(limit_s, basis=f", {TIMES_AS_LONG} times as long as the longest run before it")


class Watch:
    """Tells when a running program is to be given up; asked again and again."""

    def __init__(
        self,
        patience: Patience,
        used_ticks: Callable[[], int],
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """`used_ticks` is what all processes of the program have used of the CPU so far."""
        self._patience = patience
        self._used_ticks = used_ticks
        self._now_s = now_s
        self._began_s = self._moved_s = now_s()
        self._ticks = -1

    def verdict(self) -> str:
        """Why to give up, or nothing."""
        now_s = self._now_s()
        patience = self._patience
        if patience.limit_s and now_s - self._began_s >= patience.limit_s:
            return f"it did not end within {_text(patience.limit_s)}{patience.basis}"
        if not patience.standstill_s:
            return ""
        ticks = self._used_ticks()
        if ticks != self._ticks:
            self._ticks, self._moved_s = ticks, now_s
        if now_s - self._moved_s >= patience.standstill_s:
            return f"nothing of it has moved for {_text(now_s - self._moved_s)}"
        return ""


def _text(seconds: float) -> str:
    return duration_text(int(seconds * NS_PER["s"]))


def cpu_ticks(process: int) -> int:
    """What a process, without those it started, has used of the CPU; 0 when it is gone."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(errors="replace")
    except OSError:
        return 0
    fields = text.rpartition(")")[2].split()
    try:
        return int(fields[11]) + int(fields[12])
    except (IndexError, ValueError):
        return 0
