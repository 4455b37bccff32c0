"""The roofline page in a real browser: it draws, answers the pointer and asks nobody for anything."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser import Browser, PageView
from tests.counters_builder import a_workload
from tests.unit.analyze.counters.test_roofline import MEMORY, NO_WORK
from wavescope.cli.main import main

HOSTILE = "</script><img src=x onerror=\"document.title='broken'\">"
POINTS = "document.querySelectorAll('.mark-symbol.role-mark path').length"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    pytest.importorskip("vl_convert")
    with Browser.started() as running:
        yield running


@pytest.fixture(scope="module")
def plot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of two runs, which no test changes."""
    folder = tmp_path_factory.mktemp("roofline")
    paths = []
    for run, count in (("before", 2_000), ("after", 3_000)):
        work = NO_WORK | MEMORY | {"SQ_INSTS_VALU_MFMA_MOPS_F16": count}
        maker = a_workload(folder / run).with_dispatch(HOSTILE, 1_000, **work)
        paths += ["-p", str(maker.write())]
    assert main(["roofline", *paths, "-o", str(folder / "plot.html"), "-q"]) == 0
    return folder / "plot.html"


@pytest.fixture
def view(browser: Browser, plot: Path) -> Iterator[PageView]:
    page = browser.page(plot.as_uri())
    page.wait(f"{POINTS} > 0")
    yield page
    browser.close_pages()


def test_it_draws_both_runs_and_needs_no_network(view: PageView) -> None:
    assert view.value(POINTS) == 8  # two runs, four memory levels
    assert view.value("document.title") == "Roofline"
    assert len(view.requests()) == 1
    assert view.complaints() == []


def test_a_point_tells_its_kernel_as_text(view: PageView) -> None:
    x, y = view.middle(".mark-symbol.role-mark path")

    view.mouse("mouseMoved", x, y)

    view.wait("!document.querySelector('.tip').hidden")
    assert "onerror" in view.value("document.querySelector('.tip').innerText")
    assert view.value("document.querySelectorAll('.tip img').length") == 0
    assert view.value("document.title") == "Roofline"


def test_it_has_the_colours_of_the_page_and_its_tables(view: PageView) -> None:
    axis = "getComputedStyle(document.querySelector('.role-axis-title text')).fill"
    light = view.value(axis)
    view.call(
        "Emulation.setEmulatedMedia",
        features=[{"name": "prefers-color-scheme", "value": "dark"}],
    )

    view.becomes(axis, "rgb(227, 231, 238)")
    assert light == "rgb(27, 34, 48)"
    titles = view.value("[...document.querySelectorAll('h3')].map((each) => each.textContent)")
    assert titles == ["4.1 Roofline Rates", "4.2 Roofline Plot Points"] * 2
