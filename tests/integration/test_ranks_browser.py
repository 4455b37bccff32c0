"""The page of a job of ranks in a real browser: its maps show the data, by pointer and by keys."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.browser import Browser, PageView
from tests.rank_jobs import Fault, FaultKind, Topology, simulated
from tests.unit.analyze.ranks.maps.hand_made_jobs import PlayedJob
from tests.unit.analyze.ranks.maps.hand_made_reports import (
    page_text,
    played_report,
    played_result,
)
from wavescope.analyze.ranks.job import Job
from wavescope.analyze.ranks.joining import job_of
from wavescope.analyze.ranks.maps import rank_step_map, rank_time_map
from wavescope.analyze.ranks.result import ranks_result
from wavescope.analyze.ranks.stragglers import stragglers_of

READY = "[...document.querySelectorAll('.rankmap')].every((map) => map.dataset.ready === 'true')"
PLAYED = PlayedJob(
    rank_count=24,
    step_count=20,
    slow={3: 1.25},
    unknown_clocks=frozenset({5}),
    offsets_ns={7: 5_000_000},
)
HOSTILE = "</script><img src=x onerror=\"window.attacked = 'image'\"><svg onload=window.attacked=1>"
PIXEL = """([x, y, map]) => {
  const canvas = document.querySelector(`[data-map=${map}] canvas.map`);
  const scale = canvas.width / canvas.clientWidth;
  return [...canvas.getContext("2d").getImageData(Math.floor(x * scale), Math.floor(y * scale), 1, 1).data];
}"""
SCALE = """([map, shade]) => {
  const canvas = document.querySelector(`[data-map=${map}] .scale canvas`);
  return [...canvas.getContext("2d").getImageData(shade, 0, 1, 1).data];
}"""


def written(found: Job, folder: Path, name: str = "Rank 3") -> Path:
    report = played_report(found, name)
    target = folder / "ranks.html"
    text = page_text(found, report, played_result(found, report), "run of 24 ranks")
    target.write_text(text, encoding="utf-8")
    return target


@pytest.fixture(scope="module")
def played_job() -> Job:
    return PLAYED.built()


@pytest.fixture(scope="module")
def page(played_job: Job, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(played_job, tmp_path_factory.mktemp("ranks"))


def opened(browser: Browser, path: Path, **how: object) -> PageView:
    view = browser.page(path.as_uri(), **how)  # type: ignore[arg-type]
    view.wait(READY)
    return view


def place_of(
    view: PageView, kind: str, rank: int, column: int, columns: int
) -> tuple[float, float]:
    """The middle of a cell in the canvas: rows are as high as they are for this many ranks."""
    count, width, body = view.value(
        f"""(() => {{ const map = document.querySelector("[data-map={kind}] canvas.map");
        const ranks = JSON.parse(document.getElementById("ranks-maps").textContent).ranks;
        return [ranks.length, map.clientWidth, map.clientHeight - 24]; }})()"""
    )
    margin = view.value(
        f"""(() => {{ const canvas = document.querySelector("[data-map={kind}] canvas.map");
        const figure = canvas.closest(".rankmap"); const box = canvas.getBoundingClientRect();
        for (let x = 0; x < canvas.clientWidth; x += 1) {{
          canvas.dispatchEvent(new PointerEvent("pointermove", {{clientX: box.left + x, clientY: box.top + 2}}));
          if (figure.dataset.cell) return x;
        }} }})()"""
    )
    return margin + (column + 0.5) * (width - margin) / columns, (rank + 0.5) * body / count


def pointed(view: PageView, kind: str, x: float, y: float) -> str:
    """What is said of the cell under the pointer."""
    left, top = view.value(
        f"""(() => {{ const canvas = document.querySelector("[data-map={kind}] canvas.map");
        canvas.scrollIntoView({{block: "center"}});
        const box = canvas.getBoundingClientRect(); return [box.left, box.top]; }})()"""
    )
    view.mouse("mouseMoved", left + x, top + y)
    view.wait(f"!document.querySelector('[data-map={kind}] .tip').hidden")
    return str(view.value(f"document.querySelector('[data-map={kind}] .tip strong').textContent"))


def chosen(view: PageView, kind: str, measure: str) -> dict[str, float]:
    """Show a measure; the values that its colours stand for."""
    return view.value(  # type: ignore[no-any-return]
        f"""(() => {{ const map = document.querySelector("[data-map={kind}]");
        const select = map.querySelector("select[name=measure]");
        select.value = [...select.options].find((o) => o.textContent === {json.dumps(measure)}).value;
        select.dispatchEvent(new Event("change"));
        const data = JSON.parse(document.getElementById("ranks-maps").textContent);
        const {{ low, high, largest }} = data.maps["{kind}"].measures[Number(select.value)];
        return {{ low, high, largest }}; }})()"""
    )


def test_it_opens_alone_and_without_complaints(browser: Browser, page: Path) -> None:
    view = opened(browser, page)

    assert view.requests() == [page.as_uri()]
    assert view.complaints() == []
    headings = view.value("[...document.querySelectorAll('h2')].map((h) => h.textContent)")
    assert headings[:4] == [
        "Who the others wait for",
        "Findings",
        "Ranks over time",
        "Ranks by step",
    ]
    for wanted in ("Steps", "Collectives", "Ranks", "Groups", "Clocks", "Files"):
        assert wanted in headings


def test_it_asks_no_network_for_anything(page: Path) -> None:
    text = page.read_text()

    assert re.findall(r"(?:src|href|action)=[\"']?(?![\"']|#|data:)[^\s>]+", text) == []
    assert re.findall(r"url\(|@import|fetch\(|XMLHttpRequest|WebSocket|importScripts", text) == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize(
    "shown",
    [
        ("time", "Exposed communication", "exposed"),
        ("time", "Compute", "compute"),
        ("step", "Arrival skew", "lateness_ns"),
        ("step", "Step time", "step_ns"),
    ],
)
def test_pixels_and_words_are_the_data(
    browser: Browser, page: Path, played_job: Job, shown: tuple[str, str, str], dark: bool
) -> None:
    kind, measure, name = shown
    view = opened(browser, page, dark=dark)
    values = getattr(
        rank_time_map(played_job) if kind == "time" else rank_step_map(played_job), name
    )
    scale = chosen(view, kind, measure)
    random = np.random.default_rng(3)
    cells = [
        (3, 4),
        (5, 9),
        *zip(random.integers(0, 24, 6), random.integers(0, 20, 6), strict=True),
    ]

    for rank, column in ((int(rank), int(column)) for rank, column in cells):
        x, y = place_of(view, kind, rank, column, values.shape[1])
        said = pointed(view, kind, x, y)
        value = float(values[rank, column])
        if np.isnan(value):
            assert said == f"Rank {rank} · not recorded"
            continue
        number, unit = said.removeprefix(f"Rank {rank} · ").split()
        per = {"%": 0.01, "ns": 1, "us": 1e3, "ms": 1e6}[unit]
        step = scale["largest"] / (254 if kind == "time" and name != "lateness_ns" else 65_534)
        assert float(number) * per == pytest.approx(value, rel=1e-3, abs=step + 0.0006)
        told = float(np.rint(value / step) * step)
        share = min(1.0, max(0.0, (told - scale["low"]) / (scale["high"] - scale["low"])))
        colour = view.value(f"({SCALE})({json.dumps([kind, int(np.floor(share * 255 + 0.5))])})")
        assert view.value(f"({PIXEL})({json.dumps([x, y, kind])})") == colour


def test_keys_move_choose_and_let_go(browser: Browser, page: Path, played_job: Job) -> None:
    view = opened(browser, page)
    cell = "document.querySelector('[data-map=time]').dataset.cell"
    told = "document.querySelector('[data-map=time] output.told').textContent"

    view.value("document.querySelector('[data-map=time] canvas.map').focus()")
    view.becomes(cell, "0,0")
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight"):
        view.key(key)
    view.becomes(cell, "3,1")
    assert view.value(told).startswith("Rank 3 · ")
    assert "node000 · GPU 3 · MI300X" in view.value(told)
    view.key("PageDown")
    view.becomes(cell, "13,1")
    view.key("End")
    view.becomes(cell, "13,199")
    view.key("ArrowRight")
    view.becomes(cell, "13,199")
    view.key("Home")
    view.becomes(cell, "13,0")
    view.key("Enter")
    view.becomes("document.querySelector('[data-map=time] .chosen h4').firstChild.data", "Rank 13")
    view.key("Escape")
    view.becomes("document.querySelector('[data-map=time] .chosen').hidden", True)


def test_tab_leads_from_the_tools_to_the_map_and_the_command(browser: Browser, page: Path) -> None:
    view = opened(browser, page)
    where = "[document.activeElement.tagName, document.activeElement.name ?? document.activeElement.className]"

    view.value("document.querySelector('[data-map=time] select[name=measure]').focus()")
    view.key("Tab")
    view.becomes(where, ["SELECT", "order"])
    view.key("Tab")
    view.becomes(where, ["CANVAS", "map"])
    view.key("Enter")
    view.wait("!document.querySelector('[data-map=time] .chosen').hidden")
    view.key("Tab")
    view.becomes("document.activeElement.tagName", "CODE")
    view.key("Tab")
    view.becomes("document.activeElement.textContent", "Copy")


def command_of(view: PageView, kind: str) -> list[str]:
    return shlex.split(
        view.value(f"document.querySelector('[data-map={kind}] .opens code').textContent")
    )


def test_the_command_opens_the_moment_in_the_ranks_own_time(
    browser: Browser, page: Path, played_job: Job
) -> None:
    view = opened(browser, page)
    steps = played_job.ranks[7].steps
    x, y = place_of(view, "step", 7, 11, 20)
    pointed(view, "step", x, y)
    left, top = view.value(
        """(() => { const box = document.querySelector("[data-map=step] canvas.map").getBoundingClientRect();
        return [box.left, box.top]; })()"""
    )
    for kind in ("mousePressed", "mouseReleased"):
        view.mouse(kind, left + x, top + y, button="left", clickCount=1)
    view.wait("!document.querySelector('[data-map=step] .chosen').hidden")

    words = command_of(view, "step")
    assert words[:3] == ["wavescope", "view", "run/rank7.db"]
    start, end = (int(word.partition("=")[2]) for word in words[3:])
    assert 0 <= steps.start_ns[11] - start < 1_000
    assert 0 <= end - steps.end_ns[11] < 2_000


def test_the_command_of_a_time_is_that_bin(browser: Browser, page: Path, played_job: Job) -> None:
    view = opened(browser, page)
    drawn = rank_time_map(played_job)
    view.value("document.querySelector('[data-map=time] canvas.map').focus()")
    for key in ["ArrowDown"] * 7 + ["ArrowRight"] * 2 + ["Enter"]:
        view.key(key)
    view.wait("!document.querySelector('[data-map=time] .chosen').hidden")

    words = command_of(view, "time")
    left = PLAYED.epoch_ns + 5_000_000
    assert words[3:] == [
        f"--start={left + 2 * drawn.width_ns}",
        f"--end={left + 3 * drawn.width_ns}",
    ]


def test_the_command_opens_the_file_that_has_the_moment(
    browser: Browser, played_job: Job, tmp_path: Path
) -> None:
    steps = played_job.ranks[7].steps
    later = ((int(steps.start_ns[11]), "run/rank7_goes_on.db"),)
    rank = replace(played_job.ranks[7], later_files=later)
    ranks = (*played_job.ranks[:7], rank, *played_job.ranks[8:])
    view = opened(browser, written(replace(played_job, ranks=ranks), tmp_path))

    view.value("document.querySelector('[data-map=step] canvas.map').focus()")
    for key in ["ArrowDown"] * 7 + ["ArrowRight"] * 10 + ["Enter"]:
        view.key(key)
    view.wait("!document.querySelector('[data-map=step] .chosen').hidden")
    assert command_of(view, "step")[2] == "run/rank7.db"
    for key in ["ArrowRight", "Enter"]:
        view.key(key)
    view.wait("document.querySelector('[data-map=step] .chosen p').textContent.includes('step 11')")
    assert command_of(view, "step")[2] == "run/rank7_goes_on.db"


def test_the_command_is_copied_or_selected(browser: Browser, page: Path) -> None:
    view = opened(browser, page)
    view.value("document.querySelector('[data-map=time] canvas.map').focus()")
    view.key("Enter")
    view.wait("!document.querySelector('[data-map=time] .chosen').hidden")

    view.click("[data-map=time] .opens button")
    view.wait(
        "['Copied', 'Selected'].includes(document.querySelector('[data-map=time] .opens button').textContent)"
    )


def test_a_culprit_leads_to_its_row(browser: Browser, page: Path) -> None:
    view = opened(browser, page)

    view.click(".culprit button[data-rank]")

    view.becomes("document.querySelector('[data-map=step] .chosen h4')?.firstChild.data", "Rank 3")
    assert view.value("document.activeElement.closest('.rankmap').dataset.map") == "step"
    assert view.value("document.querySelector('[data-map=step]').dataset.cell") == "3,0"


def test_rows_are_put_in_order_of_their_values(browser: Browser, page: Path) -> None:
    view = opened(browser, page)
    chosen(view, "step", "Compute")
    view.value(
        """(() => { const select = document.querySelector("[data-map=step] select[name=order]");
        select.value = "value"; select.dispatchEvent(new Event("change")); })()"""
    )
    view.value("document.querySelector('[data-map=step] canvas.map').focus()")

    view.becomes("document.querySelector('[data-map=step]').dataset.cell", "3,0")


def test_the_theme_changes_the_maps(browser: Browser, page: Path) -> None:
    view = opened(browser, page)
    scale = f"({SCALE})(['time', 0])"
    light = view.value(scale)

    view.click("#theme")  # light
    view.becomes(scale, light)
    view.click("#theme")  # dark
    view.wait(f"String({scale}) !== '{','.join(map(str, light))}'")
    assert sum(view.value(scale)[:3]) < sum(light[:3])


@pytest.fixture(scope="module")
def simulated_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A job that went all the way from traces, with a slow rank, beside one without."""
    slow = Fault(FaultKind.SLOW_COMPUTE, ranks=(3,), size=0.3)
    runs = [
        simulated(Topology.TENSOR, faults, seed=4, ranks=16, steps=8) for faults in ([], [slow])
    ]
    base, run = (job_of(each.digests(), each.numbers) for each in runs)
    report = stragglers_of(run)
    result = ranks_result(run, (), base=base, report=report)
    target = tmp_path_factory.mktemp("simulated") / "ranks.html"
    target.write_text(page_text(run, report, result), encoding="utf-8")
    return target


def test_a_simulated_job_is_told_from_end_to_end(browser: Browser, simulated_page: Path) -> None:
    view = opened(browser, simulated_page)

    culprits = "[...document.querySelectorAll('.culprit strong')].map((name) => name.textContent)"
    assert view.value(culprits) == ["rank 3"]
    assert view.value("document.querySelectorAll('.path rect.local').length") > 3
    assert view.value("document.querySelector('#compared caption').textContent") == (
        "Compared with base"
    )
    assert view.complaints() == []


@pytest.mark.parametrize("width", [1024, 1400, 3840])
@pytest.mark.parametrize("name", ["page", "simulated_page"])
def test_nothing_is_wider_than_the_page(
    browser: Browser, request: pytest.FixtureRequest, name: str, width: int
) -> None:
    view = opened(browser, request.getfixturevalue(name), width=width)

    assert view.value("document.documentElement.scrollWidth") <= width
    if width >= 1400:
        assert (
            view.value(
                """[...document.querySelectorAll('.scroll')].filter((e) => e.scrollWidth > e.clientWidth + 1)
                .map((e) => e.getAttribute('aria-label'))"""
            )
            == []
        )
    assert view.complaints() == []


def test_hostile_names_are_text(browser: Browser, tmp_path: Path) -> None:
    found = PLAYED.built()
    ranks = tuple(
        replace(rank, path=f"run/{HOSTILE}", identity=replace(rank.identity, host=HOSTILE))
        for rank in found.ranks
    )
    view = opened(browser, written(replace(found, ranks=ranks), tmp_path, HOSTILE))
    view.value("document.querySelector('[data-map=time] canvas.map').focus()")
    view.key("Enter")
    view.wait("!document.querySelector('[data-map=time] .chosen').hidden")

    assert command_of(view, "time")[2] == f"run/{HOSTILE}"
    assert view.value("window.attacked") is None
    assert view.value("document.querySelectorAll('img').length") == 0
    assert view.complaints() == []
    assert view.value("document.documentElement.scrollWidth") <= 1440


def test_512_ranks_are_drawn_and_read(browser: Browser, tmp_path: Path) -> None:
    found = PlayedJob(rank_count=512, step_count=100, slow={300: 1.3}).built()
    target = written(found, tmp_path)
    view = opened(browser, target)
    values = rank_step_map(found).lateness_ns

    x, y = place_of(view, "step", 300, 50, 100)
    number, unit = pointed(view, "step", x, y).removeprefix("Rank 300 · ").split()

    assert unit == "ms"
    assert float(number) * 1e6 == pytest.approx(values[300, 50], rel=2e-3)
    assert target.stat().st_size < 2_000_000
    assert view.complaints() == []


def test_what_the_maps_show_is_in_tables_too(page: Path) -> None:
    text = page.read_text()

    assert text.count("<summary>The map in numbers</summary>") == 2
    assert re.search(r"rank 3: \d", text)
