"""No page holds a control character, whatever names, texts and file names are made of."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from urllib.parse import quote

import pytest

import wavescope
from tests.builders import TraceMaker, a_trace
from tests.capture_folders import a_capture, step
from tests.counters_builder import a_workload
from tests.sample_files import write_as
from tests.view_pages import viewing, views_of
from tests.view_servers import ask, ask_sql
from wavescope.cli.main import main
from wavescope.render.html.markup import Html
from wavescope.render.html.page import Page, Section, write_page
from wavescope.render.results.json_text import json_bytes, json_for_pages
from wavescope.view.server import ViewServer

CONTROLS = "".join(map(chr, [*range(1, 9), *range(0xB, 0x20), *range(0x7F, 0xA0)]))
HIDING = "\u00ad\u061c\u200b\u200e\u200f\u2028\u2029\u202a\u202e\u2066\u2069\ufeff\U000e0041"
NASTY = f"evil {CONTROLS}{HIDING}\ufffe\uffff\n</script><!--<img src=x>]]>"
FORBIDDEN = re.compile(f"[\0{CONTROLS}{HIDING}\ufffe\uffff\ud800-\udfff]")
EMBEDDED = re.compile(r'<script type="application/json"[^>]*>(.*?)</script>', re.DOTALL)


def nasty_trace() -> TraceMaker:
    maker = a_trace().with_process(7, name=NASTY, command=NASTY, host=NASTY)
    maker.with_agent(0, model=NASTY).with_metadata(NASTY, NASTY)
    for number in range(4):
        start = 1_000 * number
        maker.with_marker(NASTY, start, start + 950)
        maker.with_kernel(f"{NASTY}{number}", start, start + 900, correlation=number + 1)
        maker.with_call(NASTY, start, start + 10, args=NASTY)
        maker.with_link(number + 1, number + 1)
    return maker


def strings_of(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for item in value.items() for part in item for text in strings_of(part)]
    if isinstance(value, list):
        return [text for part in value for text in strings_of(part)]
    return [value] if isinstance(value, str) else []


def assert_harmless(text: str) -> None:
    """Neither the page nor what its scripts read holds what acts, hides or reverses."""
    assert FORBIDDEN.search(text) is None
    assert "evil" in text
    assert "<img" not in text
    assert text.count("<script") == text.count("</script>")
    for data in EMBEDDED.findall(text):
        assert "<!--" not in data
        for string in strings_of(json.loads(data)):
            assert FORBIDDEN.search(string) is None


def report(folder: Path) -> Path:
    trace = write_as(nasty_trace(), folder / "evil \x1b[31m\u202e.db")
    return wavescope.report(trace, folder / "page.html")


def comparison(folder: Path) -> Path:
    traces = [write_as(nasty_trace(), folder / f"evil {n}\x1b\u202e.db") for n in range(2)]
    return wavescope.report(traces, folder / "page.html", title=NASTY, labels=[NASTY, "b"])


def capture(folder: Path) -> Path:
    path = (
        a_capture(demangled=NASTY)
        .with_source("/evil.py", f"{NASTY}\nload()\n")
        .with_code(("s_load_dword s0, s[4:5], 0x0", "/evil.py:1"), (f"s_nop 0 {NASTY}", "/evil.py"))
        .with_wave([step(1, issue=4), step(2, stall=100)])
        .write(folder)
    )
    return wavescope.capture_report(path, folder / "page.html", title=NASTY)


def counters(folder: Path) -> Path:
    made = a_workload(folder / "run").with_dispatch(NASTY.replace("\n", " "), 1_000, SQ_WAVES=8)
    made.write()
    report = wavescope.counter_report([folder / "run"])
    return report.write(folder / "page.html", force=False)


def ranks(folder: Path) -> Path:
    for rank in range(2):
        maker = nasty_trace().with_process(8 + rank, rank=rank, world_size=2, host=NASTY)
        write_as(maker, folder / f"evil\x1b\u202e_rank{rank}.db")
    files = sorted(folder.glob("evil*.db"))
    wavescope.ranks(files, page=folder / "page.html", title=NASTY)
    return folder / "page.html"


@pytest.mark.parametrize("page", [report, comparison, capture, counters, ranks])
def test_no_page_holds_control_characters(page: Callable[[Path], Path], tmp_path: Path) -> None:
    assert_harmless(page(tmp_path).read_text(encoding="utf-8"))


def test_markup_and_data_are_made_fit_whoever_made_them() -> None:
    body = Html(f"<p>tab\tline\n{CONTROLS}{HIDING}\ud800\ufffe</p>")
    data = {"d": {"evil": [NASTY, "\ud800", "\U0001f600", "é", "a\tb"]}}
    stream = StringIO()

    write_page(Page(NASTY, Html(f"evil {HIDING}"), [Section("s", NASTY, body)], data), stream)

    text = stream.getvalue()
    assert_harmless(text.replace("<img", ""))
    assert "<p>tab\tline\n\\x01\\x02" in text
    (embedded,) = EMBEDDED.findall(text)
    shown = json.loads(embedded)["evil"]
    assert shown[2:] == ["\U0001f600", "é", "a\tb"]
    assert shown[0].startswith("evil \\x01\\x02")
    assert shown[0].endswith("\n</script><!--<img src=x>]]>")
    assert shown[1] == "\\ud800"


def test_json_that_is_fit_stays_as_it_is() -> None:
    for value in ({"a": 'q"\\u001b\\', "n": [1, 2.5, None]}, ["\\", "é\U0001f600", "\n\t"]):
        body = json_bytes(value)
        assert json_for_pages(body) == body
    ascii_pairs = json.dumps(["\U0001f600", "\x1b", "\\u202e"]).encode()
    assert json.loads(json_for_pages(ascii_pairs)) == ["\U0001f600", "\\x1b", "\\u202e"]


def answered(server: ViewServer, place: str) -> str:
    reply = ask(server, place)
    assert reply.status == 200, reply.body
    text = reply.body.decode()
    assert FORBIDDEN.search(text) is None
    for string in strings_of(json.loads(text)):
        assert FORBIDDEN.search(string) is None
    return text


def test_answers_of_the_viewer_hold_no_control_characters() -> None:
    views = views_of(nasty_trace(), nasty_trace())
    views[0].label = NASTY
    with viewing(*views) as server:
        answered(server, "api/findings?trace=0")
        for place in ("traces", "kernels", "alignments"):
            assert "evil" in answered(server, f"api/{place}?trace=0")
        assert "evil" in answered(server, "api/details?trace=0&table=ops&row=0")
        assert "evil" in answered(server, "api/search?trace=0&pattern=evil")
        # What the page was told leads back to the names that the trace has.
        told = json.loads(answered(server, "api/kernels?trace=0"))["tables"][0]["rows"][0][0]
        assert "evil" in answered(server, f"api/kernel?trace=0&name={quote(told)}")
        marker = json.loads(answered(server, "api/alignments?trace=0"))["markers"][0]["name"]
        at = answered(server, f"api/alignments?trace=0&marker={quote(marker)}&number=2")
        assert json.loads(at)["count"] == 4
        said = ask_sql(server, "SELECT string FROM rocpd_string").body.decode()
        assert FORBIDDEN.search(said) is None
        refused = ask(server, f"api/kernel?trace=0&name={quote(chr(0x202E))}")
        assert FORBIDDEN.search(refused.body.decode()) is None


@pytest.mark.parametrize("flags", [(), ("--format", "markdown"), ("--format", "csv")])
def test_no_printed_result_holds_control_characters(
    flags: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_as(nasty_trace(), tmp_path / "evil \x1b[31m\u202e.db")
    for command in (
        ["summary"],
        ["phases"],
        ["info"],
        ["info", "--kernels"],
        ["steps"],
        ["query", "SELECT string, string AS '=\x1b' FROM rocpd_string"],
    ):
        assert main([command[0], str(path), *command[1:], *flags]) == 0
        said = capsys.readouterr()

        assert FORBIDDEN.search(said.out + said.err) is None, command
        assert "evil" in said.out or command in (["phases"], ["steps"]), command
        if "markdown" in flags:
            assert not re.search(r"<img|<!--|(?<!\\)\[31m", said.out)
