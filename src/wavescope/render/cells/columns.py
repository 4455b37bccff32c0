"""Spells the values of result columns and facts for people.

A column of times or sizes gets one unit for all its rows, so that numbers can be compared by eye;
so do two columns that are there to be compared, as base and new. Plain fractions get one number of
decimals, unless a value would then show as zero.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

from wavescope.model.result import Finding, Result, ResultColumn, ResultTable, Unit, Value
from wavescope.render.cells.escape import visible
from wavescope.units import NS_PER, fixed_text, value_text

_COMPARED = (("base_", "new_"), ("baseline_", "traced_"))
"""Beginnings of the names of columns that are compared with one another."""
_BYTES_PER = {"B": 1, "kB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000, "TB": 1_000_000_000_000}


@dataclass(frozen=True, eq=False)
class FormattedColumn:
    """A column ready for a table: title, unit below it, one text per row.

    Two columns of a query may look the same, so each is equal only to itself.
    """

    title: str
    unit: str
    cells: list[str]
    is_number: bool
    is_share: bool = False


_ORIGIN = "first_timestamp_ns"
"""The fact that times are counted from; without it timestamps stay as they are."""


def counted_from_start(result: Result) -> Result:
    """The result with timestamps as people read them: as times since the trace's first event."""
    origin_ns = result.facts.get(_ORIGIN)
    if not isinstance(origin_ns, int):
        return result
    return result.with_only_tables(_relative(table, origin_ns) for table in result.tables)


def _relative(table: ResultTable, origin_ns: int) -> ResultTable:
    is_time = [column.unit is Unit.TIME for column in table.columns]
    if not any(is_time):
        return table

    def since(value: Value) -> Value:
        return value - origin_ns if isinstance(value, int) else value

    columns = tuple(
        column._replace(unit=Unit.NS) if column.unit is Unit.TIME else column
        for column in table.columns
    )
    rows = [
        tuple(since(value) if timed else value for value, timed in zip(row, is_time, strict=True))
        for row in table.rows
    ]
    return replace(table, columns=columns, rows=rows)


def format_columns(table: ResultTable) -> list[FormattedColumn]:
    """The columns of a table that hold anything; all of them when there are no rows."""
    by_column = list(zip(*table.rows, strict=True)) or [()] * len(table.columns)
    return [
        format_column(column, values, counterpart_of(table, column))
        for column, values in zip(table.columns, by_column, strict=True)
        if not values or any(value is not None for value in values)
    ]


def counterpart_of(table: ResultTable, column: ResultColumn) -> list[Value]:
    """The values that those of a column are compared with: none for most columns."""
    for one, other in (*_COMPARED, *(pair[::-1] for pair in _COMPARED)):
        name = other + column.name.removeprefix(one)
        if column.name.startswith(one) and any(name == each.name for each in table.columns):
            return table.column(name)
    return []


def format_column(
    column: ResultColumn, values: Sequence[Value], beside: Sequence[Value] = ()
) -> FormattedColumn:
    """The texts of one result column, in a unit that suits its values and those `beside` them."""
    compared = [*values, *beside]
    scale = _scale(column.unit, compared)
    if scale is not None:
        label, divisor = scale
        decimals = _decimals(compared, divisor)
        cells = [_scaled(value, divisor, decimals) for value in values]
        return FormattedColumn(visible(column.title), label, cells, True)
    if column.unit is Unit.PERCENT:
        cells = [_number(value, 1) for value in values]
        unit = "" if column.title.endswith("%") else "%"
        return FormattedColumn(visible(column.title), unit, cells, True, is_share=True)
    if column.unit is Unit.GB_PER_S:
        unit = "" if column.title.endswith("GB/s") else "GB/s"
        cells = [_number(value, 1) for value in values]
        return FormattedColumn(visible(column.title), unit, cells, True)
    common = _common_decimals(column.unit, compared)
    if common is not None:
        cells = [_number(value, common) for value in values]
        return FormattedColumn(visible(column.title), "", cells, True)
    cells = [_plain(column.unit, value) for value in values]
    is_number = column.unit in {Unit.COUNT, Unit.TIME} or _all_numbers(values)
    return FormattedColumn(
        visible(column.title), "ns" if column.unit is Unit.TIME else "", cells, is_number
    )


def gain_text(finding: Finding) -> str:
    """What a finding says can be gained: 'up to 12.0 %: no gaps left'; empty if it does not."""
    if finding.gain_percent is None:
        return ""
    basis = f": {finding.gain_basis}" if finding.gain_basis else ""
    return f"up to {finding.gain_percent:.1f} %{basis}"


def fact_label(key: str) -> str:
    """The words of a fact's key, without the unit: 'gpu_busy_ns' reads 'gpu busy'."""
    if key.endswith("_count"):
        key = _plural(key.removesuffix("_count"))
    for suffix in ("_ns", "_bytes", "_percent"):
        key = key.removesuffix(suffix)
    return key.replace("_", " ")


def _plural(noun: str) -> str:
    if noun.endswith("y"):
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith("ch") else "s")


def fact_text(key: str, value: Value) -> str:
    """A fact's value; the key's ending tells the unit."""
    if value is None or isinstance(value, bool | str):
        return _plain(Unit.NONE, value)
    if key.endswith("_timestamp_ns"):
        return f"{value} ns"
    if key.endswith("_percent"):
        return f"{value_text(value, '%')} %"
    units = {"_ns": "ns", "_bytes": "bytes"}
    unit = next((unit for ending, unit in units.items() if key.endswith(ending)), "")
    return value_text(value, unit or ("count" if isinstance(value, int) else ""))


def _scale(unit: Unit, values: Sequence[Value]) -> tuple[str, int] | None:
    units = {Unit.NS: NS_PER, Unit.BYTES: _BYTES_PER}.get(unit)
    if units is None:
        return None
    sizes = sorted(abs(value) for value in values if _is_number(value) and value)
    if not sizes:
        return next(iter(units.items()))
    typical = max(sizes[len(sizes) // 2], sizes[-1] / 1_000_000)
    return [(label, per) for label, per in units.items() if per <= max(typical, 1)][-1]


def _decimals(values: Sequence[Value], divisor: int) -> int:
    if divisor == 1:
        return 0
    largest = max((abs(value) for value in values if _is_number(value)), default=0) / divisor
    return _decimals_beside(largest)


def _decimals_beside(largest: float) -> int:
    """How many decimals suit a column whose largest value is this."""
    return 3 if largest < 10 else 2 if largest < 1000 else 1


def _common_decimals(unit: Unit, values: Sequence[Value]) -> int | None:
    """The decimals of a column of plain fractions; None where one number does not suit them all.

    That is where a value would show as zero, or where values are whole.
    """
    sizes = [abs(value) for value in values if isinstance(value, float) and math.isfinite(value)]
    if unit is not Unit.NONE or not sizes or not _all_numbers(values):
        return None
    if any(isinstance(value, int) for value in values) or all(map(float.is_integer, sizes)):
        return None
    decimals = _decimals_beside(max(sizes))
    smallest = min(filter(None, sizes))
    return decimals if round(smallest, decimals) else None


def _scaled(value: Value, divisor: int, decimals: int) -> str:
    return _number(value / divisor if _is_number(value) else value, decimals)


def _number(value: Value, decimals: int) -> str:
    return fixed_text(value, decimals) if _is_number(value) else _plain(Unit.NONE, value)


def _plain(unit: Unit, value: Value) -> str:
    is_count = unit is Unit.COUNT and isinstance(value, int)
    return visible(value_text(value, "count" if is_count else ""))


def _is_number(value: object) -> TypeGuard[int | float]:
    """Whether `value` can be shown as a number: neither a bool nor not-a-number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)


def _all_numbers(values: Sequence[Value]) -> bool:
    return any(_is_number(value) for value in values) and all(
        value is None or _is_number(value) for value in values
    )
