"""What tests of whole commands share: one browser per file, with no page left from the test before."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.browser import Browser


@pytest.fixture(scope="module")
def running() -> Iterator[Browser]:
    with Browser.started() as started:
        yield started


@pytest.fixture
def browser(running: Browser) -> Iterator[Browser]:
    yield running
    running.close_pages()
