"""Which chip a thread trace was taken on: stated, or told by its instructions."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from wavescope.model.capture import ThreadTrace
from wavescope.model.chips.catalogue import find_chip
from wavescope.model.chips.chip import Chip


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


_SIGNS = (
    _sign(
        "gfx950",
        "instructions that only gfx950 has",
        r"v_mfma_scale_",
        r"v_mfma_f32_(16x16x128|32x32x64)_f8f6f4",
        r"v_mfma_f32_(16x16x32|32x32x16)_b?f16",
        r"v_mfma_i32_(16x16x64|32x32x32)_i8",
        r"ds_read_b(64|96)_tr_",
        r"v_permlane(16|32)_swap",
        r"v_cvt_scalef32_",
        r"v_bitop3_",
        r"v_(maximum|minimum)3_f32",
    ),
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


def chip_of(trace: ThreadTrace, asked: Chip | None = None) -> ChipEvidence | None:
    """The chip of a trace; None where neither files nor instructions tell anything."""
    if asked is not None:
        return ChipEvidence(asked, "as asked", True)
    stated = find_chip(trace.capture.chip) if trace.capture.chip else None
    if stated is not None:
        return ChipEvidence(stated, trace.capture.chip_origin or "capture", True)
    by_instructions = _by_instructions(trace.instructions.mnemonics)
    if by_instructions is not None:
        return by_instructions
    family = find_chip(_FAMILY_CHIP.get(trace.capture.gfxip or 0, ""))
    if family is None:
        return None
    return ChipEvidence(family, f"instruction set gfx{trace.capture.gfxip}", False)


def _by_instructions(mnemonics: Iterable[str]) -> ChipEvidence | None:
    words = list(mnemonics)
    for sign in _SIGNS:
        if any(sign.pattern.match(word) for word in words):
            chip = find_chip(sign.chip)
            assert chip is not None
            return ChipEvidence(chip, sign.words, sign.chip == "gfx950")
    return None
