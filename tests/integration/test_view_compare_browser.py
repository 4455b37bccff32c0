"""Two traces in the viewer, in a real browser: aligned, coloured by difference, asked and saved."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wavescope
from tests.browser import TIMEOUT_S, Browser, PageView
from tests.builders import TraceMaker, a_trace
from tests.sample_files import write_as
from tests.view_pages import label, settled

HOSTILE = "<img src=x onerror='window.attacked = 1'>"
QUEUES = ("0:queue/0/0", "1:queue/0/0")
GPUS = ("0:gpu/0", "1:gpu/0")
# Where a label's colour begins in a row of the timeline, for the n-th time, in pixels of the canvas;
# -1: nowhere.
BEGINS = """((rowId, label, number = 1) => {
    const item = [...document.querySelectorAll('#legend li')].find((li) => li.textContent === label);
    if (!item) return -1;
    const wanted = getComputedStyle(item.firstElementChild).backgroundColor.match(/\\d+/g).map(Number);
    const canvas = document.querySelector('#timeline canvas');
    const place = document.querySelector(`.label[data-row="${CSS.escape(rowId)}"]`).getBoundingClientRect();
    const y = Math.round(place.top + 4 - canvas.getBoundingClientRect().top);
    const copy = Object.assign(document.createElement('canvas'), { width: canvas.width, height: 1 });
    const drawn = copy.getContext('2d', { willReadFrequently: true });
    drawn.drawImage(canvas, 0, -y);
    const { data } = drawn.getImageData(0, 0, canvas.width, 1);
    const isThere = (x) => wanted.every((part, i) => Math.abs(part - data[4 * x + i]) < 3);
    for (let x = 1, seen = 0; x < canvas.width; x += 1) {
        if (isThere(x) && !isThere(x - 1)) seen += 1;
        if (seen === number) return x;
    }
    return -1;
})"""


def steps(warm_up_ns: int, step_ns: int, gemm_ns: int, other: str) -> TraceMaker:
    """A long warm-up, then four steps of which each has a GEMM and another kernel."""
    maker = a_trace().with_process(1, id=0, rank=0).with_kernel("warm_up", 0, warm_up_ns // 2)
    for number in range(4):
        at = warm_up_ns + number * step_ns
        maker.with_marker(f"step {number + 1}", at, at + step_ns - 100)
        maker.with_marker("half", at + step_ns // 2, at + step_ns - 200)
        first = {"thread": 1, "marker": -1}
        maker.with_kernel("Cijk_Ailk_Bljk_HHS_BH", at, at + gemm_ns, **first)
        maker.with_kernel(other, at + step_ns // 2, at + step_ns // 2 + 3000, **first)
    return maker


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("compared")
    return [
        write_as(steps(20_000, 10_000, 2_000, "softmax_warp_forward"), folder / "old.db"),
        write_as(
            steps(50_000, 12_000, 3_000, "ncclDevKernel_AllReduce" + HOSTILE), folder / "new.db"
        ),
    ]


@pytest.fixture(scope="module")
def address(traces: list[Path]) -> Iterator[str]:
    with wavescope.open_view(traces, cache=False) as view:
        yield view.address


@pytest.fixture
def page(browser: Browser, address: str) -> PageView:
    """The page with both traces read and drawn."""
    return opened(browser, address)


def opened(browser: Browser, address: str) -> PageView:
    page = browser.page(address)
    for row in QUEUES:
        page.wait(f"document.querySelector('.label[data-row=\"{row}\"]') !== null")
    page.wait(f"{BEGINS}('{QUEUES[1]}', 'GEMM') >= 0")
    return page


def open_panel(page: PageView, name: str) -> None:
    page.click(f"#tab-{name}")
    page.becomes(f"document.querySelector('#panel-{name}').hidden", expected=False)


def choose(page: PageView, selector: str, value: str) -> None:
    page.value(
        f"""(() => {{ const e = document.querySelector({json.dumps(selector)});
        e.value = {json.dumps(value)}; e.dispatchEvent(new Event('change', {{bubbles: true}})); }})()"""
    )


def begins(page: PageView, row: str, label: str) -> int:
    return int(page.value(f"{BEGINS}({json.dumps(row)}, {json.dumps(label)})"))


def both_begin_alike(label: str, rows: tuple[str, str] = QUEUES) -> str:
    places = ", ".join(f"{BEGINS}('{row}', '{label}')" for row in rows)
    return f"(([a, b]) => a > 0 && a === b)([{places}])"


def test_steps_of_one_number_lie_above_each_other_after_aligning(page: PageView) -> None:
    choose(page, "#colour-by", "step")
    page.wait(f"{BEGINS}('{QUEUES[0]}', 'even steps') > 0")
    page.wait(f"{BEGINS}('{QUEUES[1]}', 'even steps') > 0")
    assert begins(page, QUEUES[0], "even steps") != begins(page, QUEUES[1], "even steps")

    open_panel(page, "compare")
    choose(page, "select[name=align-at]", "step")
    page.wait(both_begin_alike("odd steps"))
    choose(page, "input[name=align-number]", "2")
    page.wait(both_begin_alike("even steps"))

    assert begins(page, QUEUES[0], "odd steps") != begins(page, QUEUES[1], "odd steps")
    assert page.value("document.querySelector('.aligning .count').textContent") == "of 4"


def test_aligned_steps_begin_in_one_pixel_at_any_zoom(page: PageView) -> None:
    open_panel(page, "compare")
    choose(page, "select[name=align-at]", "step")
    page.wait("location.hash.includes('offsets=30000_0')")

    for width in (1440, 1431, 1397, 1301, 1203):
        page.size(width, 900)
        page.wait(f"document.querySelector('#timeline canvas').clientWidth === {width}")
        settled(page)
        assert begins(page, GPUS[0], "GEMM") == begins(page, GPUS[1], "GEMM") > 0


def test_the_nth_marker_of_a_name_aligns_and_a_link_keeps_it(
    browser: Browser, page: PageView
) -> None:
    open_panel(page, "compare")
    choose(page, "select[name=align-at]", "marker")
    page.wait("document.querySelector('select[name=align-marker]').options.length === 5")
    choose(page, "select[name=align-marker]", "half")
    page.becomes("document.querySelector('.aligning .count').textContent", "of 4")
    choose(page, "input[name=align-number]", "3")
    page.wait("decodeURIComponent(location.hash).includes('marker:3:half')")
    thirds = f"[{BEGINS}('{QUEUES[0]}', 'softmax', 3), {BEGINS}('{QUEUES[1]}', 'communication', 3)]"
    are_alike = f"(([a, b]) => a > 0 && a === b)({thirds})"
    page.wait(are_alike)

    again = opened(browser, page.value("location.href"))

    again.becomes("document.querySelector('input[name=align-number]').value", "3")
    assert again.value("document.querySelector('select[name=align-marker]').value") == "half"
    again.wait(are_alike)


def test_the_page_begins_aligned_as_the_command_says(browser: Browser, traces: list[Path]) -> None:
    with wavescope.open_view(traces, align="marker:3:half", cache=False) as view:
        page = opened(browser, view.address)
        thirds = (
            f"[{BEGINS}('{QUEUES[0]}', 'softmax', 3), {BEGINS}('{QUEUES[1]}', 'communication', 3)]"
        )
        page.wait(f"(([a, b]) => a > 0 && a === b)({thirds})")
        page.wait("location.hash.includes('offsets=35000_0')")

        assert page.value("document.querySelector('input[name=align-number]').value") == "3"


def test_a_marker_that_is_not_in_all_traces_is_told_with_the_panel_closed(
    browser: Browser, traces: list[Path]
) -> None:
    with wavescope.open_view(traces, align="marker:absent", cache=False) as view:
        page = opened(browser, view.address)

        said = "not all traces have a marker 'absent'"
        page.becomes("document.querySelector('#said').textContent", said)
        assert "offsets" not in page.value("location.hash")


def test_going_back_shows_how_traces_were_aligned_before(page: PageView) -> None:
    open_panel(page, "compare")
    choose(page, "select[name=align-at]", "step")
    page.wait("location.hash.includes('x.align=step:1')")
    row = "document.querySelector('#panel-compare tbody tr')"
    page.wait(f"{row} !== null")
    page.value(f"{row}.click()")
    page.wait("location.hash.includes('x.align=kernel')")
    assert "window=" in page.value("location.hash")

    page.value("history.back()")

    page.becomes("document.querySelector('select[name=align-at]').value", "step")
    page.wait("location.hash.includes('x.align=step:1')")
    assert "window=" not in page.value("location.hash")


def test_one_trace_has_no_panel_for_comparing(browser: Browser, traces: list[Path]) -> None:
    with wavescope.open_view(traces[0], cache=False) as view:
        page = browser.page(view.address + "#panel=compare")
        settled(page)
        page.key("v")
        page.key("o")

        page.wait("location.hash === '#panel=save'")
        assert page.value("document.querySelector('#panel-compare').hidden") is True
        page.key("?")
        page.wait("document.querySelector('#help').open")
        assert "open Compare" not in page.value("document.querySelector('#keys').textContent")


def compared(traces: list[Path]) -> list[dict[str, Any]]:
    return wavescope.compare(traces).table("kernels").records()


def test_kernels_that_differ_are_those_of_the_command(page: PageView, traces: list[Path]) -> None:
    open_panel(page, "compare")
    cells = "[...document.querySelectorAll('#panel-compare tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent))"
    records = compared(traces)
    page.becomes(f"{cells}.length", len(records))
    rows = {row[0]: row for row in page.value(cells)}

    gemm = next(record for record in records if str(record["name"]).startswith("Cijk"))
    assert gemm["mean_percent"] == 50.0
    assert rows[gemm["name"]][1:4] == ["slower", "4.000 us", "+50.0 %"]
    assert {row[1] for row in rows.values()} == {"slower", "only here", "gone"}
    said = "document.querySelector('#panel-compare .panel-head > .said').textContent"
    assert page.value(said).startswith("base old.db, new new.db: 2 slower, ")
    assert page.value("window.attacked") is None
    assert page.complaints() == []


def test_colours_of_differences_are_those_of_the_command(page: PageView) -> None:
    open_panel(page, "compare")
    page.click("#panel-compare button:not(th button)")

    page.becomes("document.querySelector('#colour-by').value", "difference")
    page.wait(f"{BEGINS}('{QUEUES[1]}', 'slower') > 0")
    page.wait(f"{BEGINS}('{QUEUES[1]}', 'only here') > 0")
    page.wait(f"{BEGINS}('{QUEUES[0]}', 'faster') > 0")
    page.wait(f"{BEGINS}('{QUEUES[0]}', 'only here') > 0")
    assert begins(page, QUEUES[1], "faster") == -1
    assert begins(page, QUEUES[0], "slower") == -1


def test_a_kernel_of_the_table_is_shown_in_both_traces(page: PageView) -> None:
    open_panel(page, "compare")
    row = "[...document.querySelectorAll('#panel-compare tbody tr')].find((row) => row.textContent.startsWith('Cijk'))"
    page.wait(f"{row} !== undefined")
    page.value(f"{row}.focus()")
    page.key("Enter")

    # The selected op has a frame: what lies at the left edge is seen in the rows of GPUs.
    page.wait(both_begin_alike("GEMM", GPUS))
    said = "document.querySelector('.aligning .said').textContent"
    page.wait(f"{said}.startsWith('an example of Cijk')")
    assert page.value("document.querySelector('select[name=align-at]').value") == "kernel"


def test_both_rows_of_a_kernel_are_in_sight_however_much_lies_between(
    browser: Browser, tmp_path: Path
) -> None:
    makers = [steps(20_000, 10_000, length, "softmax_warp_forward") for length in (2_000, 3_000)]
    for thread in range(40):
        makers[0].with_marker("busy", 0, 60_000, thread=100 + thread)
    paths = [write_as(maker, tmp_path / f"{n}.db") for n, maker in enumerate(makers)]
    with wavescope.open_view(paths, cache=False) as view:
        page = browser.page(view.address, width=1366, height=768)
        settled(page)
        open_panel(page, "compare")
        row = "document.querySelector('#panel-compare tbody tr')"
        page.wait(f"{row} !== null")
        page.value(f"{row}.click()")
        settled(page)

        labels = [f"document.querySelector('{label(queue)}')" for queue in QUEUES]
        for found, name in zip(labels, ("0.db", "1.db"), strict=True):
            page.wait(f"!{found}.classList.contains('out')")
            assert page.value(f"{found}.querySelector('.detail').textContent") == f"GPU 0 · {name}"


def run_statement(page: PageView, statement: str) -> None:
    page.value("document.querySelector('#panel-sql textarea').value = ''")
    page.type_text("#panel-sql textarea", statement)
    common = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "modifiers": 2}
    page.call("Input.dispatchKeyEvent", type="keyDown", **common)
    page.call("Input.dispatchKeyEvent", type="keyUp", **common)


def test_sql_answers_with_rows_and_says_what_is_wrong(page: PageView) -> None:
    open_panel(page, "sql")
    cells = "[...document.querySelectorAll('#panel-sql tbody td')].map((cell) => cell.textContent)"
    run_statement(page, "SELECT count(*) AS ops, NULL AS missing FROM rocpd_op WHERE gpuId = 0")
    page.becomes(cells, ["9", "NULL"])
    heads = "[...document.querySelectorAll('#panel-sql th')].map((cell) => cell.textContent)"
    assert page.value(heads) == ["ops", "missing"]

    choose(page, "select[name=sql-trace]", "1")
    run_statement(page, "SELECT max(end - start) FROM rocpd_op WHERE gpuId = 0")
    page.becomes(cells, ["25000"])

    run_statement(
        page, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
    )
    said = "document.querySelector('#panel-sql .said').textContent"
    page.wait(f"{said}.startsWith('the first 1,000 rows, there are more, ')")

    run_statement(page, "DELETE FROM rocpd_op")
    page.becomes("document.querySelector('#panel-sql .error').hidden", expected=False)
    assert page.value(cells) == []

    run_statement(page, f"SELECT '{HOSTILE.replace(chr(39), chr(39) * 2)}'")
    page.becomes(cells, [HOSTILE])
    assert page.value("document.querySelector('#panel-sql .error').hidden") is True
    assert page.value("window.attacked") is None


@pytest.mark.parametrize(
    ("button", "kind"), [(1, (".pftrace", "Perfetto")), (2, (".db", "wavescope"))]
)
def test_a_saved_window_is_a_trace_of_what_was_seen(
    browser: Browser, page: PageView, tmp_path: Path, button: int, kind: tuple[str, str]
) -> None:
    browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    open_panel(page, "save")
    choose(page, "select[name=save-trace]", "1")
    page.click(f"#panel-save button:nth-of-type({button})")
    said = "document.querySelector('#panel-save .said').textContent"
    page.wait(f"{said}.endsWith('bytes')")
    path = tmp_path / page.value(said).split(",")[0]
    wait_for(path)
    info = wavescope.info(path)

    assert (path.suffix, info.facts["format"]) == kind
    with wavescope.open(path) as saved:
        assert len(saved.ops) == 9
        assert saved.ops.duration_ns.max() == 25_000


def test_a_range_is_saved_of_its_own_trace_and_nothing_of_one_out_of_sight(page: PageView) -> None:
    buttons = "[...document.querySelectorAll('#panel-save button')]"
    what = "document.querySelector('#panel-save .what').textContent"
    open_panel(page, "save")
    assert page.value(what) == "What starts in the window: 59.90 us from 0.00 us on"
    assert page.value(f"{buttons}[0].textContent") == "Save window as .pftrace"

    page.value("location.hash = 'panel=save&range=1_100_30100'")
    page.becomes(f"{buttons}[0].textContent", "Save range as .pftrace")
    assert page.value("document.querySelector('select[name=save-trace]').value") == "1"
    assert page.value(what) == "What starts in the range: 30.00 us from 0.10 us on"
    title = "document.querySelector('#panel-range').textContent"
    open_panel(page, "range")
    page.wait(f"{title}.includes('new.db: 30.00 us from 100 ns on')")
    open_panel(page, "save")

    page.value("location.hash = 'panel=save&window=70000_80000'")
    choose(page, "select[name=save-trace]", "0")
    page.becomes(what, "The window shows nothing of this trace.")
    assert page.value(f"{buttons}.map((button) => button.disabled)") == [True, True, True]


def wait_for(path: Path) -> None:
    """The browser gives a file its name when it is whole."""
    end = time.monotonic() + TIMEOUT_S
    while not path.exists():
        assert time.monotonic() < end, list(path.parent.iterdir())
        time.sleep(0.02)


def test_nothing_is_asked_of_others(page: PageView, address: str) -> None:
    for panel in ("compare", "sql", "save"):
        open_panel(page, panel)

    assert [place for place in page.requests() if not place.startswith(address)] == []
    title = "document.querySelector('#panel-save button:nth-of-type(3)').title"
    assert "goes to no server" in page.value(title)
    assert page.complaints() == []
