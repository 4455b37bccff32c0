"""How values of result columns and facts are spelled."""

from __future__ import annotations

import pytest

from wavescope.model.result import ResultColumn, ResultTable, Unit, Value
from wavescope.render.cells.columns import fact_label, fact_text, format_column, format_columns


@pytest.mark.parametrize(
    ("unit", "values", "shown_unit", "cells"),
    [
        (Unit.NS, [1_500, 2_500_000, 3_000], "us", ["1.5", "2,500.0", "3.0"]),
        (Unit.NS, [12, 900, None], "ns", ["12", "900", "-"]),
        (Unit.NS, [1_234_567_890], "s", ["1.235"]),
        (Unit.NS, [0, 0], "ns", ["0", "0"]),
        (Unit.NS, [5_000_000_000_000, 2_000, 1], "ms", ["5,000,000.0", "0.0", "0.0"]),
        (Unit.BYTES, [4_096, 131_072], "kB", ["4.10", "131.07"]),
        (Unit.NS, [-2, -1_500_000, 2_000_000], "ms", ["0.000", "-1.500", "2.000"]),
        (Unit.PERCENT, [-0.04, -0.06, 0.0], "%", ["0.0", "-0.1", "0.0"]),
        (Unit.COUNT, [1_234_567, 0], "", ["1,234,567", "0"]),
        (Unit.PERCENT, [12.345, None], "%", ["12.3", "-"]),
        (Unit.GB_PER_S, [1234.56], "GB/s", ["1,234.6"]),
        (Unit.TIME, [1_000_000_000_001], "ns", ["1000000000001"]),
        (Unit.NAME, ["a\nb", None], "", ["a\\nb", "-"]),
        (Unit.NONE, [120.0, 163.3, 0.5709, 1.679], "", ["120.00", "163.30", "0.57", "1.68"]),
        (Unit.NONE, [0.5709, None, 1.679], "", ["0.571", "-", "1.679"]),
        (Unit.NONE, [120.5, 0.0004], "", ["120.5", "0.0004"]),
        (Unit.NONE, [2.0, 3.0], "", ["2", "3"]),
        (Unit.NONE, [1.23456, 12_345.6, float("nan"), True], "", ["1.235", "12,345.6", "-", "yes"]),
    ],
)
def test_a_column_is_spelled_in_one_unit(
    unit: Unit, values: list[Value], shown_unit: str, cells: list[str]
) -> None:
    column = format_column(ResultColumn("x", "X", unit), values)

    assert (column.unit, column.cells) == (shown_unit, cells)


def test_a_unit_is_not_repeated_below_a_title_that_has_it() -> None:
    assert format_column(ResultColumn("p", "Busy %", Unit.PERCENT), [1.0]).unit == ""
    assert format_column(ResultColumn("b", "GB/s", Unit.GB_PER_S), [1.0]).unit == ""


def test_numbers_are_told_from_texts() -> None:
    assert format_column(ResultColumn("gpu", "GPU"), [0, None]).is_number
    assert not format_column(ResultColumn("host", "Host"), [None, None]).is_number
    assert not format_column(ResultColumn("mixed", "Mixed"), [1, "a"]).is_number


def test_columns_without_any_value_are_not_shown() -> None:
    columns = (ResultColumn("a", "A"), ResultColumn("b", "B"))
    table = ResultTable("t", "T", columns, [(None, 1), (None, 2)])

    assert [column.title for column in format_columns(table)] == ["B"]
    assert [column.title for column in format_columns(ResultTable("t", "T", columns))] == [
        "A",
        "B",
    ]


@pytest.mark.parametrize(
    ("key", "value", "label", "text"),
    [
        ("gpu_busy_ns", 1_500_000, "gpu busy", "1.500 ms"),
        ("first_timestamp_ns", 123, "first timestamp", "123 ns"),
        ("size_bytes", 2_048, "size", "2.048 kB"),
        ("copy_count", 1_200, "copies", "1,200"),
        ("kernel_launch_count", 3, "kernel launches", "3"),
        ("gpu_busy_percent", 89.111, "gpu busy", "89.1 %"),
        ("coverage", None, "coverage", "-"),
        ("path", "a\x1b[2Jb", "path", "a\\x1b[2Jb"),
        ("is_open", True, "is open", "yes"),
    ],
)
def test_a_facts_key_tells_its_unit(key: str, value: Value, label: str, text: str) -> None:
    assert (fact_label(key), fact_text(key, value)) == (label, text)


def test_columns_that_are_compared_have_one_unit() -> None:
    names = ("base_mean_ns", "new_mean_ns", "delta_ns")
    columns = tuple(ResultColumn(name, name, Unit.NS) for name in names)
    rows: list[tuple[Value, ...]] = [(900_000, 2_000_000, 1_100_000), (700_000, 1_000, -699_000)]

    base, new, _ = format_columns(ResultTable("t", "T", columns, rows))

    assert (base.unit, base.cells) == ("us", ["900.0", "700.0"])
    assert (new.unit, new.cells) == ("us", ["2,000.0", "1.0"])
