"""The Python interface: docs/python.md runs as written, and gives the right values."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import wavescope
from tests.builders import a_trace
from tests.sample_files import FIRST_NS, rich_trace, write_as
from wavescope.model.selection import Selection, select

PAGE = Path(__file__).resolve().parents[2] / "docs" / "python.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>&lt;"


@pytest.fixture(scope="module")
def trace_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_as(rich_trace(), tmp_path_factory.mktemp("api") / "trace.db")


@pytest.fixture
def trace(trace_path: Path) -> wavescope.api.Trace:
    return wavescope.open(trace_path)


def test_the_page_runs_as_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("trace.db", "rank0.db", "rank1.db"):
        write_as(rich_trace(), tmp_path / name)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}

    for block in BLOCKS:
        exec(compile(block, str(PAGE), "exec"), names)

    assert len(BLOCKS) >= 5
    for written in ("trace.pftrace", "decode.json.gz", "all.db"):
        assert (tmp_path / written).stat().st_size > 0
    with wavescope.open("all.db") as merged, wavescope.open("decode.json.gz") as decode:
        assert len(merged.ops) == 72
        assert 0 < len(decode.ops) < 36


def test_columns_are_exact_arrays(trace: wavescope.api.Trace) -> None:
    assert len(trace.ops) == 36
    assert trace.ops["start_ns"].dtype == np.int64
    assert int(trace.ops["start_ns"][0]) == FIRST_NS + 3_000
    assert trace.ops.duration_ns[:2].tolist() == [7_001, 2_007]
    assert trace.ops.strings("name")[::2][:3] == ["gemm_0", "gemm_1", "gemm_2"]
    assert trace.metadata["command"] == "python3 serve.py"
    assert dict(trace.notes) == {}


def test_every_documented_table_is_there(trace: wavescope.api.Trace) -> None:
    listed = re.search(r"The tables are (.*?);", PAGE.read_text())
    assert listed is not None

    for name in re.findall(r"`(\w+)`", listed.group(1)):
        assert len(getattr(trace, name)) >= 0


def test_pandas_and_arrow_hold_the_same_rows(trace: wavescope.api.Trace) -> None:
    frame = trace.ops.to_pandas(["gpu", "name", "start_ns", "end_ns"])
    table = trace.ops.to_arrow(["gpu", "name", "start_ns", "end_ns"])

    assert frame["start_ns"].tolist() == table["start_ns"].to_pylist()
    assert frame["start_ns"].dtype == np.int64
    assert (frame["end_ns"] - frame["start_ns"]).sum() == int(trace.ops.duration_ns.sum())
    assert frame.groupby("gpu").size().to_dict() == {0: 18, 1: 18}
    assert [name or "" for name in table["name"].to_pylist()] == trace.ops.strings("name")
    assert frame["name"].fillna("").astype(str).tolist() == trace.ops.strings("name")


@pytest.mark.parametrize(
    "table", ["ops", "markers", "calls", "links", "processes", "agents", "coverage", "counters"]
)
def test_every_table_goes_to_pandas_and_arrow(trace: wavescope.api.Trace, table: str) -> None:
    rows = len(getattr(trace, table))

    assert getattr(trace, table).to_pandas().shape[0] == rows
    assert getattr(trace, table).to_arrow().num_rows == rows


def test_a_summary_of_a_path_is_that_of_its_trace(trace_path: Path) -> None:
    with wavescope.open(trace_path) as trace:
        expected = wavescope.summary(trace)

    result = wavescope.summary(trace_path)

    assert result.to_json() == expected.to_json()
    kernels = result.table("kernels")
    assert kernels.column("name") == ["gemm_0", "gemm_1", "gemm_2"]
    assert kernels.column("calls") == [6, 6, 6]
    assert kernels.column("total_ns") == [42_006, 42_006, 42_006]
    assert repr(result).startswith("<Result Summary: kernels (3 rows), categories (2 rows)")


def test_columns_stay_when_the_file_is_closed(trace_path: Path) -> None:
    with wavescope.open(trace_path) as trace:
        trace.ops.load("start_ns")

    assert len(trace.ops["start_ns"]) == 36


@pytest.mark.parametrize("force", [False, True])
def test_an_output_is_replaced_only_when_told(
    trace_path: Path, tmp_path: Path, force: bool
) -> None:
    target = tmp_path / "out.json"
    target.write_text("mine")
    if force:
        assert wavescope.convert(trace_path, target, force=True) == target
        assert target.stat().st_size > 1000
    else:
        with pytest.raises(wavescope.WavescopeError, match="already exists") as caught:
            wavescope.convert(trace_path, target)
        assert "--force" in caught.value.hint
        assert target.read_text() == "mine"
    with pytest.raises(wavescope.WavescopeError, match="also an input"):
        wavescope.merge([trace_path, trace_path], trace_path, force=True)


class Balanced(HTMLParser):
    """Collects tags and fails on those that do not match."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.open: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        assert not [name for name, _ in attrs if name not in {"style", "title"}]
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def parsed(html: str) -> Balanced:
    page = Balanced()
    page.feed(html)
    assert page.open == []
    return page


def test_notebooks_show_results_without_running_what_is_in_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)  # what notebooks show must not need it
    maker = a_trace().with_process(1, name=HOSTILE).with_marker(HOSTILE, 0, 5_000_000)
    for step in range(60):
        maker.with_kernel(f"kernel_{step}{HOSTILE}", 10_000 * step, 10_000 * step + 2_500)
    maker.with_call(HOSTILE, 0, 100, args=HOSTILE)
    path = write_as(maker, tmp_path / "trace.db")
    with wavescope.open(path) as trace:
        result = wavescope.summary(trace)
        pages = {
            "result": result._repr_html_(),
            "table": result.table("kernels")._repr_html_(),
            "ops": trace.ops._repr_html_(),
            "calls": trace.calls._repr_html_(),
            "processes": trace.processes._repr_html_(),
        }

    allowed = {"h3", "h4", "table", "thead", "tbody", "tr", "th", "td", "p", "ul", "li", "b", "br"}
    for name, html in pages.items():
        page = parsed(html)
        assert page.seen <= allowed, name
        if name != "table":  # short names leave out what looks like a template's arguments
            assert any(HOSTILE in text for text in page.text), name
    assert "(50 of 60 rows)" in pages["ops"]
    assert "2.500 us" in pages["table"]
    assert '<td style="text-align: right">1</td>' in pages["table"]
    assert "GPU 0 was idle for" in pages["result"]


def test_the_shown_rows_of_a_part_are_those_of_the_part(trace: wavescope.api.Trace) -> None:
    part = select(trace, Selection(gpus=(1,)))

    assert "(50 of" not in part.ops._repr_html_()
    assert part.ops._repr_html_().count("<tr>") == 1 + 18
    assert repr(part.ops) == "<ops: 18 rows>"


def test_a_very_long_name_does_not_fill_the_page(tmp_path: Path) -> None:
    path = write_as(a_trace().with_kernel("n" * 100_000, 1, 2), tmp_path / "trace.db")

    with wavescope.open(path) as trace:
        assert len(trace.ops._repr_html_()) < 20_000


def test_public_names_are_there_and_others_are_not() -> None:
    for name in wavescope.__all__:
        assert getattr(wavescope, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = wavescope.nothing
