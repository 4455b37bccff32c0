"""Results of --json are read back, and files that are none are refused."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from wavescope.errors import UnreadableInputError
from wavescope.formats.results import load_result
from wavescope.model.result import Finding, Result, ResultColumn, ResultTable, Severity, Unit

RESULT = Result(
    "Summary",
    [
        ResultTable(
            "kernels",
            "Kernels",
            (ResultColumn("name", "Name", Unit.NAME, "what"), ResultColumn("t", "T", Unit.NS)),
            [("gemm", 12), ("add", None)],
            7,
        )
    ],
    [
        Finding(
            "idle",
            Severity.WARNING,
            "title",
            "evidence",
            "next",
            "gpu 0",
            1.5,
            "b",
            "SQL",
            {"n": 1},
        )
    ],
    {"op_count": 3, "path": None, "share": 0.5},
)


def written(folder: Path, document: object) -> Path:
    path = folder / "result.json"
    path.write_bytes(orjson.dumps(document))
    return path


def test_a_result_is_read_back_as_it_was(tmp_path: Path) -> None:
    found = load_result(written(tmp_path, RESULT.to_json()))

    assert found.to_json() == RESULT.to_json()


def changed(**fields: object) -> dict[str, object]:
    return {**RESULT.to_json(), **fields}


@pytest.mark.parametrize(
    "document",
    [
        [],
        3,
        {},
        changed(schema="wavescope.result/99"),
        changed(title=3),
        changed(tables={}),
        changed(tables=[3]),
        changed(tables=[{"columns": [{"unit": "furlong"}]}]),
        changed(tables=[{"columns": [], "rows": [[1]]}]),
        changed(tables=[{"columns": [{}], "rows": [[{"a": 1}]]}]),
        changed(findings=[{"severity": "terrible"}]),
        changed(findings=[{"severity": "info", "gain_percent": "much"}]),
        changed(findings=[{"severity": "info", "numbers": {"a": []}}]),
        changed(facts=[]),
    ],
)
def test_what_is_no_result_is_refused(tmp_path: Path, document: object) -> None:
    with pytest.raises(UnreadableInputError):
        load_result(written(tmp_path, document))


def test_no_json_and_no_file_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    with pytest.raises(UnreadableInputError):
        load_result(path)
    path.write_text("{")
    with pytest.raises(UnreadableInputError, match="not JSON"):
        load_result(path)
