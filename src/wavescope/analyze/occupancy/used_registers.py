"""How many registers a traced kernel has: what its instructions name against what files say."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from wavescope.model.capture import KernelFacts
from wavescope.model.chips.chip import Accumulators, Chip

_SINGLE = {kind: re.compile(rf"\b{kind}(\d{{1,3}})\b", re.ASCII) for kind in "va"}
_RANGE_END = {kind: re.compile(rf"\b{kind}\[\d{{1,3}}:(\d{{1,3}})\]", re.ASCII) for kind in "va"}


class RegisterCounts(NamedTuple):
    """Vector registers of a lane, and what had to be decided to know them."""

    vgprs: int
    agprs: int
    origin: str
    note: str = ""


def named_registers(texts: Sequence[str]) -> tuple[int, int]:
    """One more than the highest VGPR and AGPR that instructions name; ranges count to their end."""
    text = "\n".join(text for text in texts if not text.startswith(";"))
    return _count(text, "v"), _count(text, "a")


def register_counts(
    chip: Chip, facts: KernelFacts | None, named: tuple[int, int]
) -> RegisterCounts:
    """The registers that decide occupancy."""
    vgprs, agprs = named
    if facts is None or facts.vgpr_count is None:
        return RegisterCounts(
            vgprs, agprs, "instructions", "only the traced code is known: a lower bound"
        )
    stated, accumulated = facts.vgpr_count, facts.accum_vgpr_count or 0
    if chip.accumulators is not Accumulators.UNIFIED:
        found = max(vgprs, stated), max(agprs, accumulated)
        return RegisterCounts(*found, facts.origin)
    total = _together(vgprs, agprs)
    if chip.name == "gfx950" and not accumulated and stated < total <= 2 * stated:
        return RegisterCounts(
            2 * stated - agprs,
            agprs,
            f"{facts.origin}, doubled",
            f"{facts.origin} says {stated} registers, instructions name {total}: ROCm up to 7.2 "
            "states half of gfx950's",
        )
    if total > stated + accumulated:
        return RegisterCounts(
            vgprs,
            agprs,
            "instructions",
            f"instructions name {total} registers, {facts.origin} says {stated + accumulated}",
        )
    return RegisterCounts(stated, accumulated, facts.origin)


def _together(vgprs: int, agprs: int) -> int:
    return -(-vgprs // 4) * 4 + agprs if agprs else vgprs


def _count(text: str, kind: str) -> int:
    numbers = {*_SINGLE[kind].findall(text), *_RANGE_END[kind].findall(text)}
    return max((int(number) + 1 for number in numbers), default=0)
