"""What tests of whole commands share: one browser per file, with no page left from the test before, compiled programs, and played CUDA."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser import Browser
from tests.made_once import shared_folder
from tests.played_cuda import PlayedCuda, build_played_cuda


@pytest.fixture(scope="module")
def running() -> Iterator[Browser]:
    with Browser.started() as started:
        yield started


@pytest.fixture
def browser(running: Browser) -> Iterator[Browser]:
    yield running
    running.close_pages()


@pytest.fixture(scope="session")
def played(tmp_path_factory: pytest.TempPathFactory) -> PlayedCuda:
    return build_played_cuda(tmp_path_factory)


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where compiled programs are kept; shared by all workers of a run."""
    folder = shared_folder(tmp_path_factory) / "gpu_programs"
    folder.mkdir(exist_ok=True)
    return folder
