"""The timeline component as the viewer uses it, in a real browser: pixels, moves, selections."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.browser import Browser, PageView
from tests.timeline_page import write_timeline_page

LABELS, COUNT = 100, 800
"""CSS pixels left of the strips, and pixels of the strips."""
ROWS_TOP = 42
"""Overview and axis."""
RANDOM_RANGES = """
let seed = 7;
const random = (most) => { seed = (seed * 1103515245 + 12345) % 2147483648; return seed % most; };
const listed = [];
for (let at = 0; listed.length < 900; ) {
  const duration = 20 + random(800);
  listed.push({ start: at, duration, depth: 0, class: random(2), name: random(9) });
  at += duration + random(500);
}
"""
MISMATCHES = """(() => {
  const laid = timeline.rows[0], { scale, first, count } = timeline.viewport, { palette } = timeline;
  const pixels = timeline.pen.getImageData(100, laid.top, count, laid.height).data;
  const at = (x, y) => `rgb(${[...pixels.slice(4 * (y * count + x), 4 * (y * count + x) + 3)].join(", ")})`;
  let wrong = 0, drawn = 0;
  for (let x = 0; x < count; x += 1) {
    const number = Math.floor((first + x) / 512);
    const { shares } = source.columns(laid.row, 0, { scale, first: 512 * number, count: 512 });
    let y = laid.height;
    for (const c of [0, 1]) {
      const share = shares[512 * c + (first + x - 512 * number)];
      const tall = share ? Math.max(1, Math.round(share * laid.height / 255)) : 0;
      for (let i = 0; i < tall && y > 0; i += 1, y -= 1) { drawn += 1; if (at(x, y - 1) !== palette.classes[c]) wrong += 1; }
    }
    while (y > 0) { y -= 1; if (at(x, y) !== palette.idle) wrong += 1; }
  }
  return [wrong, drawn > count];
})()"""


@pytest.fixture(scope="module")
def empty_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_timeline_page(tmp_path_factory.mktemp("timeline"))


@pytest.fixture
def view(browser: Browser, empty_page: Path) -> PageView:
    return browser.page(empty_page.as_uri(), width=950, height=400)


def start(view: PageView, span: int, rows: str, before: str = "", **options: Any) -> None:
    """A timeline of these rows, drawn."""
    view.value(f"(() => {{ {before}; start({span}, {rows}, {json.dumps(options)}); }})()")


def drawn(view: PageView) -> None:
    """Return when everything that was asked for is drawn."""
    view.wait("timeline.pending === 0")


def drag(
    view: PageView, start: tuple[float, float], end: tuple[float, float], hold: str = ""
) -> None:
    view.mouse("mousePressed", *start, button="left", clickCount=1, hold=hold)
    view.mouse("mouseMoved", *end, button="left", buttons=1, hold=hold)
    view.mouse("mouseReleased", *end, button="left", clickCount=1, hold=hold)


def test_each_pixel_has_the_shares_of_its_time_wherever_the_window_is(view: PageView) -> None:
    start(view, 600_000, '[rowOf("gpu", "gpu", { ranges: listed })]', RANDOM_RANGES)
    assert view.value(MISMATCHES) == [0, True]

    view.value("timeline.show(200_000, 440_000)")
    drawn(view)
    assert view.value(MISMATCHES) == [0, True]
    drag(view, (500, 60), (363, 60))
    # the pixel next to 200 us is number 667, and it moved by 137 of 300 ns
    view.becomes("told.window", [804 * 300, 804 * 300 + 240_000])
    drawn(view)
    assert view.value(MISMATCHES) == [0, True]


def test_moving_along_asks_and_paints_only_what_is_new(view: PageView) -> None:
    start(view, 1_000_000, '[rowOf("gpu", "gpu", { ranges: [] })]', hasOverview=False)
    view.value("timeline.show(102_400, 182_400)")  # pixels 1024 to 1823: blocks 2 and 3
    drawn(view)
    view.value("source.asked.length = 0; timeline.moveBy(100); timeline.draw()")
    assert view.value("source.asked") == []

    view.value("timeline.moveBy(200); timeline.draw()")
    assert view.value("source.asked") == ["columns gpu 4", "boxes gpu 4"]


def test_zoomed_in_every_range_is_a_box_with_its_colours(view: PageView) -> None:
    rows = """[rowOf("q", "queue", { depth: 2, ranges: [
      { start: 100, duration: 200, depth: 0, class: 0, name: 1 },
      { start: 200, duration: 300, depth: 1, class: 1, name: 2 }] })]"""
    start(view, COUNT, rows)

    first, second, idle = view.value(
        "[...timeline.palette.classes, timeline.palette.idle].map((c) => c.match(/[0-9]+/g).join())"
    )
    top, bottom = ROWS_TOP + 2, ROWS_TOP + 17
    places = [(100, top), (298, top), (310, bottom), (498, bottom), (600, top)]
    seen = [view.value(f"pixel({LABELS + x}, {y})") for x, y in places]
    assert seen == [first, first, second, second, idle]
    assert view.value("told.boxes") == 2
    hits = [(150, top, 0), (250, top, 0), (250, bottom, 1), (600, bottom, None)]
    for x, y, expected in hits:
        assert view.value(f"timeline.at({LABELS + x}.5, {y})?.box?.row") == expected


def test_a_box_that_began_before_the_window_has_its_name_at_the_edge(view: PageView) -> None:
    rows = """[rowOf("q", "queue", { ranges: [{ start: 100, duration: 5000, depth: 0, class: 0, name: 1 }] })]"""
    start(view, 10_000, rows)
    view.value("timeline.show(502, 502 + 800)")  # the next block begins ten pixels from the edge
    drawn(view)

    written = """[[0, 10], [10, 40], [100, 700]].map(([from, to]) => {
      const { data } = timeline.pen.getImageData(100 + from, 42, to - from, 20);
      const box = timeline.palette.classes[0].match(/[0-9]+/g).map(Number);
      let count = 0;
      for (let i = 0; i < data.length; i += 4) if (data[i] !== box[0] || data[i + 1] !== box[1]) count += 1;
      return count > 0;
    })"""
    assert view.value(written) == [True, True, False]


def test_an_instant_on_the_last_pixel_of_a_cut_box_stays(view: PageView) -> None:
    rows = """[rowOf("m", "markers", { table: "markers", ranges: [{ start: 0, duration: 2006, depth: 0, class: 0, name: 1 },
      { start: 2006, duration: 0, depth: 0, class: 0, name: 2 }] })]"""
    start(view, 20 * COUNT, rows)
    view.value("timeline.show(1000, 1000 + 10 * 800)")
    drawn(view)

    text = view.value("timeline.palette.text.match(/[0-9]+/g).join()")
    assert view.value("timeline.viewport.first") == 100
    seen = [view.value(f"pixel({LABELS + x}, 44)") == text for x in (99, 100, 101)]
    assert seen == [False, True, False]


def test_names_are_left_out_where_a_lane_is_lower_than_letters(view: PageView) -> None:
    ranges = "[...Array(40).keys()].map((i) => ({ start: 0, duration: 700, depth: i, class: 0, name: 1 }))"
    rows = f'[rowOf("a", "queue", {{ depth: 40, ranges: {ranges} }}), rowOf("b", "queue", {{ depth: 2, ranges: {ranges}.slice(0, 2) }})]'
    start(view, COUNT, rows)

    colours = """timeline.rows.map(({ top, height }) => {
      const { data } = timeline.pen.getImageData(100, top, 600, height);
      return new Set(new Uint32Array(data.buffer)).size;
    })"""
    of_many, of_two = view.value(colours)
    assert of_many == 2  # boxes and the lines between them
    assert of_two > 10  # letters have soft edges


def test_behind_a_box_of_several_lanes_the_shares_are_faint(view: PageView) -> None:
    rows = """[rowOf("q", "queue", { depth: 2, ranges: [{ start: 100, duration: 20, depth: 0, class: 0, name: 1 },
      { start: 200, duration: 2, depth: 1, class: 0, name: 1 }] })]"""
    start(view, COUNT, rows)

    strong = view.value("timeline.palette.classes[0].match(/[0-9]+/g).join()")
    idle = view.value("timeline.palette.idle.match(/[0-9]+/g).join()")
    of_box = [view.value(f"pixel({LABELS + 105}, {ROWS_TOP + y})") for y in (5, 20)]
    assert of_box[0] == strong
    assert of_box[1] not in (strong, idle)
    assert view.value(f"pixel({LABELS + 200}, {ROWS_TOP + 5})") == strong  # no box: its share alone


def test_an_instant_is_one_pixel_and_can_be_hit_beside_it(view: PageView) -> None:
    rows = """[rowOf("m", "markers", { table: "markers", ranges: [
      { start: 100, duration: 0, depth: 0, class: 0, name: 1 }] })]"""
    start(view, COUNT, rows)

    text = view.value("timeline.palette.text.match(/[0-9]+/g).join()")
    seen = [view.value(f"pixel({LABELS + x}, 50)") == text for x in (99, 100, 101)]
    assert seen == [False, True, False]
    hits = [view.value(f"timeline.at({LABELS + x}.5, 50).box?.start") for x in (97, 98, 102, 103)]
    assert hits == [None, 100, 100, None]


def test_an_instant_is_drawn_on_the_pixel_that_it_lies_in(view: PageView) -> None:
    """Also on the last one of a block, to whose end it is nearer than to its start."""
    rows = """[rowOf("m", "markers", { table: "markers", ranges: [
      { start: 5117, duration: 0, depth: 0, class: 0, name: 1 }] })]"""
    start(view, 10 * COUNT, rows)

    text = view.value("timeline.palette.text.match(/[0-9]+/g).join()")
    seen = [view.value(f"pixel({LABELS + x}, 50)") == text for x in (510, 511, 512)]
    assert seen == [False, True, False]


def test_a_box_keeps_its_border_where_the_window_cuts_it(view: PageView) -> None:
    rows = """[rowOf("q", "queue", { ranges: [{ start: 0, duration: 102, depth: 0, class: 0, name: 1 },
      { start: 102, duration: 700, depth: 0, class: 0, name: 1 }] })]"""
    start(view, 2 * COUNT, rows)
    view.value("timeline.show(100, 900)")
    drawn(view)

    ground = view.value("timeline.palette.ground.match(/[0-9]+/g).join()")
    seen = [view.value(f"pixel({LABELS + x}, 50)") == ground for x in (0, 1, 2)]
    assert seen == [False, True, False]


def test_a_call_without_length_is_a_tick_that_leaves_the_shares_visible(view: PageView) -> None:
    ranges = "{ start: 100, duration: 2, depth: 0, class: 1, name: 2 }, { start: 100, duration: 0, depth: 0, class: 0, name: 1 }"
    more = f'{{ planes: 2, depth: 2, table: "calls", ranges: [{ranges}] }}'
    start(
        view, COUNT, f'[rowOf("c", "calls", {more}), rowOf("q", "queue", {{ ranges: [{ranges}] }})]'
    )

    text, grey, op = view.value(
        "[timeline.palette.text, timeline.palette.marker[1], timeline.palette.classes[1]].map((colour) => colour.match(/[0-9]+/g).join())"
    )
    strip = [view.value(f"pixel({LABELS + 100}, {ROWS_TOP + y})") for y in range(14)]
    assert strip == [grey] * 11 + [text] * 3
    queue_top = view.value("timeline.rows[1].top")
    queue = [view.value(f"pixel({LABELS + 100}, {queue_top + y})") for y in range(20)]
    assert queue == [op] * 17 + [text] * 3
    hits = [
        view.value(f"timeline.at({LABELS + 100}.5, {ROWS_TOP} + {y}).box?.name") for y in (2, 9, 12)
    ]
    assert hits == [None, None, 1]


def test_the_wheel_zooms_and_the_time_below_the_pointer_stays(view: PageView) -> None:
    start(view, 800_000, '[rowOf("gpu", "gpu")]')

    view.mouse("mouseWheel", LABELS + 200, 60, deltaX=0, deltaY=-50)

    view.wait("told.window[0] > 0")
    from_ns, to_ns = view.value("told.window")
    assert to_ns - from_ns == pytest.approx(800_000 / 1.2)
    assert view.value(f"timeline.timeAt({LABELS + 200})") == pytest.approx(200_000, abs=1000)
    view.mouse("mouseWheel", LABELS + 200, 60, deltaX=0, deltaY=100, hold="shift")
    view.wait(f"told.window[0] > {from_ns + 1}")
    panned = view.value("told.window")
    assert panned[1] - panned[0] == pytest.approx(to_ns - from_ns)


def test_a_range_is_dragged_with_shift_and_f_shows_it(view: PageView) -> None:
    start(view, 800_000, '[rowOf("gpu", "gpu")]')

    drag(view, (LABELS + 600, 60), (LABELS + 200, 65), hold="shift")

    view.becomes("told.range", [{"from": 200_000, "to": 600_000}])
    view.value("timeline.canvas.focus()")
    view.key("f")
    view.becomes("told.window", [200_000, 600_000])
    view.key("Escape")
    view.becomes("told.range", [{"from": 200_000, "to": 600_000}, None])
    assert view.value("timeline.range") is None
    drag(view, (LABELS + 200, 60), (LABELS + 400, 60), hold="alt")
    view.becomes("told.window", [300_000, 400_000])


def test_rows_that_do_not_fit_scroll_below_those_that_are_pinned(view: PageView) -> None:
    rows = """[...Array(20).keys()].map((i) => rowOf(`q${i}`, "queue"))"""
    start(view, 1000, rows)
    view.value("timeline.setRows(source.rows.map((row, i) => ({ row, isPinned: i === 3 })))")
    first = [["q3", ROWS_TOP, 20], ["q0", ROWS_TOP + 22, 20]]
    assert view.value("told.layout.slice(0, 2)") == first

    drag(view, (500, 200), (500, 140))
    view.becomes("told.layout.slice(0, 2)", [first[0], ["q0", ROWS_TOP + 22 - 60, 20]])
    assert view.value("timeline.at(500, 80).row.id") == "q4"
    assert view.value("timeline.at(500, 50).row.id") == "q3"
    view.mouse("mouseWheel", 50, 150, deltaX=0, deltaY=-1000)
    view.becomes("told.layout.slice(0, 2)", first)
    view.value("timeline.reveal('q19')")
    assert view.value("told.layout.at(-1)[1] + 20") == 260 - 4


def test_what_scrolled_below_a_pinned_row_is_not_marked_on_it(view: PageView) -> None:
    rows = """[...Array(20).keys()].map((i) => rowOf(`q${i}`, "queue", { ranges: [
      { start: 100, duration: 200, depth: 0, class: 0, name: 1 }] }))"""
    start(view, COUNT, rows)
    view.value("timeline.setRows(source.rows.map((row, i) => ({ row, isPinned: i === 0 })))")
    view.value("timeline.select({ rowId: 'q1', depth: 0, start: 100, duration: 200 })")
    drawn(view)
    text = view.value("timeline.palette.text.match(/[0-9]+/g).join()")
    marked = f"pixel({LABELS} + 250, timeline.layout.row('q1').top + 1)"
    assert view.value(marked) == text

    view.value("timeline.scrollTo(14)")
    drawn(view)

    assert view.value(marked) != text


def test_the_overview_takes_the_window_along(view: PageView) -> None:
    start(view, 800_000, '[rowOf("gpu", "gpu")]')
    view.value("timeline.show(100_000, 300_000)")

    drag(view, (LABELS + 150, 6), (LABELS + 250, 6))  # from inside of the window
    view.becomes("told.window", [200_000, 400_000])
    drag(view, (LABELS + 600, 6), (LABELS + 600, 6))  # beside it
    view.becomes("told.window", [500_000, 700_000])
    view.mouse("mousePressed", LABELS + 600, 6, button="left", clickCount=2)
    view.mouse("mouseReleased", LABELS + 600, 6, button="left", clickCount=2)
    drawn(view)
    assert view.value("told.window") == [500_000, 700_000]


def test_a_click_selects_a_box_and_arrows_lead_from_box_to_box(view: PageView) -> None:
    rows = """[rowOf("calls", "calls", { planes: 3, depth: 3, table: "calls", ranges: [
        { start: 0, duration: 700, depth: 0, class: 0, name: 1 },
        { start: 50, duration: 100, depth: 2, class: 0, name: 5 }] }),
      rowOf("q", "queue", { ranges: [{ start: 500, duration: 200, depth: 0, class: 1, name: 2 }] })]"""
    start(view, COUNT, rows)

    x, y = LABELS + 100, ROWS_TOP + 40
    view.mouse("mousePressed", x, y, button="left", clickCount=1)
    view.mouse("mouseReleased", x, y, button="left", clickCount=1)

    box = {"depth": 2, "start": 50, "duration": 100, "name": 5, "row": 1, "class": 0}
    view.becomes("told.select.map((hit) => [hit.row.id, hit.plane, hit.box])", [["calls", 2, box]])
    place = {"rowId": "calls", "depth": 2, "start": 50, "duration": 100}
    assert view.value("timeline.selected") == place
    accents = """(() => { const [r, g, b] = timeline.palette.accent.match(/[0-9]+/g).map(Number);
      const { data } = timeline.pen.getImageData(260, 42, 330, 80);
      let count = 0;
      for (let i = 0; i < data.length; i += 4) if (data[i] === r && data[i + 1] === g && data[i + 2] === b) count += 1;
      return count; })()"""
    assert view.value(accents) == 0
    target = {"rowId": "q", "depth": 0, "start": 500, "duration": 200}
    view.value(f"timeline.setArrows([{json.dumps({'from': place, 'to': target})}])")
    view.wait(f"{accents} > 100")


def test_keys_lead_from_box_to_box_and_from_row_to_row(view: PageView) -> None:
    rows = """["a", "empty", "b"].map((id, i) => rowOf(id, "queue", { ranges: i === 1 ? [] :
      [0, 1, 2, 3, 4].map((k) => ({ start: 1000 * k + 100 * i, duration: 300, depth: 0, class: 0, name: k })) }))"""
    start(view, 5_000, rows, least=100)
    view.value("timeline.show(1000, 3000); timeline.canvas.focus()")
    selected = "[timeline.selected?.rowId, timeline.selected?.start]"

    view.key(".")
    view.becomes(selected, ["a", 2000])
    view.key("j")
    view.becomes(selected, ["b", 2200])
    view.key(".")
    view.becomes(selected, ["b", 3200])
    assert view.value("told.window") == [2700, 4700], "what was beside the window is shown"
    view.key(",")
    view.key(",")
    view.becomes(selected, ["b", 1200])
    view.key("k")
    view.becomes(selected, ["a", 1000])
    told = view.value("told.select.map((hit) => [hit.row.id, hit.box.row])")
    assert told == [["a", 2], ["b", 2], ["b", 3], ["b", 2], ["b", 1], ["a", 1]]


def test_what_comes_late_is_drawn_when_the_source_says_so(view: PageView) -> None:
    rows = '[rowOf("gpu", "gpu", { ranges: [{ start: 0, duration: 100, depth: 0, class: 1, name: 1 }] })]'
    start(view, 1_000_000, rows)
    view.value("source.isLate = true; source.kept.clear(); timeline.show(0, 800)")
    drawn(view)
    idle = view.value("pixel(110, 60)")
    assert view.value("told.boxes") == 0

    view.value("source.isLate = false; source.onChange()")

    view.becomes("told.boxes", 1)
    assert view.value("pixel(110, 75)") != idle
    view.value("source.kept.clear(); source.rows[0].ranges.pop(); source.onChange()")
    view.becomes("told.boxes", 0)
    assert view.value("pixel(110, 75)") == idle


def test_a_series_is_drawn_to_the_scale_of_its_largest_value(view: PageView) -> None:
    rows = '[rowOf("depth", "series", { table: "", value: (at) => (at < 400 ? 10 : at < 600 ? 40 : NaN) })]'
    start(view, COUNT, rows)
    drawn(view)

    heights = """[100, 500, 700].map((x) => { const found = timeline.pen.getImageData(100 + x, 42, 1, 30).data;
      const idle = timeline.palette.idle.match(/[0-9]+/g).map(Number);
      let count = 0;
      for (let i = 0; i < found.length; i += 4) if (found[i] !== idle[0] || found[i + 1] !== idle[1]) count += 1;
      return count; })"""
    assert view.value(heights) == [6, 24, 0]  # of 30 pixels, the largest rounded up to 50
    assert view.value("timeline.at(200, 50).value") == 10


def test_what_a_search_did_not_find_is_faint(view: PageView) -> None:
    rows = """[rowOf("q", "queue", { ranges: [
      { start: 100, duration: 200, depth: 0, class: 0, name: 1 },
      { start: 400, duration: 200, depth: 0, class: 0, name: 2 }] })]"""
    start(view, COUNT, rows)
    before = view.value(f"pixel({LABELS + 290}, 45)")

    view.value("timeline.setSearch((row, name) => name === 2); timeline.setMarks([0, 1, 0, 0])")
    drawn(view)

    assert view.value(f"pixel({LABELS + 590}, 45)") == before
    assert view.value(f"pixel({LABELS + 290}, 45)") != before
    accent = view.value("timeline.palette.accent.match(/[0-9]+/g).join()")
    marked = [view.value(f"pixel({LABELS + x}, 5)") == accent for x in (150, 210, 390, 450)]
    assert marked == [False, True, True, False]
