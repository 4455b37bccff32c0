"""Endless statements of a case are interrupted; what does not end then is a failure."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from fuzz import interrupted_query
from fuzz.interrupted_query import query_until_interrupted
from tests.builders import a_trace
from tests.sample_files import write_as

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(interrupted_query, "_PATIENCE_S", 0.05)
    return write_as(a_trace(), tmp_path / "trace.db")


def test_an_endless_statement_is_interrupted(trace: Path) -> None:
    query_until_interrupted(trace, ENDLESS)


def test_one_that_goes_on_for_long_is_a_failure(
    trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unwilling(*_: object) -> None:
        try:
            while True:
                sum(range(1000))
        except KeyboardInterrupt:
            end = time.process_time() + 0.2
            while time.process_time() < end:
                sum(range(1000))
            raise

    monkeypatch.setattr(interrupted_query, "_ENDS_WITHIN_S", 0.1)
    monkeypatch.setattr(interrupted_query, "write_query", unwilling)

    with pytest.raises(AssertionError, match="after it was interrupted"):
        query_until_interrupted(trace, "SELECT 1 ")
