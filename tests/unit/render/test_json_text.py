"""JSON: one schema, any text, streamed rows equal to whole ones."""

from __future__ import annotations

import io
import json

from wavescope.model.result import Finding, Result, ResultColumn, ResultTable, Severity, Unit
from wavescope.render.results.json_text import write_json, write_json_rows

COLUMNS = (ResultColumn("name", "Name", Unit.NAME, "what it is"), ResultColumn("n", "N"))


def test_the_document_has_the_versioned_shape() -> None:
    table = ResultTable("t", "T", COLUMNS, [("a", 1)], 5)
    finding = Finding(
        "id",
        Severity.WARNING,
        "title",
        "evidence",
        "suggestion",
        "where",
        sql="SELECT 1",
        numbers={"op": 7},
    )
    stream = io.BytesIO()

    write_json(Result("R", [table], [finding], {"path": "x"}), stream)

    assert stream.getvalue().endswith(b"}\n")
    assert json.loads(stream.getvalue()) == {
        "schema": "wavescope.result/1",
        "title": "R",
        "facts": {"path": "x"},
        "tables": [
            {
                "name": "t",
                "title": "T",
                "columns": [
                    {"name": "name", "title": "Name", "unit": "name", "meaning": "what it is"},
                    {"name": "n", "title": "N", "unit": "", "meaning": ""},
                ],
                "rows": [["a", 1]],
                "total_rows": 5,
            }
        ],
        "findings": [
            {
                "id": "id",
                "severity": "warning",
                "title": "title",
                "evidence": "evidence",
                "suggestion": "suggestion",
                "where": "where",
                "gain_percent": None,
                "gain_basis": "",
                "sql": "SELECT 1",
                "numbers": {"op": 7},
            }
        ],
    }


def test_streamed_rows_make_the_same_document() -> None:
    rows = [("a</script>\n", 1), ('"rows":[]', None)]
    whole, streamed = io.BytesIO(), io.BytesIO()

    write_json(Result("Q", [ResultTable("q", "Q", COLUMNS, list(rows))]), whole)
    write_json_rows(Result("Q", [ResultTable("q", "Q", COLUMNS)]), rows, streamed)

    assert json.loads(streamed.getvalue()) == json.loads(whole.getvalue())


def test_no_rows_is_an_empty_list() -> None:
    stream = io.BytesIO()

    write_json_rows(Result("Q", [ResultTable("q", "Q", COLUMNS)]), [], stream)

    assert json.loads(stream.getvalue())["tables"][0]["rows"] == []


def test_bytes_and_text_that_utf8_cannot_hold_are_spelled() -> None:
    stream = io.BytesIO()

    write_json_rows(
        Result("Q", [ResultTable("q", "Q", COLUMNS)], facts={"path": "bad\udcff"}),
        [(b"\x01", "bad\udcff")],
        stream,
    )

    document = json.loads(stream.getvalue())
    assert document["facts"] == {"path": "bad\\udcff"}
    assert document["tables"][0]["rows"] == [["01", "bad\\udcff"]]


def test_sums_beyond_64_bits_stay_exact_and_what_is_no_number_is_null() -> None:
    stream = io.BytesIO()

    write_json(Result("t", facts={"sum": 2**70, "ratio": float("nan")}), stream)

    assert json.loads(stream.getvalue())["facts"] == {"sum": 2**70, "ratio": None}
