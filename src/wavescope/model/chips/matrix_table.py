"""Matrix instructions as their tables state them: cycles, and waits before their result is used."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import NamedTuple

from wavescope.model.chips.chip_table import table

CYCLES_OF_A_PASS = 4
_MNEMONIC = re.compile(r"\s*([a-z0-9_]+)", re.ASCII)
_FORMAT = re.compile(r"\b(cbsz|blgp):(\d)", re.ASCII)
_ENCODING = re.compile(r"_e(32|64)\Z")
_SHAPE = re.compile(r"_(\d+)x(\d+)x(\d+)", re.ASCII)
_EIGHT_BIT_FORMATS = (0, 1)
_LONGEST_TEXT = 512


class MatrixInstruction(NamedTuple):
    """One instruction of a chip."""

    name: str
    unit: str
    """xdl, sgemm, dgemm or wmma: decides how long to wait."""
    blocks: int
    """Products of the named size that it computes at once."""
    cycles: int
    cycles_fp8: int | None
    """Where an operand is FP8 or BF8 and that differs."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Rows, columns and depth of a product."""
        found = _SHAPE.search(self.name)
        assert found is not None
        rows, columns, depth = found.groups()
        return int(rows), int(columns), int(depth)

    @property
    def operations(self) -> int:
        """Multiplications and additions of all blocks; of a sparse one as if it were dense."""
        rows, columns, depth = self.shape
        return 2 * rows * columns * depth * self.blocks


class ResultWaits(NamedTuple):
    """Independent instructions between a matrix instruction and who needs its result, by who.

    None is unknown.
    """

    same_c: int | None = None
    other_c: int | None = None
    ab: int | None = None
    valu: int | None = None
    memory: int | None = None


class OperandWait(NamedTuple):
    """Independent instructions that must lie between two others."""

    first: str
    then: str
    waits: int


def matrix_cycles(chip_name: str, text: str) -> int | None:
    """Cycles of the matrix instruction `text` on a chip; None where the table does not say."""
    found = _MNEMONIC.match(text)
    instruction = _found(chip_name, found.group(1)) if found else None
    if instruction is None:
        return None
    has_fp8 = instruction.cycles_fp8 is not None and _reads_eight_bits(text)
    return instruction.cycles_fp8 if has_fp8 else instruction.cycles


def matrix_instructions(chip_name: str) -> list[MatrixInstruction]:
    """All of a chip, in the order of the table."""
    return list(_by_key(chip_name).values())


def result_waits(chip_name: str, unit: str, cycles: int) -> ResultWaits:
    """Waits for the result of an instruction of so many cycles."""
    for rule in table("matrix_waits.toml")["rule"]:
        if chip_name in rule["chips"] and unit in rule["units"]:
            passes = cycles // CYCLES_OF_A_PASS
            if passes in rule["passes"]:
                place = rule["passes"].index(passes)
                known = {name: rule[name][place] for name in ResultWaits._fields if name in rule}
                return ResultWaits(**known)
    return ResultWaits()


def operand_waits(chip_name: str) -> list[OperandWait]:
    """Waits before matrix and memory instructions for what vector instructions wrote."""
    return [
        OperandWait(row["first"], row["then"], row["waits"])
        for row in table("matrix_waits.toml")["before"]
        if chip_name in row["chips"]
    ]


def _found(chip_name: str, mnemonic: str) -> MatrixInstruction | None:
    """The instruction; gfx94x takes the `_1k` of gfx90a as another spelling."""
    known, key = _by_key(chip_name), _key(mnemonic)
    return known.get(key) or known.get(key.removesuffix("1k"))


def _key(mnemonic: str) -> str:
    """A mnemonic without what assemblers spell differently: underscores and encodings."""
    return _ENCODING.sub("", mnemonic).replace("_", "")


def _reads_eight_bits(text: str) -> bool:
    formats = {key: int(value) for key, value in _FORMAT.findall(text[:_LONGEST_TEXT])}
    return any(formats.get(key, 0) in _EIGHT_BIT_FORMATS for key in ("cbsz", "blgp"))


@functools.cache
def _by_key(chip_name: str) -> Mapping[str, MatrixInstruction]:
    return {
        _key(name): MatrixInstruction(
            name, row["unit"], row.get("blocks", 1), row["cycles"], row.get("cycles_fp8")
        )
        for row in table("matrix_instructions.toml")["instruction"]
        if chip_name in row["chips"]
        for name in row["names"]
    }
