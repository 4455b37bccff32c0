"""Flame graph, findings, steps and kernels beside the timeline, in a real browser."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

import wavescope
from tests.browser import Browser, PageView
from tests.builders import a_trace
from tests.sampled_runs import simulated_run
from tests.serving_traces import DECODE, PREFILL, VLLM_ROCM, Server, labelled
from wavescope.model.trace import Trace
from wavescope.render.html.view_page import view_page_html
from wavescope.view.opening import loaded_view
from wavescope.view.server import ViewServer

FIRST_NS = 7_000_000_000_000_000_000
HOSTILE = "<img src=x onerror=\"window.attacked='name'\">"
ROW = 18
"""Pixels of a row of the flame graph."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser.started() as started:
        yield started


@pytest.fixture(autouse=True)
def _closed(browser: Browser) -> Iterator[None]:
    yield
    browser.close_pages()


@pytest.fixture(scope="module")
def stacks() -> Iterator[str]:
    """Two operators in a function: 60 % and 30 % of GPU time; the launch of 10 % is not known."""
    trace = (
        a_trace()
        .with_process(7)
        .with_call("forward", FIRST_NS, FIRST_NS + 1_000, category="python_function")
        .with_call("aten::mm", FIRST_NS + 100, FIRST_NS + 500, category="cpu_op")
        .with_call(HOSTILE, FIRST_NS + 600, FIRST_NS + 700, category="cpu_op")
        .with_kernel("gemm", FIRST_NS + 1_000, FIRST_NS + 7_000)
        .with_kernel("add", FIRST_NS + 7_000, FIRST_NS + 10_000)
        .with_kernel("gemm", FIRST_NS + 50_000, FIRST_NS + 51_000, queue=3)
        .with_marker("run", FIRST_NS, FIRST_NS + 400_000)
        .with_link(2, 1)
        .with_link(3, 2)
        .build()
    )
    yield from _served(trace)


@pytest.fixture(scope="module")
def steps() -> Iterator[str]:
    """Two prefills, 30 decode steps after each; before the 12th decode step the host is late."""
    server = Server(VLLM_ROCM, layers=4)
    for _ in range(2):
        server.step(1024, PREFILL)
        for number in range(30):
            server.step(16, DECODE, graph=True, pause_ns=3_000_000 if number == 11 else 0)
    yield from _served(labelled(server).trace)


@pytest.fixture(scope="module")
def two() -> Iterator[str]:
    """Two traces with a kernel of their own each."""
    yield from _served(
        a_trace().with_kernel("gemm", 0, 1_000).build(),
        a_trace().with_kernel("other", 50, 2_050).build(),
    )


def _served(*traces: Trace) -> Iterator[str]:
    views = [loaded_view(trace, number=at) for at, trace in enumerate(traces)]
    with ViewServer(views, view_page_html()) as server:
        yield server.address


def opened(browser: Browser, address: str, panel: str, hash_: str = "") -> PageView:
    page = browser.page(f"{address}{hash_}")
    page.wait(f"document.querySelector('#tab-{panel}') !== null")
    if not hash_:
        page.click(f"#tab-{panel}")
    return page


def kept(key: str) -> str:
    """What the page's address says."""
    return f"new URLSearchParams(location.hash.slice(1)).get({json.dumps(key)})"


def text(selector: str) -> str:
    return f"document.querySelector({json.dumps(selector)})?.textContent"


def click_box(page: PageView, share: float, depth: int) -> None:
    """Click in the flame graph."""
    x, y, width = page.value(
        "(() => { const r = document.querySelector('canvas.flame').getBoundingClientRect();"
        " return [r.left, r.top, r.width]; })()"
    )
    at = (x + share * width, y + (depth + 0.5) * ROW)
    page.mouse("mouseMoved", *at)
    page.mouse("mousePressed", *at, button="left", clickCount=1)
    page.mouse("mouseReleased", *at, button="left", clickCount=1)


FOCUSED = ".flame-panel .focused"


def test_a_click_focuses_a_box_and_reset_shows_everything(browser: Browser, stacks: str) -> None:
    page = opened(browser, stacks, "flame")
    page.becomes(text(FOCUSED), "all: 10.00 us, 100.0 %")

    click_box(page, 0.3, 2)
    page.becomes(text(FOCUSED), "aten::mm: 6.000 us, 60.0 %")
    # It is as wide as the picture now, and so is what is below it.
    click_box(page, 0.95, 3)
    page.becomes(text(FOCUSED), "gemm: 6.000 us, 60.0 %")
    click_box(page, 0.95, 1)
    page.becomes(text(FOCUSED), "forward: 9.000 us, 90.0 %")
    page.click(".flame-panel button")
    page.becomes(text(FOCUSED), "all: 10.00 us, 100.0 %")
    assert page.value("document.querySelector('.flame-panel button').hidden")


def test_names_are_text_also_in_the_tip(browser: Browser, stacks: str) -> None:
    page = opened(browser, stacks, "flame")
    page.becomes(text(FOCUSED), "all: 10.00 us, 100.0 %")

    click_box(page, 0.75, 2)

    page.becomes(text(FOCUSED), f"{HOSTILE}: 3.000 us, 30.0 %")
    click_box(page, 0.5, 0)
    page.becomes(text(FOCUSED), "all: 10.00 us, 100.0 %")
    x, y = page.middle("canvas.flame")
    page.mouse("mouseMoved", x, y - 200)
    box = page.value("document.querySelector('canvas.flame').getBoundingClientRect().top")
    page.mouse("mouseMoved", x * 1.5, box + 2.5 * ROW)
    page.becomes(text(".flame-tip"), f"{HOSTILE}\n3.000 us (30.0 % of all), itself 0 ns, 1 times")
    assert page.value("window.attacked ?? ''") == ""


def test_search_says_its_share_of_what_is_focused(browser: Browser, stacks: str) -> None:
    page = opened(browser, stacks, "flame")
    page.becomes(text(FOCUSED), "all: 10.00 us, 100.0 %")

    page.type_text(".flame-panel input[type=search]", "gemm|aten::mm")
    # The kernel inside of the operator is there already; the other one was launched elsewhere.
    page.becomes(text(".flame-panel .hits"), "3 found, 70.0 %")
    click_box(page, 0.3, 1)
    page.becomes(text(".flame-panel .hits"), "3 found, 66.7 %")


def test_a_pattern_that_takes_forever_leaves_the_page_alive(browser: Browser, stacks: str) -> None:
    page = opened(browser, stacks, "flame")
    page.becomes(text(FOCUSED), "all: 10.00 us, 100.0 %")

    page.type_text(".flame-panel input[type=search]", "((.*)*)*\\d{30}$")
    page.wait(f"{text('.flame-panel .hits')}.includes('takes too long')")
    page.value("document.querySelector('.flame-panel input[type=search]').select()")
    page.call("Input.insertText", text="GEMM")

    page.becomes(text(".flame-panel .hits"), "2 found, 70.0 %")


def test_what_is_no_pattern_is_searched_for_as_it_is(browser: Browser, stacks: str) -> None:
    page = opened(browser, stacks, "flame")
    page.becomes(text(FOCUSED), "all: 10.00 us, 100.0 %")

    page.type_text(".flame-panel input[type=search]", "(launch")

    page.becomes(text(".flame-panel .hits"), "1 found, 10.0 %")


def test_keys_walk_through_the_boxes(browser: Browser, stacks: str) -> None:
    page = opened(browser, stacks, "flame")
    page.becomes(text(FOCUSED), "all: 10.00 us, 100.0 %")
    page.value("document.querySelector('canvas.flame').focus()")

    for key in ("ArrowDown", "ArrowRight", "ArrowLeft", "ArrowDown", "Enter"):
        page.key(key)
    page.becomes(text(FOCUSED), "aten::mm: 6.000 us, 60.0 %")
    page.key("Escape")
    page.becomes(text(FOCUSED), "all: 10.00 us, 100.0 %")


def test_host_time_and_ranges(browser: Browser, stacks: str) -> None:
    # The first 10.5 us hold what two of the kernels took.
    page = opened(browser, stacks, "flame", "#panel=flame&range=0_6500_10500&x.flame=gpu.range")
    page.becomes(text(FOCUSED), "all: 3.000 us, 100.0 %")

    page.value(
        "(() => { const s = document.querySelector('.flame-panel select[name=gpu]');"
        " s.value = 'host'; s.dispatchEvent(new Event('change')); })()"
    )
    page.becomes(text(FOCUSED), "all: 0 ns, 0.0 %")
    page.value(
        "(() => { const s = document.querySelector('.flame-panel select[name=all]');"
        " s.value = 'all'; s.dispatchEvent(new Event('change')); })()"
    )
    page.becomes(text(FOCUSED), "all: 1.000 us, 100.0 %")
    page.becomes(kept("x.flame"), "host.all")


def test_without_a_range_nothing_is_shown_for_it(browser: Browser, stacks: str) -> None:
    page = opened(browser, stacks, "flame")
    page.becomes(text(FOCUSED), "all: 10.00 us, 100.0 %")

    page.value(
        "(() => { const s = document.querySelector('.flame-panel select[name=all]');"
        " s.value = 'range'; s.dispatchEvent(new Event('change')); })()"
    )

    page.wait(f"{text('.flame-panel .said')}?.includes('select a range')")
    assert page.value(text(FOCUSED)) == ""
    assert page.value("document.querySelector('canvas.flame').clientHeight") == 0


def test_a_finding_moves_the_timeline_to_its_evidence(browser: Browser, stacks: str) -> None:
    page = opened(browser, stacks, "findings")
    page.wait("document.querySelector('[data-finding=gpu-idle] .go') !== null")

    page.click("[data-finding=gpu-idle] .go")

    page.becomes(kept("range"), "0_10000_50000")
    page.wait(f"{kept('window')} !== null")
    start, end = map(float, page.value(kept("window")).split("_"))
    assert start < 10_000
    assert 50_000 < end < 100_000
    assert page.value("window.attacked ?? ''") == ""


def test_slow_steps_lie_below_the_median_step(browser: Browser, steps: str) -> None:
    page = opened(browser, steps, "steps")
    strips = "document.querySelector('.step-strips')"
    page.becomes(f"{strips}?.dataset.drawn", "3")

    widths = page.value(f"[...{strips}.querySelectorAll('canvas')].map((each) => each.width)")
    labels = page.value(f"[...{strips}.querySelectorAll('bdi')].map((each) => each.textContent)")
    assert labels[0].startswith("median, step ")
    assert labels[1:] == ["slow, step 12", "slow, step 43"]
    # 348 us and more than 3.3 ms, at the same scale.
    assert 0.095 < widths[0] / widths[1] < 0.115
    colours = page.value(
        f"[...{strips}.querySelectorAll('canvas')].map((each) => {{"
        " const line = each.getContext('2d').getImageData(0, 29, each.width, 1).data;"
        " const idle = [...line.slice(-8, -4)].join();"
        " let count = 0;"
        " for (let x = 0; x < each.width; x += 1)"
        "   if ([...line.slice(4 * x, 4 * x + 4)].join() !== idle) count += 1;"
        " return count; })"
    )
    # The same work takes the same width; what is left of a slow step is idle.
    assert abs(colours[1] - colours[2]) <= 4
    assert colours[1] < 0.12 * widths[1]

    kinds = "document.querySelector('#panel-steps select[name=kind]').selectedOptions[0].text"
    assert page.value(kinds).startswith("GPU 0, queue 0 · kind ")
    page.click(".step-strips .strip:nth-child(2)")
    page.wait(f"{kept('range')} !== null")
    row = page.value("document.querySelector('#panel-steps tbody tr').textContent")
    assert row.startswith("12decode")
    _, start, end = map(float, page.value(kept("range")).split("_"))
    assert 3_300_000 < end - start < 3_400_000


def test_marked_steps_of_a_sampled_trace_are_told(browser: Browser) -> None:
    trace = simulated_run(1).trace
    (told,) = wavescope.steps(trace).table("marked_steps").records()
    for address in _served(trace):
        page = opened(browser, address, "steps")

        said = text("#panel-steps .said")
        page.wait(f"{said}?.startsWith('Process 0: {told['steps']} marked steps, median ')")
        assert page.value("document.querySelector('#panel-steps table').hidden")


def test_all_steps_are_listed_when_asked(browser: Browser, steps: str) -> None:
    page = opened(browser, steps, "steps")
    rows = "document.querySelectorAll('#panel-steps tbody tr').length"
    page.becomes(rows, 2)

    page.click("#panel-steps input[type=checkbox]")

    page.becomes(rows, 60)
    page.click("#panel-steps tbody tr:nth-child(3)")
    page.wait(f"{kept('range')} !== null")


def test_of_several_traces_one_is_chosen(browser: Browser, two: str) -> None:
    page = opened(browser, two, "kernels")
    page.becomes(text(".kernel-rows tbody tr bdi"), "gemm")

    page.value("document.querySelector('#panel-kernels select[name=trace]').focus()")
    page.key("ArrowDown")
    page.becomes(text(".kernel-rows tbody tr bdi"), "other")
    page.click(".kernel-rows tbody tr")
    page.becomes(text(".kernel-instances .said"), "1 instance, 2.000 us")
    page.click(".instances li")
    page.becomes(kept("op"), "1_ops_0")


def test_a_range_that_is_selected_later_is_asked_for(browser: Browser, stacks: str) -> None:
    page = opened(browser, stacks, "flame", "#panel=flame&x.flame=gpu.range")
    page.wait(f"{text('.flame-panel .said')}?.includes('select a range')")
    page.click("#tab-findings")
    page.wait("document.querySelector('[data-finding=gpu-idle] .go') !== null")
    page.click("[data-finding=gpu-idle] .go")
    page.becomes(kept("range"), "0_10000_50000")

    page.click("#tab-flame")

    # From the end of one kernel to the beginning of another nothing begins.
    page.becomes(text(FOCUSED), "all: 0 ns, 0.0 %")


def test_kernels_sort_filter_and_list_their_instances(browser: Browser, stacks: str) -> None:
    page = opened(browser, stacks, "kernels")
    names = "[...document.querySelectorAll('.kernel-rows tbody tr')].map((r) => r.dataset.kernel)"
    page.becomes(names, ["gemm", "add"])
    bars = "document.querySelector('.kernel-rows tbody tr').querySelectorAll('rect').length"
    assert page.value(bars) == 2  # 1 us and 6 us

    page.click(".kernel-rows th:first-child button")
    page.click(".kernel-rows th:first-child button")
    page.becomes(names, ["add", "gemm"])
    page.type_text(".kernel-side input", "gem")
    page.becomes(names, ["gemm"])

    page.click(".kernel-rows tbody tr")
    page.becomes(text(".kernel-instances .said"), "2 instances, 7.000 us")
    page.click(".instances li:nth-child(2)")
    page.becomes(kept("op"), "0_ops_2")
    page.click(".kernel-instances button")  # previous
    page.becomes(kept("op"), "0_ops_0")
    page.becomes(text(".kernel-instances .said"), "1 of 2 instances, 7.000 us")
    page.click(".kernel-instances button")
    page.becomes(text("#said"), "This is the first instance.")
    assert page.value("document.querySelectorAll('.instances [aria-current]').length") == 1
