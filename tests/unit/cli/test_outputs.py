"""Printing a result leaves the result as it is."""

from __future__ import annotations

import copy

import pytest

from wavescope.cli.options import OutputFormat, OutputOptions
from wavescope.cli.outputs import print_result, without_details
from wavescope.model.result import Result, ResultColumn, ResultTable


def a_result() -> Result:
    columns = (ResultColumn("name", "Name"),)
    return Result(
        "Things",
        [
            ResultTable("main", "Main", columns, [("a",), ("b",), ("c",)]),
            ResultTable("detail", "Detail", columns, [("d",)]),
            ResultTable("empty", "Empty", columns),
        ],
    )


@pytest.mark.parametrize("wanted", OutputFormat)
def test_printing_changes_nothing(wanted: OutputFormat, capfd: pytest.CaptureFixture[str]) -> None:
    result = a_result()
    before = copy.deepcopy(result)

    print_result(result, OutputOptions(wanted, rows=1, tables=("main",)))

    assert result == before
    assert "a" in capfd.readouterr().out


def test_details_are_left_out_of_what_people_read() -> None:
    result = a_result()

    shown, hidden = without_details(result, OutputOptions(), ["detail", "empty"])

    assert [table.name for table in shown.tables] == ["main"]
    assert hidden == ["detail"]
    assert result == a_result()


@pytest.mark.parametrize(
    "options", [OutputOptions(OutputFormat.JSON), OutputOptions(tables=("detail",))]
)
def test_programs_and_who_names_tables_get_everything(options: OutputOptions) -> None:
    result = a_result()

    assert without_details(result, options, ["detail"]) == (result, [])
