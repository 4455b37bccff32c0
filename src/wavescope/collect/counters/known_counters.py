"""Which counters the installed rocprofv3 knows on the GPUs here.

A single counter that it does not know makes a whole pass fail, and versions differ in what they
know of a chip, so that it is asked before anything is run.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Collection, Sequence
from pathlib import Path

from wavescope.model.workload_layout import ACCUMULATOR_SUFFIX, CHANNELS_SUFFIX, collected_name

_WORD = re.compile(r"\b[A-Z][A-Z0-9]*_[A-Za-z0-9_]+\b", re.ASCII)
_CERTAIN = "SQ_WAVES"
"""A counter that every chip has: a list without it is no list."""
_SUM = "_sum"


def known_counters(rocprofv3: Path) -> frozenset[str]:
    """The counters that `rocprofv3 --list-avail` names; none where it names none."""
    try:
        done = subprocess.run(
            [str(rocprofv3), "--list-avail"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=120,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return frozenset()
    return listed_counters(done.stdout)


def listed_counters(text: str) -> frozenset[str]:
    """The counters in a list, whose layout differs between versions; none if it is no list."""
    words = frozenset(_WORD.findall(text))
    return words if _CERTAIN in words else frozenset()


def unknown_counters(counters: Sequence[str], known: Collection[str], chip: str) -> list[str]:
    """Those of `counters` that rocprofv3 does not know; nothing when nothing is known of it."""
    if not known:
        return []
    lists_sums = any(name.endswith(_SUM) for name in known)
    unknown = []
    for counter in counters:
        name = counter.removesuffix(CHANNELS_SUFFIX).removesuffix(ACCUMULATOR_SUFFIX)
        name = name if lists_sums else name.removesuffix(_SUM)
        if collected_name(name, chip) not in known:
            unknown.append(counter)
    return unknown
