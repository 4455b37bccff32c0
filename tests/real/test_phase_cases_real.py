"""Phases and steps of labelled real traces, and of traces composed of their steps."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import SHARED_DATA
from tests.phase_cases import (
    PhaseCase,
    composed_cases,
    labelled_cases,
    stripped_cases,
    verdict,
)

CASES = (
    [*labelled_cases(SHARED_DATA), *stripped_cases(SHARED_DATA), *composed_cases(SHARED_DATA)]
    if (SHARED_DATA / "kineto" / "labels.json").is_file()
    else []
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.group}: {case.name}")
def test_what_is_claimed_is_right(case: PhaseCase) -> None:
    found = verdict(case.make())

    assert found.is_right(is_nameless=case.is_nameless), found


def test_there_are_cases_where_there_is_data(shared_data: Path) -> None:
    assert (shared_data / "kineto" / "labels.json").is_file()
    assert len(CASES) >= 40
