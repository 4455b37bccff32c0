"""Fixtures of the tests on a real GPU."""

from __future__ import annotations

import pytest

from tests.cuda_programs import built_scenarios, require_nvidia


@pytest.fixture(scope="session")
def cuda_scenarios(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The program with all scenarios in CUDA C++."""
    require_nvidia()
    return str(built_scenarios(tmp_path_factory.mktemp("cuda")))


@pytest.fixture(autouse=True)
def _needs_a_gpu() -> None:
    require_nvidia()
