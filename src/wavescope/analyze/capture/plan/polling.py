"""Loops that read one address until something else changes it: their time is that of others."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from wavescope.analyze.capture.analysis import CaptureAnalysis
from wavescope.analyze.capture.instruction_kinds import MEMORY_KINDS, Kind
from wavescope.analyze.capture.plan.loops import Loop
from wavescope.model.capture import Flags

_READS = (Kind.VMEM_LOAD, Kind.SMEM)
_WORKS = (
    *(kind for kind in MEMORY_KINDS if kind not in _READS),
    Kind.MATRIX,
    Kind.BARRIER,
    Kind.EXPORT,
)
_FRESH = re.compile(r"\b(sc0 sc1|sc1|glc|scope:scope_(se|dev|sys))\b", re.ASCII)
"""Reads that pass caches by, to see what others wrote."""
_LONGEST = 64
"""Rows: a loop that only looks at a value and decides is short."""
_REGISTER = re.compile(r"\b([sva])(?:(\d{1,3})\b|\[(\d{1,3}):(\d{1,3})\])|\b(m0|vcc)\b", re.ASCII)
_WRITES_NONE = re.compile(r"s_(cmp|bitcmp|cbranch|branch|wait|sleep|nop|set)|v_cmpx?_\w+ vcc")


def polling_rows(analysis: CaptureAnalysis, loops: list[Loop]) -> Flags:
    """By row whether it is of a loop that only reads the same address anew in each round.

    It passes caches by, or the loop empties them or sleeps: it looks for what others write.
    """
    found = np.zeros(len(analysis.instructions), np.bool_)
    reads, works = analysis.is_of(*_READS), analysis.is_of(*_WORKS)
    looks_anew = analysis.is_of(Kind.CACHE, Kind.SLEEP)
    for loop in loops:
        if loop.last - loop.first >= _LONGEST:
            break  # the shortest come first
        rows = np.arange(loop.first, loop.last + 1)
        rows = rows[analysis.executed_rows[rows]]
        if not reads[rows].any() or works[rows].any():
            continue
        texts = {row: analysis.instructions.text[row].strip().lower() for row in rows.tolist()}
        written = {one for text in texts.values() for one in _written(text)}
        polled = rows[reads[rows]].tolist()
        if not looks_anew[rows].any() and not any(_FRESH.search(texts[row]) for row in polled):
            continue
        if not any(written & set(_address(texts[row])) for row in polled):
            found[rows] = True
    return found


def _written(text: str) -> Iterator[str]:
    """The registers of the first operand, which is what instructions of such a loop write."""
    mnemonic, _, operands = text.partition(" ")
    if not _WRITES_NONE.match(text) and not mnemonic.startswith("buffer_inv"):
        yield from _registers(operands.partition(",")[0])


def _address(text: str) -> Iterator[str]:
    """The registers that say where a read reads: all but what it writes."""
    yield from _registers(text.partition(",")[2])


def _registers(operands: str) -> Iterator[str]:
    for kind, single, low, high, name in _REGISTER.findall(operands):
        if name:
            yield name
            continue
        first = int(single or low)
        for number in range(first, min(int(single or high), first + 15) + 1):
            yield f"{kind}{number}"
