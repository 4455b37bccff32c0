"""CSV holds raw numbers, and texts that no spreadsheet runs; raw texts read back exactly."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wavescope.model.result import ResultColumn, ResultTable, Unit
from wavescope.render.results.csv_rows import write_csv, write_rows


def test_names_are_stable_and_values_raw() -> None:
    columns = (ResultColumn("name", "Kernel", Unit.NAME), ResultColumn("t_ns", "Total", Unit.NS))
    stream = io.StringIO()

    rows = [('a,"b"\nc', 1_500), ("d", None)]
    write_csv(ResultTable("k", "K", columns, rows), stream, raw_text=True)

    assert stream.getvalue() == 'name,t_ns\n"a,""b""\nc",1500\nd,\n'


def test_a_single_empty_value_is_still_a_row() -> None:
    stream = io.StringIO()

    write_rows(["only"], [("",), (None,)], stream)

    assert stream.getvalue() == 'only\n""\n""\n'


def test_bytes_and_broken_text_have_a_spelling() -> None:
    stream = io.StringIO()

    write_rows(["a", "b"], [(b"\x00\xff", "x\udcff")], stream)

    assert stream.getvalue() == "a,b\n00ff,x\\udcff\n"


@given(st.lists(st.tuples(st.text(st.characters(exclude_categories=["Cs"])), st.integers())))
def test_every_text_reads_back(rows: list[tuple[str, int]]) -> None:
    stream = io.StringIO(newline="")

    write_rows(["text", "number"], rows, stream, raw_text=True)

    read = list(csv.reader(io.StringIO(stream.getvalue(), newline="")))
    assert read == [["text", "number"], *([text, str(number)] for text, number in rows)]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("=HYPERLINK(A1)", "'=HYPERLINK(A1)"),
        ("+1+cmd", "'+1+cmd"),
        ("-2+3", "'-2+3"),
        ("@SUM(A1)", "'@SUM(A1)"),
        (" =1+1", "' =1+1"),
        ("\uff1d1", "'\uff1d1"),
        ("\t=1", "\\t=1"),
        ("\r=1", "\\r=1"),
        ("-3.5", "-3.5"),
        ("+1e-9", "+1e-9"),
        ("-x", "'-x"),
        ("a=b", "a=b"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\nb", "a\\nb"),
        ("\u202egpj.exe", "\\u202egpj.exe"),
        ("\U000e0041", "\\U000e0041"),
        ("=cmd|'/C calc'!A0,\"", "'=cmd|'/C calc'!A0,\""),
    ],
)
def test_no_text_is_a_formula_or_holds_control_characters(text: str, shown: str) -> None:
    stream = io.StringIO()

    write_rows([text], [(text, -3.5, -7)], stream)

    (names, row) = csv.reader(io.StringIO(stream.getvalue(), newline=""))
    assert names == [shown]
    assert row == [shown, "-3.5", "-7"]


@given(st.text())
def test_no_cell_begins_as_a_formula_does(text: str) -> None:
    stream = io.StringIO(newline="")

    write_rows(["text"], [(text,)], stream)

    (_, (cell,)) = csv.reader(io.StringIO(stream.getvalue(), newline=""))
    assert cell[:1] not in {*"=@\t\r\n"}
    if cell[:1] in {"+", "-"}:
        float(cell)
    assert not any(ord(character) < 32 or 0x7F <= ord(character) < 0xA0 for character in cell)
