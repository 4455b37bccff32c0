"""The page of a capture in a real browser: lines show instructions, waits what they waited for."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.browser import Browser, PageView
from tests.capture_folders import CaptureBuilder, a_capture, step
from tests.integration.test_report_browser import HOSTILE_NAMES
from wavescope.cli.main import main

READY = (
    "document.querySelector('.code').dataset.ready === 'true' && "
    "document.querySelector('.timeline').dataset.ready === 'true'"
)
CHOSEN = (
    "[...document.querySelectorAll('{} tr.{}')].map((row) => row.dataset.row ?? row.dataset.line)"
)
SOURCE = "@kernel\ndef k():\n    x = load()\n    acc = mfma(x, acc)\n"


def a_kernel(source: str = SOURCE, name: str = "attention(float*)") -> CaptureBuilder:
    capture = (
        a_capture(demangled=name)
        .with_code(
            ("buffer_load_dwordx4 v[8:11], v1, s[0:3], 0 offen", "/k.py:3"),
            ("s_waitcnt vmcnt(0)", "/k.py:4"),
            ("v_mfma_f32_16x16x32_fp8_fp8 a[0:3], v[4:5], v[6:7], a[0:3]", "/k.py:4"),
            ("s_cbranch_scc1 65530", "/k.py:2"),
            ("s_endpgm", "/k.py:2"),
        )
        .with_source("/k.py", source)
    )
    one_round = [step(1), step(2, stall=200), step(3), step(4)]
    for simd in range(4):
        capture.with_wave([*one_round * 5, step(5)], simd=simd, begin=10 * simd)
    return capture


def page(capture: CaptureBuilder, folder: Path) -> Path:
    target = folder / "capture.html"
    assert main(["report-att", str(capture.write(folder)), "-o", str(target), "--quiet"]) == 0
    return target


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return page(a_kernel(), tmp_path_factory.mktemp("capture"))


def opened(browser: Browser, path: Path) -> PageView:
    view = browser.page(path.as_uri())
    view.wait(READY)
    return view


def test_it_opens_alone_and_without_complaints(browser: Browser, written: Path) -> None:
    view = opened(browser, written)

    assert view.value("document.title") == "attention"
    assert view.requests() == [written.as_uri()]
    assert view.complaints() == []
    headings = view.value("[...document.querySelectorAll('h2')].map((h) => h.textContent)")
    assert headings[:4] == ["Plan", "Source and instructions", "Waves over time", "Occupancy"]


def test_it_asks_no_network_for_anything(written: Path) -> None:
    text = written.read_text()

    assert re.findall(r"(?:src|href|action)=[\"']?(?![\"']|#|data:)[^\s>]+", text) == []
    assert re.findall(r"url\(|@import|fetch\(|XMLHttpRequest|WebSocket|importScripts", text) == []


def test_a_line_shows_its_instructions(browser: Browser, written: Path) -> None:
    view = opened(browser, written)

    view.click(".source tr[data-line='0:4'] button")

    view.becomes(CHOSEN.format(".isa", "chosen"), ["2", "3"])
    assert view.value("document.querySelector('.told').textContent") == "2 instructions of line 4"


def test_a_wait_shows_what_it_waited_for(browser: Browser, written: Path) -> None:
    view = opened(browser, written)

    view.click(".isa tr[data-row='2'] button")

    view.becomes(CHOSEN.format(".isa", "producer"), ["1"])
    assert view.value(CHOSEN.format(".source", "chosen")) == ["0:4"]
    told = view.value("document.querySelector('.told').textContent")
    assert told.startswith("waits for row 1, 4,000 cycles: buffer_load_dwordx4")


IS_SEEN = """(() => {{
  const row = document.querySelector({0});
  const place = row.getBoundingClientRect(), listing = row.closest(".listing").getBoundingClientRect();
  return place.top >= listing.top && place.bottom <= listing.bottom;
}})()"""


@pytest.fixture(scope="module")
def long_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A kernel of 400 lines whose line 300 waits, after 300 lines that wait for nothing."""
    source = "\n".join(
        ["@kernel", "def k():", *(f"    x{line} = work()" for line in range(3, 401))]
    )
    capture = a_capture(demangled="long(float*)").with_source("/k.py", source)
    capture.with_code(*(("v_add_f32 v0, v1, v2", f"/k.py:{line}") for line in range(3, 300)))
    capture.with_code(
        ("global_load_dword v1, v[2:3], off", "/k.py:300"),
        ("s_waitcnt vmcnt(0)", "/k.py:1"),
        *(("v_add_f32 v0, v1, v2", f"/k.py:{line}") for line in range(301, 401)),
    )
    steps = [step(row, stall=5_000 if row == 299 else 0) for row in range(1, 400)]
    return page(capture.with_wave(steps), tmp_path_factory.mktemp("long"))


def test_it_opens_at_the_hottest_line(browser: Browser, long_page: Path) -> None:
    view = opened(browser, long_page)

    assert view.value(CHOSEN.format(".source", "chosen")) == ["0:300"], "not the decorator"
    assert view.value(IS_SEEN.format("'.source tr[data-line=\"0:300\"]'")) is True
    assert view.value(IS_SEEN.format("'.isa tr[data-row=\"298\"]'")) is True
    assert view.value("scrollY") == 0, "the plan is what is seen first"


def test_a_plan_item_leads_to_its_code(browser: Browser, long_page: Path) -> None:
    view = opened(browser, long_page)
    view.value("document.querySelectorAll('.listing').forEach((each) => { each.scrollTop = 0; })")

    view.click(".findings .finding .where a")

    view.becomes("location.hash", "#row-298")
    view.becomes(CHOSEN.format(".isa", "chosen"), ["298"])
    view.wait(IS_SEEN.format("'.isa tr[data-row=\"298\"]'"))
    view.wait(IS_SEEN.format("'.source tr[data-line=\"0:300\"]'"))


def test_an_address_with_a_line_opens_there(browser: Browser, long_page: Path) -> None:
    view = browser.page(long_page.as_uri() + "#line-0-200")
    view.wait(READY)

    assert view.value(CHOSEN.format(".source", "chosen")) == ["0:200"]


def test_links_lead_to_places_of_the_page(written: Path) -> None:
    text = written.read_text()

    for target in re.findall(r'href="#(row-\d+|line-\d+-\d+)"', text):
        assert f'id="{target}"' in text


def test_the_hottest_rows_are_the_warmest(browser: Browser, written: Path) -> None:
    view = opened(browser, written)

    heat = '[...document.querySelectorAll("{} td.heat")].map((cell) => cell.classList[2])'
    assert view.value(heat.format(".isa tr[data-row='2']")) == ["h9", "h0"]
    assert view.value(heat.format(".isa tr[data-row='1']")) == ["h0", "h9"]
    assert view.value(heat.format(".source tr[data-line='0:4']")) == ["h9", "h0"]
    assert view.value(heat.format(".isa tr[data-row='5']")) == ["h0", "h0"]


def test_what_the_search_field_says_fits_into_it(browser: Browser, written: Path) -> None:
    view = opened(browser, written)

    room = view.value(
        """(() => {
          const field = document.querySelector(".timeline input[name=find]");
          const style = getComputedStyle(field), pen = document.createElement("canvas").getContext("2d");
          pen.font = style.font;
          const inside = field.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
          return inside - pen.measureText(field.placeholder).width;
        })()"""
    )

    assert room > 0


def test_the_waves_can_be_zoomed_in_cycles(browser: Browser, written: Path) -> None:
    view = opened(browser, written)
    window = "document.querySelector('.timeline output.window').textContent"
    before = view.value(window)

    view.click(".timeline [data-act=in]")

    assert before.endswith("cycles)")
    view.wait(f"{window} !== {json.dumps(before)}")


def test_hostile_sources_and_names_do_nothing(browser: Browser, tmp_path: Path) -> None:
    lines = [text.replace("\n", " ").encode("utf-8", "replace").decode() for text in HOSTILE_NAMES]
    name = "</script><img src=x onerror=\"window.attacked='name'\">"
    path = page(a_kernel("\n".join(lines), name), tmp_path)

    view = opened(browser, path)

    assert view.value("window.attacked") is None
    assert view.complaints() == []


def test_it_can_be_read_without_scripts(written: Path) -> None:
    text = written.read_text()

    assert "acc = mfma(x, acc)" in text
    assert "a load inside the matrix loop" in text


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    folder = a_kernel().write(tmp_path)
    target = tmp_path / "page.html"
    target.write_text("mine")

    assert main(["report-att", str(folder), "-o", str(target), "--quiet"]) == 2
    assert target.read_text() == "mine"
    assert main(["report-att", str(folder), "-o", str(target), "--quiet", "--force"]) == 0


def test_a_capture_without_waves_has_a_page_too(tmp_path: Path) -> None:
    folder = a_kernel().write(tmp_path)
    for wave in folder.glob("se*.json"):
        wave.unlink()
    target = tmp_path / "page.html"

    assert main(["report-att", str(folder), "-o", str(target), "--quiet"]) == 0
    assert "Source and instructions" in target.read_text()
