"""Selecting in the viewer, in a real browser: details, launches, ranges and search."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wavescope
from tests.browser import Browser, PageView
from tests.builders import TraceMaker, a_trace
from tests.sample_files import write_as
from wavescope.cli.main import main

FIRST = 1_700_000_000_000_000_000
HOSTILE = "<img src=x onerror=\"window.attacked = 'image'\">"
STEP = 10_000
STEPS = 10


def traced() -> TraceMaker:
    """Ten steps of 10 us: a launch at 1, a gemm from 2 to 6 and a hostile kernel from 7 to 8."""
    maker = a_trace().with_process(41, rank=0)
    for number in range(STEPS):
        start = FIRST + number * STEP
        maker.with_marker(f"step {number}", start, start + STEP - 1)
        maker.with_call("hipLaunchKernel", start + 1_000, start + 1_500, args='{"shared": 64}')
        maker.with_kernel("gemm", start + 2_000, start + 6_000, grid_x=512, grid_y=1, grid_z=1)
        maker.with_kernel(HOSTILE, start + 7_000, start + 8_000)
        maker.with_link(number + 1, 2 * number + 1)
    return maker


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_as(traced(), tmp_path_factory.mktemp("selected") / "trace.db")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser.started() as started:
        yield started


@pytest.fixture
def page(browser: Browser, trace: Path) -> Iterator[PageView]:
    yield from pages_of(browser, trace, "0:queue/0/0")


def pages_of(browser: Browser, trace: Path, row: str) -> Iterator[PageView]:
    """A page of the trace, when that row is there."""
    with wavescope.open_view(trace, cache=False) as view:
        page = browser.page(view.address)
        page.wait(f"document.querySelector('[data-row=\"{row}\"]') !== null")
        yield page
        browser.close_pages()


def at(page: PageView, row: str, time_us: float) -> tuple[float, float]:
    """Where a time of a row is while everything is shown."""
    x, y, width = page.value(
        f"""(() => {{
        const label = document.querySelector('[data-row="0:{row}"]').getBoundingClientRect();
        const canvas = document.querySelector('#timeline canvas').getBoundingClientRect();
        return [label.right, label.top + label.height / 2, canvas.right - label.right]; }})()"""
    )
    return x + width * time_us * 1_000 / (STEPS * STEP - 1), y


def select(page: PageView, row: str, time_us: float, title: str) -> None:
    """Click where a range is until it is selected: at first it may not be drawn yet."""
    x, y = at(page, row, time_us)
    for _ in range(1_000):
        for kind in ("mousePressed", "mouseReleased"):
            page.mouse(kind, x, y, button="left", clickCount=1)
        if page.value(SELECTED):
            break
    page.becomes(TITLE, title)


def search_for(page: PageView, pattern: str) -> None:
    page.key("/")
    page.becomes("document.activeElement.name", "search-pattern")
    page.value(f"document.querySelector({json.dumps(PATTERN)}).select()")
    page.call("Input.insertText", text=pattern)
    page.becomes("document.querySelector('#panel-search').dataset.searched", pattern)


SELECTED = "document.querySelector('#dock .panel:not([hidden])')?.id === 'panel-details'"
TITLE = "document.querySelector('#panel-details .details-title').textContent"
FACTS = """Object.fromEntries([...document.querySelectorAll('#panel-details [data-fact]')]
    .map((fact) => [fact.dataset.fact, fact.title]))"""
CURVES_KEPT = """void ((kept, curve) => { window.curve = null; let from = [0, 0];
    const move = kept.moveTo;
    kept.moveTo = function (x, y) { from = [x, y]; move.call(this, x, y); };
    kept.bezierCurveTo = function (...given) {
        window.curve = [...from, ...given.slice(4)]; curve.apply(this, given); };
    })(CanvasRenderingContext2D.prototype, CanvasRenderingContext2D.prototype.bezierCurveTo)"""
START = "document.querySelector('#panel-details [data-fact=start]')?.title"
SAID = "document.querySelector('.search-said').textContent"
PATTERN = "#panel-search .search-pattern"


def test_a_click_shows_all_that_is_known_of_an_op(page: PageView) -> None:
    select(page, "queue/0/0", 34, "gemm")

    facts = page.value(FACTS)
    assert facts["start"] == "32000 ns"
    assert facts["duration"] == "4000 ns"
    assert facts["timestamp"] == f"{FIRST + 32_000} ns"
    assert (facts["grid"], facts["category"]) == ("512 x 1 x 1 work-items", "GEMM")
    links = (
        "[...document.querySelectorAll('#panel-details [data-link]')].map((b) => b.dataset.link)"
    )
    assert page.value(links) == ["calls/3", "markers/3"]


def test_from_an_op_to_its_launch_and_back(page: PageView) -> None:
    select(page, "queue/0/0", 34, "gemm")

    page.click("#panel-details [data-link='calls/3']")
    page.becomes(TITLE, "hipLaunchKernel")
    assert page.value(START) == "31000 ns"
    page.value("document.querySelector('#timeline canvas').focus()")
    page.key("l")
    page.becomes(TITLE, "gemm")
    assert page.value(START) == "32000 ns"
    page.click("#panel-details button[title^='What was selected before']")
    page.becomes(TITLE, "hipLaunchKernel")


def test_an_arrow_leads_from_the_launch_to_the_op(page: PageView) -> None:
    page.value(CURVES_KEPT)
    select(page, "queue/0/0", 34, "gemm")
    box = "document.querySelector('#timeline canvas').getBoundingClientRect()"
    left, top = page.value(f"[{box}.left, {box}.top]")
    start, end = at(page, "calls/0/1", 31.5), at(page, "queue/0/0", 32)

    page.wait("window.curve !== null")

    from_x, from_y, to_x, to_y = page.value("window.curve")
    assert (from_x, from_y) == pytest.approx((start[0] - left, start[1] - top), abs=12)
    assert (to_x, to_y) == pytest.approx((end[0] - left, end[1] - top), abs=12)
    page.call("Input.dispatchKeyEvent", type="keyDown", key="Escape", windowsVirtualKeyCode=27)
    page.wait("document.querySelector('#panel-details .facts').children.length === 0")
    page.value("void (window.curve = null)")
    page.value("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert page.value("window.curve") is None


def test_brackets_go_to_the_same_kernel_before_and_after(page: PageView) -> None:
    select(page, "queue/0/0", 34, "gemm")

    for key, start in (("]", "42000 ns"), ("]", "52000 ns"), ("[", "42000 ns"), ("[", "32000 ns")):
        page.value("document.querySelector('#timeline canvas').focus()")
        page.key(key)
        page.becomes(START, start)


def test_names_are_text_whatever_they_are(page: PageView) -> None:
    select(page, "queue/0/0", 37.5, HOSTILE)

    search_for(page, "onerror")
    page.becomes(SAID, "10 hits, 1 name, 10.00 us")
    assert page.value("window.attacked ?? ''") == ""
    assert page.value("document.querySelectorAll('#dock img').length") == 0


def test_a_dragged_range_is_summed_up_as_the_command_does_it(
    page: PageView, trace: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    (left, y), (right, _) = at(page, "queue/0/0", 20.5), at(page, "queue/0/0", 61)
    page.mouse("mousePressed", left, y, button="left", clickCount=1, hold="shift")
    for share in (0.3, 0.7, 1.0):
        x = left + share * (right - left)
        page.mouse("mouseMoved", x, y, button="left", buttons=1, hold="shift")
    page.mouse("mouseReleased", right, y, button="left", clickCount=1, hold="shift")
    page.wait("document.querySelector('#panel-range').dataset.whole !== undefined")
    start, end = map(
        int, page.value("document.querySelector('#panel-range').dataset.whole").split()
    )
    assert abs(start - 20_500) < 200
    assert abs(end - 61_000) < 200

    window = ["--start", str(FIRST + start), "--end", str(FIRST + end)]
    assert main(["summary", str(trace), "--json", *window]) == 0

    printed: dict[str, Any] = json.loads(capsysbinary.readouterr().out)
    for table in printed["tables"]:
        expected = [
            [
                exact(value, column["unit"])
                for value, column in zip(row, table["columns"], strict=True)
            ]
            for row in table["rows"]
        ]
        shown = page.value(
            f"""[...document.querySelectorAll('#panel-range [data-table={table["name"]}] tbody tr')]
            .map((row) => [...row.querySelectorAll('td span')].map((cell) => cell.title))"""
        )
        assert shown == expected, table["name"]
    tables = (
        "[...document.querySelectorAll('#panel-range [data-table]')].map((t) => t.dataset.table)"
    )
    assert {"kernels", "gpus", "idle", "phases"} <= set(page.value(tables))


def exact(value: Any, unit: str) -> str:
    if value is None:
        return ""
    text = repr(value) if isinstance(value, float) and value % 1 else str(value).removesuffix(".0")
    return f"{text} {unit}" if unit not in ("", "count") else text


def test_a_search_counts_marks_and_goes_from_hit_to_hit(page: PageView) -> None:
    marks = """(() => { const canvas = document.querySelector('#timeline canvas');
        return canvas.getContext('2d').getImageData(0, 0, canvas.width, 14).data.join(); })()"""
    page.wait(f"{marks} === {marks}")
    before = page.value(marks)

    search_for(page, "gemm|step [34]")

    page.becomes(SAID, "12 hits, 3 names, 60.00 us")
    page.wait(f"{marks} !== {json.dumps(before)}")
    expected = ["2000 ns", "12000 ns", "22000 ns", "30000 ns", "32000 ns", "40000 ns"]
    for start in expected:
        page.key("Enter")
        page.becomes(START, start)
        page.becomes("document.activeElement.name", "search-pattern")
    for kind in ("keyDown", "keyUp"):
        page.call(
            "Input.dispatchKeyEvent",
            type=kind,
            key="Enter",
            windowsVirtualKeyCode=13,
            modifiers=8,
            text="\r" if kind == "keyDown" else "",
        )
    page.becomes(START, "32000 ns")


def test_what_is_no_pattern_is_said(page: PageView) -> None:
    search_for(page, "gemm(")

    error = "document.querySelector('#panel-search .error')"
    page.becomes(f"{error}.hidden", False)
    assert "is not a regular expression" in page.value(f"{error}.textContent")
    page.value(f"document.querySelector({json.dumps(PATTERN)}).select()")
    page.call("Input.insertText", text="gemm")
    page.becomes(SAID, "10 hits, 1 name, 40.00 us")


DEEP = 60
"""Calls that lie in each other: more than a window is high."""
MANY = 80
"""More kernels than a table of the range shows at first."""
LONG = f"gemm<{'x, ' * 400}y>"
"""Longer than a pattern can be."""


@pytest.fixture(scope="module")
def deep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A launch below many Python functions, many kernels, one of them with a very long name."""
    maker = a_trace().with_process(41)
    for depth in range(DEEP):
        python = {"category": "python_function"}
        maker.with_call(f"f{depth}", FIRST + depth, FIRST + 100_000 - depth, **python)
    maker.with_call("hipLaunchKernel", FIRST + 5_000, FIRST + 6_000)
    for number in range(MANY):
        start = FIRST + 1_000 * number
        maker.with_kernel(f"kernel_{number:02}", start, start + 900 - number)
    maker.with_kernel(LONG, FIRST + 90_000, FIRST + 91_000)
    maker.with_kernel(f"{LONG} and more", FIRST + 92_000, FIRST + 93_000)
    maker.with_link(DEEP + 1, 1)
    return write_as(maker, tmp_path_factory.mktemp("deep") / "trace.db")


@pytest.fixture
def deep_page(browser: Browser, deep: Path) -> Iterator[PageView]:
    yield from pages_of(browser, deep, "0:calls/0/1")


DEPTH_IN_SIGHT = f"""(() => {{
    const row = document.querySelector('[data-row="0:calls/0/1"]').getBoundingClientRect();
    const canvas = document.querySelector('#timeline canvas').getBoundingClientRect();
    const y = row.top + row.height * ({DEEP} + 0.5) / ({DEEP} + 1);
    return y > canvas.top + 40 && y < canvas.bottom; }})()"""


def test_a_hit_that_lies_deep_in_its_row_is_scrolled_into_sight(deep_page: PageView) -> None:
    search_for(deep_page, "^hipLaunch")
    assert not deep_page.value(DEPTH_IN_SIGHT)

    deep_page.key("Enter")

    deep_page.becomes(TITLE, "hipLaunchKernel")
    deep_page.wait(DEPTH_IN_SIGHT)


def test_a_name_is_looked_for_alone_with_the_keyboard(deep_page: PageView) -> None:
    search_for(deep_page, "kernel_|gemm")
    deep_page.becomes(
        SAID.replace(".textContent", ".textContent.split(',')[0]"), f"{MANY + 2} hits"
    )
    rows = "document.querySelectorAll('#panel-search tbody tr')"

    deep_page.value(f"[...{rows}].find((row) => row.textContent.includes('kernel_07')).focus()")
    deep_page.key("Enter")

    deep_page.becomes(SAID, "1 hit, 1 name, 893 ns")


def test_a_name_longer_than_a_pattern_is_looked_for_alone(deep_page: PageView) -> None:
    search_for(deep_page, "gemm")
    deep_page.becomes(SAID, "2 hits, 2 names, 2.000 us")

    deep_page.click("#panel-search tbody tr")

    deep_page.becomes(SAID, "1 hit, 1 name, 1.000 us")


def test_rows_of_a_range_are_found_and_sorted_among_all(deep_page: PageView) -> None:
    deep_page.value("document.querySelector('#tab-range').click()")
    deep_page.value(
        "[...document.querySelectorAll('#panel-range button')]"
        ".find((button) => button.textContent === 'Visible part').click()"
    )
    names = (
        "[...document.querySelectorAll('#panel-range [data-table=kernels] tbody tr')]"
        ".map((row) => row.cells[0].textContent)"
    )
    deep_page.becomes(f"{names}.length", 50)

    # The shortest of all is the last one of the table.
    title = "document.querySelector('#panel-range [data-table=kernels] th:nth-child(4) button')"
    for _ in range(2):
        deep_page.value(f"{title}.click()")
    deep_page.becomes(f"{names}[0]", "kernel_79")
    deep_page.type_text("#panel-range input[type=search]", "kernel_7")
    deep_page.becomes(f"{names}.length", 10)
