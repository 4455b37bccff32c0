"""The matrix instructions of a chip as a result: cycles, and what must lie before their use."""

from __future__ import annotations

from typing import NamedTuple

from wavescope.errors import UsageError
from wavescope.model.chips.chip_table import Chip, chips
from wavescope.model.chips.matrix_table import (
    MatrixInstruction,
    OperandWait,
    ResultWaits,
    matrix_instructions,
    operand_waits,
    result_waits,
)
from wavescope.model.result import ColumnOf, Result, ResultColumn, Unit, table_of

_CYCLES_OF_A_PASS = 4
_UNITS = {"xdl": "XDL", "sgemm": "SGEMM", "dgemm": "DGEMM", "wmma": "WMMA"}


class _Row(NamedTuple):
    """An instruction with operands of one kind."""

    instruction: MatrixInstruction
    chip: Chip
    cycles: int
    waits: ResultWaits
    operands: str = ""


def matrix_result(chip: Chip) -> Result:
    """The tables `instructions` and `operand_waits`; a usage error where a chip has none."""
    rows = [row for each in matrix_instructions(chip.name) for row in _rows(chip, each)]
    if not rows:
        known = ", ".join(name for name in chips() if matrix_instructions(name))
        raise UsageError(f"{chip.name} has no matrix instructions", hint=f"there are: {known}")
    return Result(
        f"Matrix instructions of {chip.name}",
        [
            table_of("instructions", "Matrix instructions", _COLUMNS, rows),
            table_of("operand_waits", "Before them", _BEFORE_COLUMNS, operand_waits(chip.name)),
        ],
        facts={
            "chip": chip.name,
            "product": chip.product.name,
            "waits": "independent instructions, or states of s_nop (`s_nop N` is N + 1)",
        },
    )


def _rows(chip: Chip, instruction: MatrixInstruction) -> list[_Row]:
    """One row, or two where the format of the operands decides how long it takes."""

    def row(cycles: int, operands: str = "") -> _Row:
        waits = result_waits(chip.name, instruction.unit, cycles)
        return _Row(instruction, chip, cycles, waits, operands)

    if instruction.cycles_fp8 is None:
        return [row(instruction.cycles)]
    return [
        row(instruction.cycles_fp8, "FP8 or BF8 in A or B"),
        row(instruction.cycles, "FP6 and FP4 only"),
    ]


def _peak_tflops(row: _Row) -> float:
    """What the chip's first product reaches with nothing else, at its highest clock."""
    product = row.chip.product
    per_cycle = row.instruction.operations * row.chip.simds_per_cu / row.cycles
    return per_cycle * product.cus * product.clock_mhz / 1e6


_COLUMNS: tuple[ColumnOf[_Row], ...] = (
    ResultColumn("instruction", "Instruction", Unit.NAME).of(lambda row: row.instruction.name),
    ResultColumn(
        "operands",
        "Operands",
        Unit.NAME,
        "formats for which the cycles hold, where they depend on them",
    ).of(lambda row: row.operands or None),
    ResultColumn(
        "unit", "Unit", Unit.NAME, "kind of matrix unit, which decides how long to wait"
    ).of(lambda row: _UNITS[row.instruction.unit]),
    ResultColumn("blocks", "Blocks", Unit.COUNT, "products of this size at once").of(
        lambda row: row.instruction.blocks
    ),
    ResultColumn("passes", "Passes", Unit.COUNT, "of 4 cycles each").of(
        lambda row: row.cycles // _CYCLES_OF_A_PASS
    ),
    ResultColumn("cycles", "Cycles", Unit.COUNT, "that it keeps the matrix unit of its SIMD").of(
        lambda row: row.cycles
    ),
    ResultColumn("same_c", "Same C", Unit.COUNT, "waits: accumulate into the same registers").of(
        lambda row: row.waits.same_c
    ),
    ResultColumn("other_c", "Other C", Unit.COUNT, "waits: read as C, otherwise overlapping").of(
        lambda row: row.waits.other_c
    ),
    ResultColumn("ab", "A or B", Unit.COUNT, "waits: read as A or B").of(lambda row: row.waits.ab),
    ResultColumn("valu", "VALU", Unit.COUNT, "waits: read by a vector instruction").of(
        lambda row: row.waits.valu
    ),
    ResultColumn("memory", "Memory", Unit.COUNT, "waits: read by a memory instruction").of(
        lambda row: row.waits.memory
    ),
    ResultColumn(
        "peak_tflop_per_s",
        "TFLOP/s",
        Unit.NONE,
        "peak of the chip's first product when nothing else runs",
    ).of(_peak_tflops),
)
_BEFORE_COLUMNS: tuple[ColumnOf[OperandWait], ...] = (
    ResultColumn("first", "First", Unit.NAME).of(lambda wait: wait.first),
    ResultColumn("then", "Then", Unit.NAME).of(lambda wait: wait.then),
    ResultColumn("waits", "Waits", Unit.COUNT, "independent instructions between them").of(
        lambda wait: wait.waits
    ),
)
