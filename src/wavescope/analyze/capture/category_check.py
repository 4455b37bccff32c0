"""Holds the kinds that texts give against the categories that the decoder wrote for each event."""

from __future__ import annotations

import numpy as np

from wavescope.analyze.capture.decoded import DecodedTrace
from wavescope.analyze.capture.instruction_kinds import CODE_OF, KINDS, WAIT_KINDS, Kind
from wavescope.model.capture import Category, Flags

_PIECE = 1 << 18
_MOST_CATEGORIES = 256
_MEMORY = (Category.VMEM, Category.FLAT)
_EXPECTED: dict[Kind, tuple[Category, ...]] = {
    Kind.SMEM: (Category.SMEM,),
    Kind.SALU: (Category.SALU,),
    Kind.VMEM_LOAD: (*_MEMORY, Category.BVH),
    Kind.LOAD_TO_LDS: _MEMORY,
    Kind.VMEM_STORE: _MEMORY,
    Kind.ATOMIC: _MEMORY,
    Kind.SCRATCH: _MEMORY,
    Kind.LDS: (Category.LDS,),
    Kind.LDS_ATOMIC: (Category.LDS,),
    Kind.LDS_PERMUTE: (Category.LDS,),
    Kind.VALU: (Category.VALU,),
    Kind.VALU_TRANSCENDENTAL: (Category.VALU,),
    Kind.VALU_PERMUTE: (Category.VALU,),
    Kind.MATRIX: (Category.VALU,),
    Kind.BRANCH: (Category.JUMP_TAKEN, Category.JUMP_NOT_TAKEN, Category.SALU),
    Kind.BARRIER: (Category.IMMEDIATE, Category.MESSAGE),
    **dict.fromkeys(WAIT_KINDS, (Category.IMMEDIATE,)),
}
"""Kinds that are not here may be anything; category NONE may be anything too."""


def disagreeing_events(decoded: DecodedTrace) -> int:
    """Executed instructions whose category does not fit their text: another kernel's code?"""
    fits = _fitting()
    waves = decoded.waves
    kinds = np.append(decoded.kind_code, CODE_OF[Kind.OTHER])
    count = 0
    for first in range(0, waves.event_count, _PIECE):
        piece = slice(first, first + _PIECE)
        count += int((~fits[kinds[waves.row[piece]], waves.category[piece]]).sum())
    return count


def _fitting() -> Flags:
    """By kind and category whether they go together."""
    fits = np.ones((len(KINDS), _MOST_CATEGORIES), np.bool_)
    known = [category.value for category in Category if category is not Category.NONE]
    for kind, categories in _EXPECTED.items():
        fits[CODE_OF[kind], known] = False
        fits[CODE_OF[kind], [category.value for category in categories]] = True
    return fits
