"""How many cycles a matrix instruction keeps the matrix unit of its SIMD busy."""

from __future__ import annotations

import functools
import re
from typing import NamedTuple

from wavescope.model.chips.catalogue import table

_MNEMONIC = re.compile(r"\s*([a-z0-9_]+)", re.ASCII)
_FORMAT = re.compile(r"\b(cbsz|blgp):(\d)", re.ASCII)
_EIGHT_BIT_FORMATS = (0, 1)
_LONGEST_TEXT = 512


class _Row(NamedTuple):
    chips: frozenset[str]
    mnemonic: re.Pattern[str]
    cycles: int
    cycles_fp8: int | None


def is_matrix_instruction(text: str) -> bool:
    """Whether the instruction runs in the matrix unit."""
    return text.lstrip().startswith(("v_mfma", "v_smfmac", "v_wmma", "v_swmmac"))


def matrix_cycles(chip_name: str, text: str) -> int | None:
    """Cycles of the matrix instruction `text` on a chip; None where the table does not say."""
    found = _MNEMONIC.match(text)
    if found is None:
        return None
    for row in _rows():
        if chip_name in row.chips and row.mnemonic.fullmatch(found.group(1)):
            has_fp8 = row.cycles_fp8 is not None and _reads_eight_bits(text)
            return row.cycles_fp8 if has_fp8 else row.cycles
    return None


def _reads_eight_bits(text: str) -> bool:
    formats = {key: int(value) for key, value in _FORMAT.findall(text[:_LONGEST_TEXT])}
    return any(formats.get(key, 0) in _EIGHT_BIT_FORMATS for key in ("cbsz", "blgp"))


@functools.cache
def _rows() -> tuple[_Row, ...]:
    return tuple(
        _Row(
            frozenset(row["chips"]),
            re.compile(row["mnemonic"], re.ASCII),
            row["cycles"],
            row.get("cycles_fp8"),
        )
        for row in table("matrix_cycles.toml")["instruction"]
    )
