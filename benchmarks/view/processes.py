"""CPU seconds and memory of a process and everything it started, read from /proc."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_TICKS = os.sysconf("SC_CLK_TCK")


class Usage(NamedTuple):
    """What processes took so far: CPU, and memory with what they share counted once."""

    cpu_s: float
    pss_mb: float

    def since(self, earlier: Usage) -> Usage:
        """How much more than `earlier`."""
        return Usage(self.cpu_s - earlier.cpu_s, self.pss_mb - earlier.pss_mb)


def usage(process: int) -> Usage:
    """Of the process and of all it started that still run."""
    cpu_s, pss_kb = 0.0, 0
    for each in _family(process):
        with suppress(OSError):
            fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
            cpu_s += (int(fields[11]) + int(fields[12])) / _TICKS
            pss_kb += _pss_kb(each)
    return Usage(cpu_s, pss_kb / 1000)


def _pss_kb(process: int) -> int:
    lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def _family(process: int) -> Iterator[int]:
    yield process
    with suppress(OSError):
        for task in Path(f"/proc/{process}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from _family(int(child))
