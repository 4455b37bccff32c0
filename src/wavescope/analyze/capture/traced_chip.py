"""Which chip a capture was taken on, and so how its instructions count: stated, or told by them."""

from __future__ import annotations

import enum
import re
from typing import NamedTuple

from wavescope.model.capture import Capture
from wavescope.model.chips.chip_table import Chip, find_chip


class ChipEvidence(NamedTuple):
    """The chip, how it was found, and whether another of its family would look the same."""

    chip: Chip
    origin: str
    is_certain: bool


class _Sign(NamedTuple):
    pattern: re.Pattern[str]
    chip: str
    words: str


def _sign(chip: str, words: str, *beginnings: str) -> _Sign:
    return _Sign(re.compile("|".join(beginnings), re.ASCII), chip, words)


_GFX950 = _sign(
    "gfx950",
    "instructions that only gfx950 has",
    r"v_mfma_scale_",
    r"v_mfma_ld_scale_",
    r"v_mfma_f32_(16x16x128|32x32x64)_f8f6f4",
    r"v_mfma_f32_(16x16x32|32x32x16)_b?f16",
    r"v_mfma_i32_(16x16x64|32x32x32)_i8",
    r"v_smfmac_f32_(16x16x64|32x32x32)_b?f16",
    r"v_smfmac_i32_(16x16x128|32x32x64)_i8",
    r"v_smfmac_f32_(16x16x128|32x32x64)_(fp8|bf8)",
    r"ds_read_b(64|96)_tr_",
    r"v_permlane(16|32)_swap",
    r"v_cvt_scalef32_",
    r"v_cvt_pk_bf16_f32",
    r"v_bitop3_",
    r"v_prng_b32",
    r"v_ashr_pk_",
    r"v_(maximum|minimum)3_f32",
    r"v_pk_(maximum|minimum)3_f16",
    r"global_load_lds_dwordx[34]",
)
"""Chips after gfx9 have some of them, too: the family decides between those."""
_WIDE_TO_LDS = re.compile(r"buffer_load_dwordx[34]\s.*\blds\b", re.ASCII)
_SIGNS = (
    _sign(
        "gfx942",
        "matrix instructions of gfx94x",
        r"v_smfmac_",
        r"v_cvt_\w*(fp8|bf8)",
        r"v_mfma_[a-z0-9]+_\d+x\d+x\d+_",
        r"v_lshl_add_u64",
        r"buffer_inv\Z",
    ),
    _sign(
        "gfx1201",
        "waits of gfx12",
        r"s_wait_(loadcnt|dscnt|kmcnt|storecnt)",
        r"s_barrier_signal",
        r"v_swmmac_",
    ),
    _sign("gfx1100", "instructions of gfx11", r"v_wmma_", r"s_delay_alu", r"v_dual_"),
    _sign("gfx1030", "waits of gfx10", r"s_waitcnt_vscnt", r"s_waitcnt_depctr", r"s_inst_prefetch"),
    _sign(
        "gfx90a",
        "instructions of gfx90a",
        r"v_mfma_f64_",
        r"v_mfma_\w+_1k",
        r"v_pk_(fma|mul|add|mov)_[bf]32",
        r"v_accvgpr_mov",
    ),
    _sign("gfx908", "matrix instructions of gfx908", r"v_mfma_", r"v_accvgpr_(read|write)"),
    _sign("gfx942", "instructions of gfx9", r"v_(addc|subb)_co_u32", r"v_(add|sub|subrev)_u32"),
)
_FAMILY_CHIP = {9: "gfx942", 10: "gfx1030", 11: "gfx1100", 12: "gfx1201"}


def chip_evidence(capture: Capture, asked: Chip | None = None) -> ChipEvidence | None:
    """The chip of a trace; None where neither files nor instructions tell anything.

    Instructions that only gfx950 has decide against what a file says: files are copied, and name
    the machine that they are on.
    """
    if asked is not None:
        return ChipEvidence(asked, "as asked", True)
    stated = find_chip(capture.facts.chip) if capture.facts.chip else None
    if _is_gfx950(capture, stated):
        return _evidence(_GFX950, is_certain=True)
    if stated is not None:
        return ChipEvidence(stated, capture.facts.chip_origin or "capture", True)
    for sign in _SIGNS:
        if _has(capture, sign):
            return _evidence(sign, is_certain=False)
    family = find_chip(_FAMILY_CHIP.get(capture.facts.gfxip or 0, ""))
    if family is None:
        return None
    return ChipEvidence(family, f"instruction set gfx{capture.facts.gfxip}", False)


def _is_gfx950(capture: Capture, stated: Chip | None) -> bool:
    if capture.facts.gfxip not in {None, 9} or (
        stated is not None and family_of_chip(stated.name) is not IsaFamily.GFX9
    ):
        return False
    return _has(capture, _GFX950) or any(map(_WIDE_TO_LDS.match, capture.instructions.text))


def _has(capture: Capture, sign: _Sign) -> bool:
    return any(map(sign.pattern.match, capture.instructions.mnemonics))


def _evidence(sign: _Sign, *, is_certain: bool) -> ChipEvidence:
    chip = find_chip(sign.chip)
    assert chip is not None
    return ChipEvidence(chip, sign.words, is_certain)


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

    @property
    def words(self) -> str:
        """The chip and what says so; a guess is called one."""
        name = self.name or f"an unknown chip of the gfx{int(self.family)} family"
        return f"{name} ({self.basis}{'' if self.is_certain else ': a guess'})"


def traced_chip(capture: Capture) -> TracedChip:
    """The trace's chip: as a file of the capture states it, else as its instructions show.

    filenames.json states the family; where it contradicts a guess, the guess is dropped.
    """
    evidence = chip_evidence(capture)
    gfxip = capture.facts.gfxip
    if evidence is not None:
        family = family_of_chip(evidence.chip.name)
        if evidence.is_certain or gfxip is None or family is _family(gfxip):
            return TracedChip(evidence.chip.name, family, evidence.origin, evidence.is_certain)
    if capture.facts.chip:
        chip = capture.facts.chip
        return TracedChip(chip, family_of_chip(chip), capture.facts.chip_origin, True)
    if gfxip is not None:
        return TracedChip("", _family(gfxip), "filenames.json", True)
    return TracedChip("", IsaFamily.GFX9, "nothing tells; gfx9 is assumed", False)


def family_of_chip(chip: str) -> IsaFamily:
    """The family of a name such as gfx90a or gfx1201."""
    major = chip.removeprefix("gfx")[:-2]
    return _family(int(major)) if major.isdecimal() else IsaFamily.GFX9


def _family(gfxip: int) -> IsaFamily:
    return IsaFamily(min(max(gfxip, IsaFamily.GFX9), IsaFamily.GFX12))
