"""What --json prints has the shape that docs/json.md promises, for every command."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.sample_files import rich_trace, write_as
from wavescope.cli.main import main
from wavescope.model.result import RESULT_SCHEMA, Severity, Unit

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "json.md").read_text()
EXAMPLE = json.loads(re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)[0])
COMMANDS = (
    ("info", "TRACE"),
    ("info", "TRACE", "--markers", "--kernels"),
    ("info", "--formats"),
    ("summary", "TRACE"),
    ("summary", "TRACE", "--per", "gpu", "--all-ops", "-n", "2"),
    ("summary", "TRACE", "--gpu", "9"),
    ("summary", "TRACE", "--table", "kernels"),
    ("compare", "TRACE", "TRACE"),
    ("compare", "TRACE", "TRACE", "TRACE", "--by", "kernel,phase,step", "-n", "2"),
    ("phases", "TRACE"),
    ("phases", "TRACE", "--per", "thread", "--keep-numbers", "-n", "1"),
    ("phases", "TRACE", "--without-markers"),
    ("steps", "TRACE"),
    ("findings", "TRACE"),
    ("analyze-trace", "TRACE"),
    ("query", "TRACE", "SELECT *, NULL AS absent, 0.5 AS half FROM rocpd_op"),
    ("convert", "TRACE", "-o", "out.pftrace"),
    ("report", "TRACE", "-o", "report.html"),
    ("trim", "TRACE", "-o", "part.db", "--gpu", "0"),
    ("merge", "TRACE", "TRACE", "-o", "all.db"),
    ("occupancy", "--arch", "gfx942", "--vgpr", "128"),
    ("occupancy", "--chips"),
    ("metrics", "l2"),
    ("doctor",),
)


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_as(rich_trace(), tmp_path_factory.mktemp("json") / "trace.db")


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_json_is_as_the_page_says(
    command: tuple[str, ...],
    trace: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)

    assert main([str(trace) if word == "TRACE" else word for word in command] + ["--json"]) == 0

    document = json.loads(capfd.readouterr().out)
    assert_same_keys(document, EXAMPLE)
    assert document["schema"] == RESULT_SCHEMA == EXAMPLE["schema"]
    for value in document["facts"].values():
        assert value is None or isinstance(value, str | int | float | bool)
    for table in document["tables"]:
        assert_table(table)
    for finding in document["findings"]:
        assert_same_keys(finding, EXAMPLE["findings"][0])
        assert finding["severity"] in {severity.value for severity in Severity}


def assert_table(table: dict[str, Any]) -> None:
    assert_same_keys(table, EXAMPLE["tables"][0])
    units = [column["unit"] for column in table["columns"]]
    for column in table["columns"]:
        assert_same_keys(column, EXAMPLE["tables"][0]["columns"][0])
        assert column["unit"] in {unit.value for unit in Unit}
    assert table["total_rows"] >= len(table["rows"])
    for row in table["rows"]:
        assert len(row) == len(units)
        for value, unit in zip(row, units, strict=True):
            if unit == Unit.TIME.value:
                assert value is None or isinstance(value, int)


def assert_same_keys(found: dict[str, Any], expected: dict[str, Any]) -> None:
    assert found.keys() == expected.keys()


def test_the_page_lists_every_unit_and_severity() -> None:
    for choice in (*Unit, *Severity):
        assert not choice.value or f"`{choice.value}`" in PAGE


def test_rows_that_are_cut_are_counted(trace: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["summary", str(trace), "--json", "-n", "1"]) == 0

    kernels = json.loads(capfd.readouterr().out)["tables"][0]
    assert (len(kernels["rows"]), kernels["total_rows"]) == (1, 3)
