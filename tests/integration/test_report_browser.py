"""The report in a real browser: it opens alone, moves, sorts and finds, and runs nothing foreign."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.browser import Browser, PageView
from tests.builders import TraceMaker, a_trace
from tests.sample_files import rich_trace, write_as
from wavescope.cli.main import main
from wavescope.formats.results import save_runs
from wavescope.model.overhead_runs import ArmRun, MetricKind, OverheadRuns, TraceFacts
from wavescope.model.result import Result

READY = "document.querySelector('.timeline').dataset.ready === 'true'"
WINDOW = "(({from, to}) => [Number(from), Number(to)])(document.querySelector('.timeline').dataset)"
HOSTILE_NAMES = (
    "</script><img src=x onerror=\"window.attacked = 'image'\">",
    "<script>window.attacked = 'script'</script>",
    "\"'><svg onload=window.attacked='svg'>",
    "' onmouseover='window.attacked=1' x='",
    "</title></style></table><iframe srcdoc='<script>parent.attacked=1</script>'>",
    "javascript:window.attacked=1",
    "\u202e\u2066 right to left \u05d0\u05d1\u05d2 \u0645\u0631\u062d\u0628\u0627",
    "<!--<script>",
    "]]>&lt;\x00\x1b[31m\ud800",
    "{{constructor.constructor('window.attacked=1')()}}",
)


def report(trace: Path, *more: str) -> Path:
    target = trace.with_suffix(".html")
    assert main(["report", str(trace), "-o", str(target), "--quiet", *more]) == 0
    return target


def opened(browser: Browser, page: Path, **how: object) -> PageView:
    view = browser.page(page.as_uri(), **how)  # type: ignore[arg-type]
    view.wait(READY)
    return view


@pytest.fixture(scope="module")
def rich_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return report(write_as(rich_trace(), tmp_path_factory.mktemp("report") / "trace.db"))


def many_kernels() -> TraceMaker:
    """40 kernels, the longest last; the time axis is 40 us long."""
    maker = a_trace()
    for number in range(40):
        start = 1_000 * number
        maker.with_kernel(f"kernel_{number:02d}", start, start + 500 + number)
    return maker


@pytest.fixture(scope="module")
def long_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return report(write_as(many_kernels(), tmp_path_factory.mktemp("report") / "many.db"))


def test_it_opens_alone_and_without_complaints(browser: Browser, rich_report: Path) -> None:
    view = opened(browser, rich_report)

    assert view.value("document.title") == "trace.db"
    assert view.requests() == [rich_report.as_uri()]
    assert view.complaints() == []
    headings = view.value("[...document.querySelectorAll('h2')].map((h) => h.textContent)")
    for wanted in ("Findings", "Timeline", "Kernels", "Idle gaps", "Coverage", "Environment"):
        assert wanted in headings


def test_it_asks_no_network_for_anything(rich_report: Path) -> None:
    text = rich_report.read_text()

    assert re.findall(r"(?:src|href|action)=[\"']?(?![\"']|#|data:)[^\s>]+", text) == []
    assert re.findall(r"url\(|@import|fetch\(|XMLHttpRequest|WebSocket|importScripts", text) == []


def test_the_policy_stops_what_markup_could_smuggle_in(browser: Browser, rich_report: Path) -> None:
    view = opened(browser, rich_report)
    view.value(
        """(() => {
          const script = document.createElement("script");
          try { script.text = "window.attacked = 1"; document.body.append(script); } catch {}
          try { document.body.innerHTML = "<p>replaced"; } catch {}
          const image = document.createElement("img");
          image.src = "https://example.com/x.png";
          document.body.append(image);
          const button = document.createElement("button");
          try { button.setAttribute("onclick", "window.attacked = 2"); } catch {}
          document.body.append(button);
          button.click();
          const style = document.createElement("style");
          style.textContent = "body { display: none }";
          document.head.append(style);
        })()"""
    )

    assert view.value("window.attacked") is None
    assert view.value("getComputedStyle(document.body).display") == "block"
    assert view.value("document.querySelectorAll('h2').length") > 3
    view.complains_of("Content Security Policy", "ContentSecurityPolicy")


def test_keys_and_buttons_zoom_and_pan(browser: Browser, long_report: Path) -> None:
    view = opened(browser, long_report)
    assert view.value(WINDOW) == [0, 39_539]

    view.value("document.querySelector('.timeline canvas').focus()")
    view.key("w")
    view.becomes(WINDOW, [9_885, 29_654])
    view.key("d")
    view.becomes(WINDOW, [14_827, 34_597])
    view.key("Home")
    view.becomes(WINDOW, [0, 39_539])
    view.click("[data-act=in]")
    view.click("[data-act=in]")
    view.becomes(WINDOW, [14_827, 24_712])
    assert view.value("document.querySelector('output.window').textContent") == (
        "14.827 us to 24.712 us (9.885 us)"
    )
    view.click("[data-act=all]")
    view.becomes(WINDOW, [0, 39_539])


def test_the_wheel_zooms_where_the_pointer_is_and_dragging_pans(
    browser: Browser, long_report: Path
) -> None:
    view = opened(browser, long_report)
    x, y = view.middle(".timeline canvas")

    view.value(
        f"""document.querySelector('.timeline canvas').dispatchEvent(new WheelEvent("wheel",
        {{deltaY: -200, ctrlKey: true, clientX: {x}, clientY: {y}, cancelable: true}}))"""
    )
    start, end = view.value(WINDOW)
    assert end - start == pytest.approx(39_539 / 1.2**3, abs=2)

    view.mouse("mousePressed", x, y, button="left", clickCount=1)
    view.mouse("mouseMoved", x + 100, y, button="left", buttons=1)
    view.mouse("mouseReleased", x + 100, y, button="left", clickCount=1)
    view.wait(f"{WINDOW}[0] < {start}")
    panned = view.value(WINDOW)
    assert panned[1] - panned[0] == pytest.approx(end - start, abs=2)


def test_zoomed_in_single_ops_are_named(browser: Browser, long_report: Path) -> None:
    view = opened(browser, long_report)
    # The canvas leaves 118 points for labels; the strip of GPU 0 lies 42 to 80 points below its top.
    x, y, width = view.value(
        """(() => { const r = document.querySelector('.timeline canvas').getBoundingClientRect();
        return [r.left, r.top, r.width]; })()"""
    )
    at = x + 118 + (width - 118) * (20_250 / 39_539)

    view.mouse("mouseMoved", at, y + 60)

    lines = "[...document.querySelector('.tip').children].map((e) => e.textContent)"
    view.becomes(lines, ["kernel_20", "520 ns from 20.00 us", "GPU 0 · other"])
    assert view.value("Number(document.querySelector('.timeline').dataset.boxes)") == 40


def test_finding_ops_tells_how_many_and_leads_to_them(browser: Browser, long_report: Path) -> None:
    view = opened(browser, long_report)

    view.type_text(".timeline input[type=search]", "KERNEL_3")
    view.becomes("document.querySelector('output.matches').textContent", "10 ops, 5.345 us")
    view.key("Enter")
    view.wait(f"{WINDOW}[0] > 0")
    start, end = view.value(WINDOW)
    assert start < 30_000
    assert end > 30_530
    assert end - start < 20 * 540


def test_tables_sort_by_any_column(browser: Browser, long_report: Path) -> None:
    view = opened(browser, long_report)
    names = (
        "[...document.querySelectorAll('#kernels tbody tr')].slice(0, 3)"
        ".map((row) => row.cells[0].textContent)"
    )
    column = view.value(
        """[...document.querySelectorAll('#kernels th')]
        .findIndex((th) => th.textContent.startsWith('Total')) + 1"""
    )
    total = f"#kernels thead th:nth-child({column}) button"

    assert view.value(names) == ["kernel_39", "kernel_38", "kernel_37"]
    order = "document.querySelector('#kernels [aria-sort]')?.getAttribute('aria-sort')"
    view.click(total)
    view.becomes(order, "descending")
    view.click(total)
    view.becomes(names, ["kernel_00", "kernel_01", "kernel_02"])
    first = "document.querySelector('#kernels thead th button')"
    view.value(f"{first}.focus()")
    view.key("Enter")
    view.becomes(f"{first}.closest('th').getAttribute('aria-sort')", "ascending")
    assert view.value(names) == ["kernel_00", "kernel_01", "kernel_02"]
    view.key("Enter")
    view.becomes(names, ["kernel_39", "kernel_38", "kernel_37"])


def test_tables_keep_the_rows_that_hold_a_word(browser: Browser, long_report: Path) -> None:
    view = opened(browser, long_report)
    seen = "[...document.querySelectorAll('#kernels tbody tr')].filter((row) => !row.hidden).length"

    assert view.value(seen) == 20
    view.type_text("#kernels input[type=search]", "kernel_1")
    view.becomes(seen, 10)
    assert view.value("document.querySelector('#kernels output').textContent") == "10 of 40 rows"
    view.value(
        """(() => { const field = document.querySelector('#kernels input[type=search]');
        field.value = ""; field.dispatchEvent(new Event("input")); })()"""
    )
    view.click("#kernels button.more")
    view.becomes(seen, 40)


def test_a_gap_leads_to_its_place_on_the_timeline(browser: Browser, tmp_path: Path) -> None:
    maker = a_trace().with_kernel("a", 5_000, 6_000).with_kernel("b", 106_000, 107_000)
    maker.with_kernel("c", 108_000, 109_000)
    view = opened(browser, report(write_as(maker, tmp_path / "gap.db")))

    view.click("#gaps [data-zoom]")

    # The gap from 1 to 101 us after the first op, and half its length on both sides.
    view.becomes(WINDOW, [0, 104_000])
    view.value("document.querySelectorAll('#gaps [data-zoom]')[1].click()")
    assert view.value(WINDOW) == [101_500, 103_500]


def test_hostile_names_do_nothing_and_are_shown(browser: Browser, tmp_path: Path) -> None:
    maker = a_trace()
    names = [*HOSTILE_NAMES, "x" * 1_000_000]
    for number, name in enumerate(names):
        start = 10_000 * number
        maker.with_kernel(name, start, start + 4_000 + number)
        maker.with_marker(name, start, start + 5_000)
        maker.with_metadata(f"fact {number} {name[:100]}", name)
        maker.with_process(number, name=name, command=name)
    maker.with_coverage(1, 1, reason=HOSTILE_NAMES[0], mode=HOSTILE_NAMES[1])
    page = report(write_as(maker, tmp_path / "hostile.db"), "--title", HOSTILE_NAMES[0])

    view = opened(browser, page)
    view.value("document.querySelector('.timeline canvas').focus()")
    view.value("window.scrollTo(0, document.body.scrollHeight)")

    assert page.stat().st_size < 500_000
    assert view.value("window.attacked") is None
    assert view.value("document.querySelectorAll('img, iframe, svg[onload]').length") == 0
    assert view.value("document.title") == HOSTILE_NAMES[0]
    cells = view.value(
        "[...document.querySelectorAll('#kernels td.name')].map((e) => e.textContent)"
    )
    assert "<script>window.attacked = 'script'</script>" in cells
    assert view.complaints() == []


def test_the_theme_is_the_systems_until_chosen(browser: Browser, rich_report: Path) -> None:
    ground = "getComputedStyle(document.querySelector('section:not(.bare)')).backgroundColor"

    light, dark = (opened(browser, rich_report, dark=dark) for dark in (False, True))

    assert light.value(ground) == "rgb(255, 255, 255)"
    assert dark.value(ground) == "rgb(26, 30, 38)"
    dark.click("#theme")
    dark.becomes(ground, "rgb(255, 255, 255)")
    dark.click("#theme")
    dark.becomes("document.querySelector('#theme').textContent", "Theme: dark")


def test_it_reads_on_paper_and_on_a_small_screen(browser: Browser, rich_report: Path) -> None:
    view = opened(browser, rich_report, width=420, height=800)
    assert view.value("document.documentElement.scrollWidth") <= 420

    printed = view.call("Page.printToPDF", printBackground=True)["data"]
    assert len(printed) > 10_000
    view.call("Emulation.setEmulatedMedia", media="print")
    assert view.value("getComputedStyle(document.querySelector('nav')).display") == "none"


def test_without_scripts_tables_and_charts_are_still_there(
    browser: Browser, rich_report: Path
) -> None:
    view = browser.page()
    view.call("Emulation.setScriptExecutionDisabled", value=True)
    view.open(rich_report.as_uri())

    assert view.value("document.querySelectorAll('#kernels tbody tr').length") > 2
    assert view.value("getComputedStyle(document.querySelector('.timeline')).display") == "none"


def test_an_empty_trace_has_a_report_too(browser: Browser, tmp_path: Path) -> None:
    view = browser.page(report(write_as(a_trace(), tmp_path / "empty.db")).as_uri())
    view.wait("document.readyState === 'complete'")

    assert view.complaints() == []
    said = view.value("document.querySelector('#findings .none').textContent")
    assert said == "There are no GPU ops here to judge."
    assert view.value("document.querySelectorAll('.timeline, #timeline').length") == 0


def test_several_traces_are_compared_with_the_first(browser: Browser, tmp_path: Path) -> None:
    paths = []
    for number, length in enumerate((1_000, 1_500, 2_000)):
        maker = a_trace().with_marker("prefill", 0, 900).with_marker("decode", 900, 90_000)
        maker.with_kernel("gemm", 0, length).with_kernel(HOSTILE_NAMES[0], 50_000, 50_400)
        paths.append(write_as(maker, tmp_path / f"v{number}.db"))
    page = tmp_path / "trend.html"
    labels = [word for name in ("v1", HOSTILE_NAMES[1], "v3") for word in ("--label", name)]
    assert main(["report", *map(str, paths), "-o", str(page), "-q", *labels]) == 0

    view = browser.page(page.as_uri())
    view.wait("[...document.querySelectorAll('.timeline')].every((t) => t.dataset.ready)")

    assert view.complaints() == []
    assert view.value("window.attacked") is None
    rows = view.value(
        "[...document.querySelectorAll('#kernels tbody tr')].map((r) => [...r.cells].map((c) => c.textContent))"
    )
    assert ["gemm", "1.000", "1.500", "2.000", "+100.0", "+100.0"] in rows
    headings = view.value("[...document.querySelectorAll('#trends h3')].map((h) => h.textContent)")
    assert "GPU time +71.4 %" in headings
    assert view.value("document.querySelectorAll('.timeline').length") == 3
    view.value("document.querySelectorAll('details.trace')[1].open = true")
    view.wait("Number(document.querySelectorAll('.timeline')[1].dataset.boxes) === 2")


WORDY = {
    "old": "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn_of_a_library_with_long_names",
    "new": "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_cublas",
}
CUT = (
    "[...document.querySelectorAll('.scroll')].filter((s) => s.scrollWidth > s.clientWidth)"
    ".map((s) => s.getAttribute('aria-label'))"
)
LINES = """[...document.querySelectorAll('#changes td.name')].flatMap((cell) => {
  const found = [];
  const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode, range = document.createRange();
    let line = "", top = null;
    for (let at = 0; at < text.length; at += 1) {
      range.setStart(text, at); range.setEnd(text, at + 1);
      const box = range.getBoundingClientRect();
      if (top !== null && Math.abs(box.top - top) > 4) { if (!/\\s$/.test(line)) found.push(line); line = ""; }
      top = box.top; line += text.data[at];
    }
  }
  return found;
})"""
"""Lines that end within a word: between words a name has an element that lets it break."""


def test_a_comparison_cuts_no_column_and_breaks_names_between_words(
    browser: Browser, tmp_path: Path
) -> None:
    paths = []
    for number, other in enumerate(("old", "new")):
        maker = a_trace()
        for step in range(6):
            at = 10_000 * step
            maker.with_kernel("embed", at, at + 1_000)
            maker.with_kernel(WORDY[other], at + 1_000, at + 3_000 + 1_000 * number)
            maker.with_kernel("Cijk_Alik_Bljk_MT256x128x64_gemm", at + 5_000, at + 6_000)
        paths.append(write_as(maker, tmp_path / f"a_rather_long_name_of_a_trace_{other}.db"))
    page = tmp_path / "compared.html"
    assert main(["report", *map(str, paths), "-o", str(page), "-q"]) == 0

    view = browser.page(page.as_uri())
    view.size(1400, 900)
    view.wait("[...document.querySelectorAll('.timeline')].every((t) => t.dataset.ready)")

    assert view.complaints() == []
    assert view.value(CUT) == []
    assert view.value("document.documentElement.scrollWidth") <= 1400
    assert view.value(LINES) == []
    told = view.value("[...document.querySelectorAll('#changes small')].map((s) => s.textContent)")
    assert any(words.startswith("renamed, was ampere") for words in told)
    headline = view.value("document.querySelector('.headline').textContent")
    assert "about as long as the base (56.00 us): sm90_xmma_gemm" in headline
    headings = view.value("[...document.querySelectorAll('#trends h3')].map((h) => h.textContent)")
    assert "Busy +10.7 points" in headings


def test_labels_that_tell_cases_are_columns(browser: Browser, tmp_path: Path) -> None:
    paths = [str(write_as(many_kernels(), tmp_path / f"{number}.db")) for number in range(2)]
    labels = ("model=R1,tp=8,conc=1", "model=R1,tp=8,conc=64")
    page = tmp_path / "cases.html"
    given = [word for label in labels for word in ("--label", label)]
    assert main(["report", *paths, "-o", str(page), "-q", *given]) == 0

    view = browser.page(page.as_uri())
    view.wait("document.readyState === 'complete'")

    for section in ("#figures", "#trends"):
        heads = view.value(
            f"[...document.querySelectorAll('{section} thead th')].map((h) => h.textContent)"
        )
        assert heads[:4] == ["Trace", "Model", "TP", "Conc"]


def test_labels_are_one_for_each_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(write_as(many_kernels(), tmp_path / "a.db"))

    assert (
        main(["report", path, "-o", str(tmp_path / "r.html"), "--label", "a", "--label", "b"]) == 2
    )
    assert "2 labels for 1 trace\n" in capsys.readouterr().err


def test_files_of_one_name_are_called_by_what_tells_them_apart(tmp_path: Path) -> None:
    paths = []
    for folder in ("mi300/run", "h100/run"):
        (tmp_path / folder).mkdir(parents=True)
        paths.append(str(write_as(many_kernels(), tmp_path / folder / "trace.db")))

    assert main(["report", *paths, "-o", str(tmp_path / "r.html"), "-q"]) == 0

    text = (tmp_path / "r.html").read_text()
    assert "<h1>mi300/run/trace.db and 1 more</h1>" in text
    assert "h100/run/trace.db" in text


def test_an_existing_page_is_replaced_only_when_asked(tmp_path: Path) -> None:
    trace, page = write_as(many_kernels(), tmp_path / "a.db"), tmp_path / "r.html"
    page.write_text("mine")

    assert main(["report", str(trace), "-o", str(page), "-q"]) == 2
    assert page.read_text() == "mine"
    assert main(["report", str(trace), "-o", str(page), "-q", "--force"]) == 0
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert main(["report", str(trace), "-o", str(trace), "-q", "--force"]) == 2


def overhead_runs(label: str, recorded: float) -> OverheadRuns:
    runs = [ArmRun("baseline", number, 100.0 + number, 1_000) for number in range(5)]
    facts = TraceFacts(op_count=211_000, kernel_count=108, seen=260_000, timed=211_000)
    runs += [ArmRun("lite", number, recorded + number, 1_000, 0, facts) for number in range(5)]
    return OverheadRuns(label, "python3 serve.py", MetricKind("tok/s", "tok/s", True), tuple(runs))


def test_overhead_and_other_results_can_be_added(browser: Browser, tmp_path: Path) -> None:
    trace = write_as(rich_trace(), tmp_path / "trace.db")
    for name, value in (("v1", 99.0), ("v2", 95.0)):
        save_runs(overhead_runs(name, value), tmp_path / f"{name}.json", force=False)
    hostile = Result(HOSTILE_NAMES[0], facts={HOSTILE_NAMES[1]: HOSTILE_NAMES[2], "op_count": 3})
    (tmp_path / "other.json").write_text(json.dumps(hostile.to_json()))
    added = [
        word
        for name in ("v1", "v2", "other")
        for word in ("--with", str(tmp_path / f"{name}.json"))
    ]

    view = opened(browser, report(trace, *added))

    assert view.complaints() == []
    assert view.value("window.attacked") is None
    overhead = view.value("document.querySelector('#added-1').innerText")
    assert "python3 serve.py" in overhead
    assert {"v1", "v2", "lite"} <= set(overhead.split())
    assert view.value("document.querySelector('#added-2 h2').textContent") == HOSTILE_NAMES[0]


def test_what_cannot_be_added_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace, other = write_as(rich_trace(), tmp_path / "trace.db"), tmp_path / "other.json"
    other.write_text("[]")

    assert main(["report", str(trace), "-o", str(tmp_path / "r.html"), "--with", str(other)]) == 3
    assert str(other) in capsys.readouterr().err
    assert not (tmp_path / "r.html").exists()


def test_a_part_of_a_trace_has_a_report(
    browser: Browser, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = write_as(many_kernels(), tmp_path / "many.db")

    view = opened(browser, report(trace, "--kernel", "kernel_1"))

    assert view.value("document.querySelectorAll('#kernels tbody tr').length") == 10
    arguments = ["report", str(trace), "-o", str(tmp_path / "none.html"), "--gpu", "9"]
    assert main(arguments) == 0
    assert "no GPU op passes" in capsys.readouterr().err


@pytest.mark.parametrize("width", [1400, 700])
def test_opening_the_evidence_keeps_the_layout(
    browser: Browser, tmp_path: Path, width: int
) -> None:
    maker = a_trace()
    for number in range(40):
        maker.with_kernel(f"kernel_{'x' * 200}", number * 100_000, number * 100_000 + 1_000)
    view = opened(browser, report(write_as(maker, tmp_path / "idle.db")), width=width)
    widest = """Math.max(document.documentElement.scrollWidth,
        ...[...document.querySelectorAll('.finding')].map((f) => f.getBoundingClientRect().right))"""
    before = view.value(widest)
    view.value("document.querySelectorAll('.finding details').forEach((d) => { d.open = true; })")

    assert view.value("document.querySelectorAll('.finding details[open] pre').length") > 0
    assert view.value(widest) == before
    assert before <= width


def test_keys_lead_from_op_to_op_and_say_what_they_are(browser: Browser, long_report: Path) -> None:
    view = opened(browser, long_report)
    view.value("document.querySelector('.timeline canvas').focus()")
    name = "document.querySelector('.tip:not([hidden]) strong')?.textContent"

    view.key(".")
    view.becomes(name, "kernel_20")  # the one next to the middle
    view.key(".")
    view.becomes(name, "kernel_21")
    view.key("f")
    view.becomes(WINDOW, [20_740, 21_782])
