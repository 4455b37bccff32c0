"""Which vector registers an instruction writes and reads, from its text."""

from __future__ import annotations

import functools
import re
from typing import NamedTuple

_OPERAND = re.compile(r"\b([va])(?:(\d{1,3})\b|\[(\d{1,3}):(\d{1,3})\])", re.ASCII)
_WRITES_NOTHING = re.compile(
    r"(buffer|tbuffer|global|flat|scratch|image)_(store|atomic)|ds_(write|store|add|nop)|v_cmp|s_|exp"
)
_LONGEST = 512

Registers = frozenset[tuple[str, int]]


class Operands(NamedTuple):
    """Registers as ('v', 12); `last_read` are those of the last source, a matrix's accumulator."""

    written: Registers
    read: Registers
    last_read: Registers


@functools.lru_cache(maxsize=65_536)
def operands_of(text: str) -> Operands:
    """Written and read registers of an instruction; most of them write their first operand."""
    mnemonic, _, rest = text[:_LONGEST].strip().partition(" ")
    groups = [_registers(match) for match in _OPERAND.finditer(rest)]
    if not groups:
        return Operands(frozenset(), frozenset(), frozenset())
    if _WRITES_NOTHING.match(mnemonic) or not rest.lstrip().startswith(("v", "a")):
        return Operands(frozenset(), frozenset().union(*groups), groups[-1])
    first, others = groups[0], groups[1:]
    read = frozenset().union(*others)
    if mnemonic.startswith(("v_fmac", "v_mac", "v_dot2c", "v_smfmac")):
        read |= first
    return Operands(first, read, others[-1] if others else frozenset())


def _registers(match: re.Match[str]) -> Registers:
    kind, single, low, high = match.groups()
    first = int(single if single is not None else low)
    last = int(single if single is not None else high)
    return frozenset((kind, number) for number in range(first, min(last, first + 63) + 1))
