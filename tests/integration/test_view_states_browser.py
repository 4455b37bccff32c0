"""The viewer when a trace is empty, hostile or still read, and when its server goes and comes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.browser import Browser
from tests.builders import a_trace
from tests.view_pages import (
    BOXES,
    DRAWN,
    ROWS,
    WHOLE,
    WINDOW,
    label,
    looked_at,
    settled,
    viewing,
    views_of,
)
from wavescope.render.html.view_page import view_page_html
from wavescope.view.server import ViewServer

HOSTILE_NAMES = (
    "</script><img src=x onerror=\"window.attacked = 'image'\">",
    "<script>window.attacked = 'script'</script>",
    "\"'><svg onload=window.attacked='svg'>",
    "javascript:window.attacked=1",
    "\u202e\u2066 right to left \u05d0\u05d1\u05d2 \u0645\u0631\u062d\u0628\u0627",
    "]]>&lt;\x00\x1b[31m\ud800",
    "x" * 20_000,
)


def test_a_trace_without_anything_says_so(browser: Browser) -> None:
    with viewing(*views_of(a_trace())) as server:
        page = looked_at(browser, server)

        assert page.value(ROWS) == []
        said = page.value("document.querySelector('#notes').textContent")
        assert "nothing was recorded" in said
        page.key("w")
        page.key("a")
        page.becomes(WHOLE, "true")
        assert page.complaints() == []


def test_one_op_is_one_box(browser: Browser) -> None:
    with viewing(*views_of(a_trace().with_kernel("alone", 1_000, 1_007))) as server:
        page = looked_at(browser, server)

        assert page.value(BOXES) == "1"
        assert page.value(WINDOW) == [0, 7]
        assert page.value("document.querySelector('#notes').hidden") is True
        assert page.complaints() == []


def test_hostile_names_are_text_and_never_run(browser: Browser) -> None:
    maker = a_trace()
    for number, name in enumerate(HOSTILE_NAMES):
        maker.with_kernel(name, 1_000 * number, 1_000 * number + 900)
        maker.with_marker(name, 1_000 * number, 1_000 * number + 950)
    views = views_of(maker)
    views[0].label = HOSTILE_NAMES[0]
    with viewing(*views) as server:
        page = looked_at(browser, server)
        left = page.value("document.querySelector('#labels').offsetWidth")
        width = page.value("document.querySelector('#timeline canvas').clientWidth") - left
        y = page.middle(label("0:queue/0/0"))[1]

        for number, name in enumerate(HOSTILE_NAMES[:4]):
            page.mouse("mouseMoved", left + width * (number + 0.4) / len(HOSTILE_NAMES), y)
            page.becomes("document.querySelector('.tip strong').textContent", name)

        assert page.value("document.querySelector('#traces').textContent") == HOSTILE_NAMES[0]
        assert page.value("window.attacked") is None
        assert (
            page.value("document.querySelectorAll('.tip img, #traces img, svg[onload]').length")
            == 0
        )
        assert page.complaints() == []


def test_two_traces_lie_below_each_other_on_one_axis(browser: Browser) -> None:
    one = a_trace().with_kernel("gemm", 5_000, 6_000)
    two = a_trace().with_kernel("gemm", 90_000, 92_000, gpu=1)
    with viewing(*views_of(one, two)) as server:
        page = looked_at(browser, server)
        rows = page.value(ROWS)
        assert [row for row in rows if row.endswith(":")] == ["0:", "1:"]
        assert rows.index("0:gpu/0") < rows.index("1:") < rows.index("1:gpu/1")
        settled(page, [0, 2_000])
        assert page.value(BOXES) == "2"

        page = looked_at(browser, server, "#offsets=0_3000")
        settled(page, [0, 5_000])
        page = looked_at(browser, server, "#offsets=0_3000&window=0_2500")
        settled(page, [0, 2_500])
        assert page.value(BOXES) == "1"
        page.click(f"{label('1:')} .name")
        page.becomes(f"{ROWS}.includes('1:gpu/1')", False)
        assert page.complaints() == []


def test_a_trace_that_is_still_read_grows_on_the_page(browser: Browser) -> None:
    views = views_of(a_trace().with_kernel("gemm", 0, 1_000).with_kernel("gemm", 3_000, 4_000))
    whole = views[0].loaded
    views[0].loaded = replace(whole, end_ns=2_000, share=0.43, is_whole=False)
    with viewing(*views) as server:
        page = browser.page(server.address)
        page.becomes(DRAWN, "true")
        page.becomes("document.querySelector('#progress').textContent", "reading 43 %")
        page.becomes(WINDOW, [0, 2_000])
        assert page.value(WHOLE) == "false"

        views[0].loaded = replace(whole, version=whole.version + 1)
        settled(page, [0, 4_000])
        assert page.value("document.querySelector('#progress').hidden") is True
        assert page.value(BOXES) == "2"
        assert page.complaints() == []


def test_the_next_hit_is_the_next_one_also_while_the_trace_is_read(browser: Browser) -> None:
    maker = a_trace()
    for number in range(4):
        maker.with_kernel("gemm", 1_000 * number, 1_000 * number + 900)
    views = views_of(maker)
    whole = views[0].loaded
    views[0].loaded = replace(whole, share=0.43, is_whole=False)
    start = "document.querySelector('#panel-details [data-fact=start]')?.title"
    searched = "document.querySelector('#panel-search').dataset.searched"
    said = "document.querySelector('.search-said').textContent"
    with viewing(*views) as server:
        page = browser.page(f"{server.address}#panel=search&x.search=gemm")
        page.wait("document.querySelector('.search-said') !== null")
        page.becomes(said, "4 hits, 1 name, 3.600 us so far")
        page.value("document.querySelector('.search-pattern').focus()")
        for expected in ("0 ns", "1000 ns"):
            page.key("Enter")
            page.becomes(start, expected)

        views[0].loaded = replace(whole, version=whole.version + 1)
        page.becomes(said, "4 hits, 1 name, 3.600 us")
        page.becomes(searched, "gemm")
        page.key("Enter")

        page.becomes(start, "2000 ns")


def test_panels_wait_for_a_trace_that_is_still_read(browser: Browser) -> None:
    views = views_of(a_trace().with_kernel("gemm", 0, 1_000).with_kernel("gemm", 3_000, 4_000))
    whole = views[0].loaded
    views[0].loaded = replace(whole, share=0.43, is_whole=False)
    with viewing(*views) as server:
        page = browser.page(f"{server.address}#panel=range&range=0_0_2000")
        said = "document.querySelector('#panel-range .said')?.textContent"
        page.becomes(said, "This comes when the whole trace is read.")

        views[0].loaded = replace(whole, version=whole.version + 1)

        title = "document.querySelector('#panel-range .details-title')?.textContent"
        page.becomes(title, "2.000 us from 0 ns on, 1 op, GPUs busy 100.0 %")
        page.becomes(said, "")


def test_panels_say_that_a_trace_was_not_read_to_its_end(browser: Browser) -> None:
    views = views_of(a_trace().with_kernel("gemm", 0, 1_000))
    views[0].loaded = replace(views[0].loaded, is_whole=False, problem="the file ends too early")
    with viewing(*views) as server:
        page = looked_at(browser, server, "#range=0_0_2000")
        for panel, part in (("kernels", ".said"), ("findings", ".said"), ("range", ".error")):
            page.click(f"#tab-{panel}")
            page.becomes(
                f"document.querySelector('#panel-{panel} {part}')?.textContent",
                "the trace was not read to its end: the file ends too early",
            )


def test_why_a_trace_was_not_read_to_its_end_is_said(browser: Browser) -> None:
    views = views_of(a_trace().with_kernel("gemm", 0, 1_000))
    views[0].loaded = replace(views[0].loaded, is_whole=False, problem="the file ends too early")
    with viewing(*views) as server:
        page = looked_at(browser, server)

        said = page.value("document.querySelector('#notes').textContent")
        assert said == "trace 0: the file ends too early"
        assert page.value(BOXES) == "1"


def test_what_is_drawn_stays_when_the_server_ends_and_goes_on_when_it_is_back(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    maker = a_trace().with_kernel("gemm", 0, 1_000).with_kernel("gemm", 4_000, 5_000)
    views = views_of(maker.with_kernel("gemm", 7_000, 9_000))
    banner = "document.querySelector('#banner').hidden"
    with viewing(*views) as server:
        page = looked_at(browser, server)
        port, address = server.port, server.address
        assert page.value(banner) is True
    page.click("#zoom-in")
    page.becomes(banner, False)
    assert "does not answer" in page.value("document.querySelector('#banner').textContent")
    assert page.value(DRAWN) == "true"
    assert page.value(BOXES) == "1"

    token = address.split("/")[-2]
    monkeypatch.setattr("wavescope.view.server.loopback.new_token", lambda: token)
    with ViewServer(views, view_page_html(), port) as again:
        assert again.address == address
        page.becomes(banner, True)
        settled(page, [2_250, 6_750])


def test_a_page_of_an_earlier_start_says_that_there_is_a_new_address(browser: Browser) -> None:
    views = views_of(a_trace().with_kernel("gemm", 0, 1_000))
    banner = "document.querySelector('#banner').textContent"
    with viewing(*views) as server:
        page, port = looked_at(browser, server), server.port
    with ViewServer(views, view_page_html(), port):
        page.click("#zoom-in")
        page.becomes(f"{banner}.includes('prints an address of its own')", True)
        assert page.value(BOXES) == "1"
