"""Which instruction set a trace was recorded on, from what the capture says or its instructions."""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from typing import NamedTuple

from wavescope.model.thread_trace import ThreadTrace


class IsaFamily(enum.IntEnum):
    """Chips that count outstanding memory operations in the same way."""

    GFX9 = 9
    GFX10 = 10
    GFX11 = 11
    GFX12 = 12


class ChipGuess(NamedTuple):
    """A chip's name, '' where only the family is known, and what says so."""

    name: str
    family: IsaFamily
    basis: str


_BY_MNEMONIC = (
    (r"s_wait_(loadcnt|storecnt|dscnt|kmcnt)|v_swmmac_", "gfx1200", IsaFamily.GFX12),
    (r"v_wmma_|v_dual_|s_delay_alu|ds_bvh_stack", "gfx1100", IsaFamily.GFX11),
    (r"s_waitcnt_vscnt|s_waitcnt_depctr|buffer_gl[01]_inv|s_clause", "gfx1030", IsaFamily.GFX10),
    (r"v_mfma_scale_|v_mfma_\w+_(16x16x128|32x32x64)_", "gfx950", IsaFamily.GFX9),
    (r"v_mfma_f32_(16x16x32|32x32x16)_b?f16", "gfx950", IsaFamily.GFX9),
    (r"v_mfma_i32_(16x16x64|32x32x32)_i8", "gfx950", IsaFamily.GFX9),
    (r"ds_read_b\d+_tr_|v_permlane(16|32)_swap|v_cvt_scalef32_", "gfx950", IsaFamily.GFX9),
    (r"v_m(ax|in)imum3_f32|v_bitop3", "gfx950", IsaFamily.GFX9),
    (r"v_smfmac_|v_mfma_\w*(fp8|bf8|xf32)|v_cvt_\w*fp8", "gfx942", IsaFamily.GFX9),
    (r"v_lshl_add_u64|buffer_inv$", "gfx942", IsaFamily.GFX9),
    (r"v_mfma_\w+_1k|v_mfma_f64_|v_pk_(fma|mul|add|mov)_[bf]32", "gfx90a", IsaFamily.GFX9),
    (r"v_accvgpr_|v_mfma_", "gfx908", IsaFamily.GFX9),
)
"""The newest chips first: what a row matches, no chip before it has."""


def chip_of(trace: ThreadTrace) -> ChipGuess:
    """The trace's chip: as a file of the capture states it, else as its instructions show."""
    capture = trace.capture
    if capture.chip:
        return ChipGuess(capture.chip, family_of_chip(capture.chip), capture.chip_origin)
    guess = _guess(trace.instructions.mnemonics)
    if capture.gfxip is None:
        return guess
    family = _family(capture.gfxip)
    same = guess.family is family and guess.name
    return ChipGuess(guess.name if same else "", family, guess.basis if same else "filenames.json")


def family_of_chip(chip: str) -> IsaFamily:
    """The family of a name such as gfx90a or gfx1201."""
    digits = chip.removeprefix("gfx")
    major = digits[:-2]
    return _family(int(major)) if major.isdecimal() else IsaFamily.GFX9


def _family(gfxip: int) -> IsaFamily:
    return IsaFamily(min(max(gfxip, IsaFamily.GFX9), IsaFamily.GFX12))


def _guess(mnemonics: Sequence[str]) -> ChipGuess:
    text = "\n".join(mnemonics)
    for pattern, chip, family in _BY_MNEMONIC:
        if found := re.search(rf"^(?:{pattern})", text, re.MULTILINE):
            return ChipGuess(chip, family, f"the instruction {found[0]}...")
    return ChipGuess("", IsaFamily.GFX9, "no instruction tells; gfx9 is assumed")
