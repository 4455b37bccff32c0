"""Tables of metrics as text: numbers, reasons, drawings that fit."""

from __future__ import annotations

import io
from xml.etree import ElementTree

import pytest

from wavescope.analyze.counters.metrics import chart_boxes
from wavescope.model.result import Result, ResultColumn, ResultTable, Unit, Value
from wavescope.render.cells.escape import cell_width
from wavescope.render.counters import NumberStyle
from wavescope.render.counters.memory_chart import memory_chart_lines, memory_chart_svg
from wavescope.render.counters.metric_tables import number_text, reasons, write_metric_text
from wavescope.render.results.text import TextStyle


def a_table(*rows: tuple[Value, ...]) -> ResultTable:
    columns = tuple(
        ResultColumn(name, name.upper(), Unit.NONE)
        for name in ("id", "metric", "avg", "unit", "key", "note")
    )
    return ResultTable("2.1", "2.1 Table", columns, list(rows))


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [
        (1234.567, 2, "1,234.57"),
        (0.0, 2, "0.00"),
        (0.004, 2, "4.0e-03"),
        (-0.0001, 2, "-1.0e-04"),
        (0.006, 2, "0.01"),
        (None, 2, "N/A"),
        (7, 0, "7"),
        ("evil\x1b", 2, "evil\\x1b"),
    ],
)
def test_numbers(value: Value, decimals: int, text: str) -> None:
    assert number_text(value, decimals) == text


def test_each_reason_is_told_once() -> None:
    table = a_table(
        ("2.1.0", "a", 1.0, "%", "k", None),
        *((f"2.1.{at}", "b", None, "%", "k", "N/A: needs X") for at in range(1, 12)),
    )

    assert reasons(table) == [
        "N/A: needs X (2.1.1, 2.1.2, 2.1.3, 2.1.4, 2.1.5, 2.1.6, 2.1.7, 2.1.8 and 3 more)"
    ]


def test_a_long_table_of_nothing_is_one_line() -> None:
    rows = [(f"18.12.{at}", "c", None, "req", "k", "N/A: needs X") for at in range(32)]
    stream = io.StringIO()

    write_metric_text(Result("", [a_table(*rows)]), stream, TextStyle(60), NumberStyle(), {})

    assert stream.getvalue().splitlines()[-1] == "N/A: needs X (all 32 rows)"


def test_text_has_no_empty_cells_and_shows_drawings() -> None:
    table = a_table(("2.1.0", "a", None, "%", "k", "N/A: needs X"))
    stream = io.StringIO()

    write_metric_text(
        Result("T", [table]), stream, TextStyle(60), NumberStyle(), {"2.1": ["<drawing>"]}
    )

    assert stream.getvalue().splitlines() == [
        "T",
        "",
        "2.1 Table",
        "<drawing>",
        "ID     METRIC  AVG  UNIT",
        "-----  ------  ---  ----",
        "2.1.0  a       N/A  %",
        "N/A: needs X (2.1.0)",
    ]


def test_times_are_converted_and_nothing_else() -> None:
    table = a_table(
        ("7.2.0", "Kernel Time", 2_000_000.0, "ns", "k", None),
        ("7.2.2", "Instr", 5.0, "instr/wave", "k", None),
    )
    stream = io.StringIO()

    write_metric_text(Result("T", [table]), stream, TextStyle(80), NumberStyle(1, "ms"), {})

    assert stream.getvalue().splitlines()[-2:] == [
        "7.2.0  Kernel Time  2.0  ms",
        "7.2.2  Instr        5.0  instr/wave",
    ]


BOXES = chart_boxes().values()
CHART = {row: "1,234" for box in BOXES for _, row, _ in box.lines} | {
    row: "99" for box in BOXES for _, row in box.sends
}


@pytest.mark.parametrize("width", [20, 48, 60, 80, 100, 200])
def test_the_memory_chart_fits(width: int) -> None:
    lines = memory_chart_lines(CHART, width)

    assert max(map(cell_width, lines)) <= max(width, 23)
    text = "\n".join(lines)
    assert all(f"┌─ {box.title} " in text for box in BOXES)
    assert text.count("99") == sum(len(box.sends) for box in BOXES)


def test_the_memory_chart_of_nothing_says_so() -> None:
    assert "latency     N/A" in "\n".join(memory_chart_lines({}, 80))


def test_all_first_level_caches_lead_into_the_l2() -> None:
    lines = memory_chart_lines(CHART, 80)

    top = next(at for at, line in enumerate(lines) if "┌─ L2 " in line)
    left, right = lines[top].index("┌"), lines[top].index("┐")
    arrows = [at for line in lines[top - 4 : top] for at, mark in enumerate(line) if mark == "▼"]
    assert len(arrows) == 3
    assert all(left < at < right for at in arrows)


@pytest.mark.parametrize("width", [20, 48, 80, 120])
def test_boxes_are_closed_whatever_is_in_them(width: int) -> None:
    long = dict.fromkeys(CHART, "999,999")

    lines = [line for line in memory_chart_lines(long, width) if "│ " in line and "▼" not in line]

    assert all(line.count("│") % 2 == 0 for line in lines if line.rstrip().endswith("│"))
    assert max(map(cell_width, lines)) <= max(width, 23)


def test_the_drawing_is_sound_and_escapes() -> None:
    svg = memory_chart_svg(CHART | {"L2 Hit": "<&>"})

    texts = [element.text for element in ElementTree.fromstring(svg).iter() if element.text]
    assert "<&> %" in texts
    assert [text for text in texts if text == "rd 99"] == ["rd 99"] * 4
