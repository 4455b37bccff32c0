"""Results are values: nothing changes them once they are made."""

from __future__ import annotations

import dataclasses

import pytest

from wavescope.model.result import Result, ResultColumn, ResultTable


def test_results_stay_what_they_are() -> None:
    result = Result("r", [ResultTable("t", "T", (ResultColumn("a", "A"),), [(1,)])])

    with pytest.raises(dataclasses.FrozenInstanceError):
        result.title = "other"  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.table("t").total_rows = 9  # type: ignore[misc]
    longer = result.with_tables(ResultTable("u", "U", ()))
    assert [table.name for table in longer.tables] == ["t", "u"]
    assert [table.name for table in result.tables] == ["t"]
