"""Placeholders in output names."""

from __future__ import annotations

from pathlib import Path

import pytest

from wavescope.collect.ranks import NameValues, Rank, expanded, pattern_of_all_ranks
from wavescope.errors import UsageError


def values(rank: Rank = Rank()) -> NameValues:  # noqa: B008
    return NameValues(42, "node1", rank, {"JOB": "a7", "ODD": "%p"})


@pytest.mark.parametrize(
    ("name", "rank", "expected"),
    [
        ("trace.db", Rank(), "trace.db"),
        ("t_%p.db", Rank(), "t_42.db"),
        ("%h/t.db", Rank(), "node1/t.db"),
        ("t_%rank%.db", Rank(3, 4), "t_3.db"),
        ("t_%rank%.db", Rank(), "t_0.db"),
        ("%env{JOB}%-%p.db", Rank(3, 4), "a7-42.db"),
        ("%env{ODD}%.db", Rank(), "%p.db"),
        ("100%%_%x.db", Rank(), "100%_%x.db"),
        ("out/trace.db", Rank(3, 4), "out/trace_rank3.db"),
        ("trace_%h.db", Rank(3, 4), "trace_node1_rank3.db"),
        ("trace.db", Rank(0, 1), "trace.db"),
    ],
)
def test_names(name: str, rank: Rank, expected: str) -> None:
    assert expanded(name, values(rank)) == Path(expected)


def test_a_variable_that_is_not_set_is_an_error() -> None:
    with pytest.raises(UsageError, match="NOPE is not set"):
        expanded("%env{NOPE}%.db", values())


def test_the_files_of_all_ranks_are_spelled_for_a_shell() -> None:
    first = values(Rank(0, 4))

    assert pattern_of_all_ranks("out_0/t_%rank%.db", first) == "out_0/t_*.db"
    assert pattern_of_all_ranks("trace.db", first) == "trace_rank*.db"
    assert pattern_of_all_ranks("%h-%p.db", first) == "node1-*.db"
