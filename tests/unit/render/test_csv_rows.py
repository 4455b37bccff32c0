"""CSV holds raw values that read back exactly."""

from __future__ import annotations

import csv
import io

from hypothesis import given
from hypothesis import strategies as st

from wavescope.model.result import ResultColumn, ResultTable, Unit
from wavescope.render.results.csv_rows import write_csv, write_rows


def test_names_are_stable_and_values_raw() -> None:
    columns = (ResultColumn("name", "Kernel", Unit.NAME), ResultColumn("t_ns", "Total", Unit.NS))
    stream = io.StringIO()

    write_csv(ResultTable("k", "K", columns, [('a,"b"\nc', 1_500), ("d", None)]), stream)

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

    write_rows(["text", "number"], rows, stream)

    read = list(csv.reader(io.StringIO(stream.getvalue(), newline="")))
    assert read == [["text", "number"], *([text, str(number)] for text, number in rows)]
