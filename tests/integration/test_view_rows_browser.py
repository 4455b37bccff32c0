"""Rows of the viewer in a real browser: folded, pinned, hidden, moved and found, by hand and keys."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.browser import Browser, PageView
from tests.builders import a_trace
from tests.view_pages import ROWS, label, looked_at, settled, viewing, views_of
from wavescope.view.server import ViewServer

FOLDED = f"document.querySelector('{label('0:gpu/0')}').ariaExpanded"


@pytest.fixture(scope="module")
def three_queues() -> Iterator[ViewServer]:
    maker = a_trace()
    for queue in (1, 2, 3):
        maker.with_kernel("gemm", 100 * queue, 100 * queue + 50, queue=queue)
    maker.with_marker("outer", 0, 500).with_marker("inner", 10, 400)
    with viewing(*views_of(maker)) as server:
        yield server


def queues(page: PageView) -> list[str]:
    return [row for row in page.value(ROWS) if row.startswith("0:queue/")]


def test_rows_fold_hide_pin_and_move_by_hand(browser: Browser, three_queues: ViewServer) -> None:
    page = looked_at(browser, three_queues)
    assert queues(page) == ["0:queue/0/1", "0:queue/0/2", "0:queue/0/3"]

    page.click(f"{label('0:gpu/0')} .name")
    page.becomes(FOLDED, "false")
    assert queues(page) == []
    page.click(f"{label('0:gpu/0')} .name")
    page.becomes(FOLDED, "true")

    page.mouse("mouseMoved", *page.middle(label("0:queue/0/2")))
    page.click(f"{label('0:queue/0/2')} .row-tools [title^=Hide]")
    page.becomes(f"{ROWS}.includes('0:queue/0/2')", False)
    page.mouse("mouseMoved", *page.middle(label("0:queue/0/3")))
    page.click(f"{label('0:queue/0/3')} .row-tools [title^='Move up']")
    page.becomes(f"{ROWS}.indexOf('0:queue/0/3') < {ROWS}.indexOf('0:queue/0/1')", True)
    page.click(f"{label('0:queue/0/3')} .row-tools [title^=Keep]")
    page.becomes(f"{ROWS}[0]", "0:queue/0/3")
    settled(page)

    page.click("#row-menu summary")
    page.becomes("document.querySelector('#row-menu summary').textContent", "Rows (1 hidden)")
    page.click("#row-menu .hidden-rows button")
    page.becomes(f"{ROWS}.includes('0:queue/0/2')", True)
    page.wait("location.hash.includes('pin=0:queue/0/3')")
    assert page.complaints() == []


def test_the_address_brings_the_rows_back(browser: Browser, three_queues: ViewServer) -> None:
    link = "#hide=0:queue/0/1&pin=0:queue/0/3&order=0:gpu/0,0:queue/0/3,0:queue/0/2,0:queue/0/1"
    page = looked_at(browser, three_queues, link)

    assert queues(page) == ["0:queue/0/3", "0:queue/0/2"]
    page.click("#row-menu summary")
    page.click("#row-menu .menu > button:nth-of-type(3)")
    page.becomes("location.hash", "")
    assert queues(page) == ["0:queue/0/1", "0:queue/0/2", "0:queue/0/3"]


def test_the_address_says_how_far_down_the_rows_are_and_which_are_looked_for(
    browser: Browser,
) -> None:
    maker = a_trace()
    for queue in range(20):
        maker.with_kernel("gemm", 100 * queue, 100 * queue + 50, queue=queue)
    top = f"document.querySelector('{label('0:queue/0/0')}').offsetTop"
    with viewing(*views_of(maker)) as server:
        page = looked_at(browser, server, "#find=queue&scrolled=150&panel=sql", height=500)
        assert page.value(top) == 83 - 150
        assert page.value("document.querySelector('#row-filter').value") == "queue"
        assert "0:series/busy/0" not in page.value(ROWS)

        page.mouse("mouseWheel", 100, 200, deltaX=0, deltaY=-50)
        page.becomes("location.hash.includes('scrolled=100')", True)
        assert page.value(top) == 83 - 100


def test_keys_lead_to_the_first_row_that_is_seen(browser: Browser) -> None:
    maker = a_trace()
    for queue in range(20):
        maker.with_kernel("gemm", 100 * queue, 100 * queue + 50, queue=queue)
    with viewing(*views_of(maker)) as server:
        page = looked_at(browser, server, "#scrolled=110", height=400)

        page.key("r")

        assert page.value("document.activeElement.dataset.row") == "0:queue/0/3"


def test_rows_are_reached_and_changed_by_keys_alone(
    browser: Browser, three_queues: ViewServer
) -> None:
    page = looked_at(browser, three_queues)
    focused = "document.activeElement.dataset.row"

    page.key("r")
    page.becomes(focused, "0:gpu/0")
    page.key("ArrowDown")
    page.becomes(focused, "0:queue/0/1")
    page.key("p")
    page.becomes(f"{ROWS}[0]", "0:queue/0/1")
    page.becomes(focused, "0:queue/0/1")
    page.key("p")
    page.becomes(f"{ROWS}[0]", "0:gpu/0")
    page.key("h")
    page.becomes(f"{ROWS}.includes('0:queue/0/1')", False)
    page.becomes(focused, "0:queue/0/2")
    page.key("ArrowLeft")
    page.becomes(focused, "0:gpu/0")
    page.key("ArrowLeft")
    page.becomes(FOLDED, "false")
    outline = page.value("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"


def test_a_folded_row_of_several_depths_shows_its_top(
    browser: Browser, three_queues: ViewServer
) -> None:
    page = looked_at(browser, three_queues)
    height = f"document.querySelector('{label('0:markers/0/1')}').offsetHeight"
    assert page.value(height) == 32

    page.click(f"{label('0:markers/0/1')} .name")

    page.becomes(height, 16)


def test_folded_rows_are_not_asked_for(browser: Browser) -> None:
    maker = a_trace().with_kernel("k", 10, 20, queue=1).with_call("launch", 0, 5).with_link(1, 1)
    asked = """performance.getEntriesByType("resource")
      .filter(({name}) => name.includes("/api/tiles"))
      .flatMap(({name}) => new URL(name).searchParams.get("rows").split(","))"""
    with viewing(*views_of(maker)) as server:
        page = looked_at(browser, server)
        assert "series/depth/0/1" not in page.value(asked)

        page.click(f"{label('0:queue/0/1')} .name")
        page.becomes(f"{asked}.includes('series/depth/0/1')", True)


def test_a_label_with_room_for_two_lines_says_how_much_there_is(
    browser: Browser, three_queues: ViewServer
) -> None:
    page = looked_at(browser, three_queues)

    detail = f"document.querySelector('{label('0:gpu/0')} .detail')"
    assert page.value(f"{detail}.textContent") == "3 ops"
    assert page.value(f"{detail}.offsetHeight") > 10


def test_the_label_of_a_tall_row_stays_at_the_top_of_what_is_seen_of_it(browser: Browser) -> None:
    maker = a_trace()
    for level in range(60):
        maker.with_marker(f"level {level}", level, 1000 - level)
    name = f"document.querySelector('{label('0:markers/0/1')} .name').getBoundingClientRect()"
    top = "document.querySelector('#timeline canvas').getBoundingClientRect().top"
    with viewing(*views_of(maker)) as server:
        page = looked_at(browser, server, height=500)
        row_top = page.value(f"document.querySelector('{label('0:markers/0/1')}').offsetTop")
        assert 0 <= page.value(f"{name}.top - {top}") - row_top < 4

        page.mouse("mouseWheel", 100, 200, deltaX=0, deltaY=300)
        settled(page)
        # The overview and the axis are above all rows that scroll.
        page.becomes(f"Math.floor(({name}.top - {top} - 42) / 4)", 0)


def test_words_find_rows(browser: Browser, three_queues: ViewServer) -> None:
    page = looked_at(browser, three_queues, "#fold=0:gpu/0")
    assert queues(page) == []

    page.type_text("#row-filter", "queue 2")
    page.becomes(f"{ROWS}.filter((row) => row.startsWith('0:queue'))", ["0:queue/0/2"])
    page.key("Escape")
    page.becomes(f"{ROWS}.includes('0:queue/0/2')", False)
    page.becomes("document.querySelector('#row-filter').value", "")


def test_help_names_the_keys_and_closes_again(browser: Browser, three_queues: ViewServer) -> None:
    page = looked_at(browser, three_queues)

    page.key("?")
    page.becomes("document.querySelector('#help').open", True)
    keys = page.value("[...document.querySelectorAll('#keys dt')].map((dt) => dt.textContent)")
    assert {"W S", "Home", "?"} <= set(keys)
    page.key("Enter")
    page.becomes("document.querySelector('#help').open", False)
    assert page.complaints() == []
