"""The viewer in a real browser: what it draws is what the trace has, and it moves as one tells it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.browser import Browser, PageView
from tests.builders import TraceMaker, a_trace
from tests.sample_files import rich_trace
from tests.view_pages import (
    BOXES,
    ROWS,
    WINDOW,
    decoded_tile,
    label,
    looked_at,
    settled,
    share,
    viewing,
    views_of,
)
from wavescope.view.opening import loaded_view
from wavescope.view.server import ViewServer

GEMMS = [(1_000 * n, 1_000 * n + 300 + 7 * n) for n in range(40)]
SOFTMAXES = [(1_000 * n + 620, 1_000 * n + 625 + n) for n in range(40)]
SPAN = SOFTMAXES[-1][1]
QUEUE = "queue/0/0"


def two_kernels() -> TraceMaker:
    """40 times a long and a short kernel on one queue, with a marker and calls nested in it."""
    maker = a_trace()
    for start, end in GEMMS:
        maker.with_kernel("gemm_f32", start, end)
    for start, end in SOFTMAXES:
        maker.with_kernel("softmax_warp", start, end)
    maker.with_marker("outer", 0, 30_000).with_marker("inner", 100, 20_000)
    return maker


@pytest.fixture(scope="module")
def kernels() -> Iterator[ViewServer]:
    with viewing(*views_of(two_kernels())) as server:
        yield server


@pytest.fixture(scope="module")
def rich() -> Iterator[ViewServer]:
    with viewing(*views_of(rich_trace())) as server:
        yield server


def canvas_columns(page: PageView, row: str, columns: list[int]) -> list[int]:
    """How many pixels of each column of a row are not as idle time is."""
    found: list[int] = page.value(
        f"""(() => {{
          const canvas = document.querySelector("#timeline canvas");
          const {{ offsetTop: top, offsetHeight: height }} = document.querySelector('{label(row)}');
          const left = document.querySelector("#labels").offsetWidth;
          const probe = document.createElement("i");
          probe.style.color = "var(--idle)";
          document.body.append(probe);
          const idle = getComputedStyle(probe).color.match(/\\d+/g).map(Number);
          probe.remove();
          const pen = canvas.getContext("2d");
          return {columns}.map((x) => {{
            const {{ data }} = pen.getImageData(left + x, top, 1, height);
            let count = 0;
            for (let i = 0; i < data.length; i += 4) count += idle.some((value, c) => data[i + c] !== value);
            return count;
          }});
        }})()"""
    )
    return found


def test_it_draws_every_kind_of_row_without_complaints(browser: Browser, rich: ViewServer) -> None:
    page = looked_at(browser, rich)

    assert page.value("document.title") == "trace 0 · wavescope"
    rows = page.value(ROWS)
    assert {"0:gpu/0", "0:queue/0/1", "0:copies/0", "0:markers/0/4100", "0:calls/0/4100"} <= set(
        rows
    )
    name = page.value(f"document.querySelector('{label('0:queue/0/1')} .name').textContent")
    assert name == "queue 1"
    assert page.value("document.documentElement.dataset.drawn") == "true"
    assert page.complaints() == []
    assert all(address.startswith(rich.address) for address in page.requests())


def test_tiles_have_the_exact_share_of_each_category(browser: Browser, kernels: ViewServer) -> None:
    page = looked_at(browser, kernels)

    for scale, first in ((97.3, 0), (1_234.5, 3), (8.25, 2_400)):
        tile = decoded_tile(page, QUEUE, scale, first, 64)
        pixels = range(first, first + 64)
        assert tile["shares"].get("GEMM", [0] * 64) == [share(GEMMS, scale, p) for p in pixels]
        assert tile["shares"].get("softmax", [0] * 64) == [
            share(SOFTMAXES, scale, p) for p in pixels
        ]


def test_the_picture_shows_those_shares(browser: Browser, kernels: ViewServer) -> None:
    page = looked_at(browser, kernels)
    width = page.value(
        "document.querySelector('#timeline canvas').width - document.querySelector('#labels').offsetWidth"
    )
    scale, columns = SPAN / width, list(range(0, width, 17))

    found = canvas_columns(page, "0:gpu/0", columns)

    height = page.value(f"document.querySelector('{label('0:gpu/0')}').offsetHeight")
    expected = [
        min(height, sum(max(1, round(part * height / 255)) for part in parts if part))
        for parts in ((share(GEMMS, scale, x), share(SOFTMAXES, scale, x)) for x in columns)
    ]
    assert len({*expected}) > 3
    assert found == pytest.approx(expected, abs=1)


def test_zoomed_in_every_op_is_a_box(browser: Browser, kernels: ViewServer) -> None:
    page = looked_at(browser, kernels, "#window=20000_23000")

    inside = [r for r in GEMMS + SOFTMAXES if r[0] < 23_000 and r[1] > 20_000]
    assert page.value(BOXES) == str(len(inside))
    tile = decoded_tile(page, QUEUE, 2, 10_000, 1_500)
    assert sorted(tile["boxes"]) == sorted([start, end - start] for start, end in inside)


def test_keys_buttons_wheel_and_drags_move_the_window(
    browser: Browser, kernels: ViewServer
) -> None:
    page = looked_at(browser, kernels)
    settled(page, [0, SPAN])

    page.key("w")
    settled(page, [SPAN / 4, 3 * SPAN / 4])
    page.key("d")
    settled(page, [SPAN * 3 / 8, SPAN * 7 / 8])
    page.click("#zoom-all")
    settled(page, [0, SPAN])
    x, y = page.middle("#timeline canvas")
    page.mouse("mouseWheel", x, y, deltaX=0, deltaY=-150)
    page.wait(f"{WINDOW}[0] > 0")
    start, end = page.value(WINDOW)
    assert end - start == pytest.approx(SPAN / 1.2**3, rel=1e-6)

    page.mouse("mousePressed", x, y, button="left", clickCount=1)
    page.mouse("mouseMoved", x + 100, y, button="left", buttons=1)
    page.mouse("mouseReleased", x + 100, y, button="left", clickCount=1)
    page.wait(f"{WINDOW}[0] < {start}")
    moved = page.value(WINDOW)
    assert moved[1] - moved[0] == pytest.approx(end - start)

    page.mouse("mousePressed", x - 200, y, button="left", clickCount=1, hold="alt")
    page.mouse("mouseMoved", x + 200, y, button="left", buttons=1, hold="alt")
    page.mouse("mouseReleased", x + 200, y, button="left", clickCount=1, hold="alt")
    page.wait(f"{WINDOW}[1] - {WINDOW}[0] < {(end - start) / 2}")
    settled(page)
    assert page.complaints() == []


def test_a_link_restores_what_was_seen_and_going_back_leads_there(
    browser: Browser, kernels: ViewServer
) -> None:
    link = (
        "#window=5000_9000&by=kernel&fold=0:markers/0/1&pin=0:queue/0/0&range=0_5100_5900&panel=sql"
    )
    page = looked_at(browser, kernels, link)

    settled(page, [5_000, 9_000])
    assert page.value("document.querySelector('#colour-by').value") == "kernel"
    assert page.value(ROWS)[0] == "0:queue/0/0"
    assert page.value(f"document.querySelector('{label('0:markers/0/1')}').ariaExpanded") == "false"
    assert page.value("document.querySelector('#tab-sql').ariaSelected") == "true"

    page.value("document.querySelector('#timeline canvas').focus()")
    page.key("s")
    settled(page, [3_000, 11_000])
    page.becomes("location.hash", link.replace("5000_9000", "3000_11000"))
    page.click("#tab-sql")
    page.becomes("document.querySelector('#dock').classList.contains('closed')", True)
    page.becomes("location.hash.includes('panel')", False)
    page.value("history.back()")
    page.becomes("document.querySelector('#tab-sql').ariaSelected", "true")
    settled(page, [3_000, 11_000])
    page.value("location.hash = '#window=100_300'")
    settled(page, [100, 300])
    assert page.value(ROWS)[0] == "0:gpu/0"


def test_shift_and_a_drag_select_a_range(browser: Browser, kernels: ViewServer) -> None:
    page = looked_at(browser, kernels, "#window=0_10000")
    width = page.value("document.querySelector('#timeline canvas').clientWidth")
    left = page.value("document.querySelector('#labels').offsetWidth")
    y = page.middle(label("0:queue/0/0"))[1]
    quarter = (width - left) / 4

    page.mouse("mousePressed", left + quarter, y, button="left", clickCount=1, hold="shift")
    page.mouse("mouseMoved", left + 2 * quarter, y, button="left", buttons=1, hold="shift")
    page.mouse("mouseReleased", left + 2 * quarter, y, button="left", clickCount=1, hold="shift")

    page.wait("location.hash.includes('range=0_')")
    hash_text = page.value("location.hash")
    start, end = map(float, hash_text.split("range=0_")[1].split("&")[0].split("_"))
    assert (start, end) == pytest.approx((2_500, 5_000), abs=12)
    page.value("document.querySelector('#timeline canvas').focus()")
    page.key("Escape")
    page.becomes("location.hash.includes('range=')", False)


def test_a_tip_has_the_name_of_a_box_that_is_too_narrow_for_it(browser: Browser) -> None:
    maker = a_trace().with_kernel("narrow", 500, 510).with_kernel("wide", 900, 2_000)
    tip = "document.querySelector('.tip strong').textContent"
    with viewing(*views_of(maker)) as server:
        page = looked_at(browser, server, width=1000)
        x, y = page.value(
            f"""(({{left, top, height}}) => [left, top + height / 2])(document.querySelector('{label("0:queue/0/0")}').getBoundingClientRect())"""
        )

        page.mouse("mouseMoved", x + 200 + 2.5, y)

        page.becomes(tip, "narrow")


def test_what_keys_select_is_said_to_those_who_listen(
    browser: Browser, kernels: ViewServer
) -> None:
    page = looked_at(browser, kernels, "#window=5000_9000")
    page.value("document.querySelector('#timeline canvas').focus()")

    page.key("j")

    page.wait("document.querySelector('#heard').textContent !== ''")
    heard = page.value("document.querySelector('#heard').textContent")
    assert " from " in heard
    role = page.value("document.querySelector('#timeline canvas').role")
    assert role == "application"


def test_the_theme_changes_what_is_drawn(browser: Browser, kernels: ViewServer) -> None:
    corner = "[...document.querySelector('#timeline canvas').getContext('2d').getImageData(3, 60, 1, 1).data]"
    page = looked_at(browser, kernels, dark=True)
    assert page.value(corner) == [26, 30, 38, 255]

    page.click("#theme")
    page.becomes("document.documentElement.dataset.theme", "light")
    page.becomes(corner, [255, 255, 255, 255])


def test_the_bar_stays_one_line_on_a_laptop(browser: Browser) -> None:
    """Whatever it says: a second line would move the picture while it is zoomed."""
    maker = a_trace().with_kernel("gemm", 0, 10_000_000)
    view = loaded_view(maker.build(), label="a_trace_with_a_long_name_of_its_own.json.gz")
    with viewing(view) as server:
        page = looked_at(browser, server, "#window=100123.5_140000.25&hide=0:gpu/0", width=1366)
        page.value("document.querySelector('#progress').hidden = false")

        bar = page.value(
            "(({offsetHeight, scrollWidth}) => [offsetHeight, scrollWidth])(document.querySelector('.view-bar'))"
        )
        assert bar[0] < 45
        assert bar[1] <= 1366


def test_the_page_fits_small_and_large_screens(browser: Browser, kernels: ViewServer) -> None:
    page = looked_at(browser, kernels, "#panel=sql", width=1280, height=720)
    inside = (
        "document.documentElement.scrollWidth <= innerWidth &&"
        "document.documentElement.scrollHeight <= innerHeight &&"
        "document.querySelector('#timeline canvas').clientHeight > 250 &&"
        "document.querySelector('.view-bar').offsetHeight < 45"
    )
    page.becomes(inside, True)

    page.size(3840, 2160)
    page.becomes("document.querySelector('#timeline canvas').width", 3840)
    page.becomes(inside, True)
    settled(page)
