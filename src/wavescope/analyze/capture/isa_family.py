"""Which instruction set a trace was recorded on, which decides what its counters count."""

from __future__ import annotations

import enum
from typing import NamedTuple

from wavescope.analyze.occupancy.chip_evidence import chip_of as evidence_of
from wavescope.model.capture import ThreadTrace


class IsaFamily(enum.IntEnum):
    """Chips that count outstanding memory operations in the same way."""

    GFX9 = 9
    GFX10 = 10
    GFX11 = 11
    GFX12 = 12


class TracedChip(NamedTuple):
    """A chip's name, its family, and what says so."""

    name: str
    """'' where nothing tells the chip."""
    family: IsaFamily
    basis: str
    is_certain: bool


def chip_of(trace: ThreadTrace) -> TracedChip:
    """The trace's chip: as a file of the capture states it, else as its instructions show.

    filenames.json states the family; where it contradicts a guess, the guess is dropped.
    """
    evidence = evidence_of(trace)
    gfxip = trace.capture.gfxip
    if evidence is not None:
        family = family_of_chip(evidence.chip.name)
        if evidence.is_certain or gfxip is None or family is _family(gfxip):
            return TracedChip(evidence.chip.name, family, evidence.origin, evidence.is_certain)
    if trace.capture.chip:
        chip = trace.capture.chip
        return TracedChip(chip, family_of_chip(chip), trace.capture.chip_origin, True)
    if gfxip is not None:
        return TracedChip("", _family(gfxip), "filenames.json", True)
    return TracedChip("", IsaFamily.GFX9, "nothing tells; gfx9 is assumed", False)


def family_of_chip(chip: str) -> IsaFamily:
    """The family of a name such as gfx90a or gfx1201."""
    major = chip.removeprefix("gfx")[:-2]
    return _family(int(major)) if major.isdecimal() else IsaFamily.GFX9


def _family(gfxip: int) -> IsaFamily:
    return IsaFamily(min(max(gfxip, IsaFamily.GFX9), IsaFamily.GFX12))
