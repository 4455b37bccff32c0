"""What a wait instruction waits for: counters and how many operations may stay outstanding.

Waits are spelled with counter names, as one number whose bits hold all counters (`s_waitcnt
0x3f70`), as one instruction per counter (gfx10's s_waitcnt_vscnt, gfx12's s_wait_loadcnt) or for a
pair of counters (s_wait_loadcnt_dscnt).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from wavescope.analyze.capture.isa_family import IsaFamily


class BitField(NamedTuple):
    """Where a counter's limit lies in the number of an s_waitcnt; some are in two pieces."""

    low: int
    width: int
    high: int = 0
    high_width: int = 0

    def value(self, number: int) -> int:
        """The limit that `number` holds."""
        lower = number >> self.low & (1 << self.width) - 1
        return lower | (number >> self.high & (1 << self.high_width) - 1) << self.width

    @property
    def no_wait(self) -> int:
        """The largest limit, which waits for nothing."""
        return (1 << self.width + self.high_width) - 1


_FIELDS: Mapping[IsaFamily, Mapping[str, BitField]] = {
    IsaFamily.GFX9: {
        "vmcnt": BitField(0, 4, 14, 2),
        "expcnt": BitField(4, 3),
        "lgkmcnt": BitField(8, 4),
    },
    IsaFamily.GFX10: {
        "vmcnt": BitField(0, 4, 14, 2),
        "expcnt": BitField(4, 3),
        "lgkmcnt": BitField(8, 6),
    },
    IsaFamily.GFX11: {
        "vmcnt": BitField(10, 6),
        "expcnt": BitField(0, 3),
        "lgkmcnt": BitField(4, 6),
    },
    IsaFamily.GFX12: {},
}
_PAIR_FIELDS = (BitField(8, 6), BitField(0, 6))
_NAMED = re.compile(
    r"(vmcnt|lgkmcnt|vscnt|expcnt|loadcnt|storecnt|samplecnt|dscnt|kmcnt|bvhcnt|asynccnt)"
    r"[\s(]*(?:null\s*,)?\s*(0x[0-9a-f]{1,8}|\d{1,8})",
    re.ASCII,
)
_NUMBER = re.compile(r"s_waitcnt\s+(0x[0-9a-f]{1,8}|\d{1,8})\s*\Z", re.ASCII)
_PAIR = re.compile(r"s_wait_([a-z]+cnt)_([a-z]+cnt)\s+(0x[0-9a-f]{1,8}|\d{1,8})", re.ASCII)
_NOT_MEMORY = ("s_waitcnt_depctr", "s_wait_alu", "s_wait_event")


@dataclass(frozen=True)
class Wait:
    """The limits of a wait by counter; `drains_all` where it waits for everything."""

    limits: Mapping[str, int]
    drains_all: bool = False


def parsed_wait(text: str, family: IsaFamily) -> Wait | None:
    """The wait that `text` spells, None where it is none for memory."""
    text = text.lower()
    if not text.startswith("s_wait") or text.startswith(_NOT_MEMORY):
        return None
    if text.startswith("s_wait_idle"):
        return Wait({}, drains_all=True)
    if pair := _PAIR.match(text):
        number = int(pair[3], 0)
        limits = [field.value(number) for field in _PAIR_FIELDS]
        return Wait({pair[1]: limits[0], pair[2]: limits[1]})
    if whole := _NUMBER.match(text):
        number = int(whole[1], 0)
        fields = _FIELDS[family].items()
        return Wait(
            {
                name: field.value(number)
                for name, field in fields
                if field.value(number) != field.no_wait
            }
        )
    return Wait({name: int(limit, 0) for name, limit in _NAMED.findall(text)})
