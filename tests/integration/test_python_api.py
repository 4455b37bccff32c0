"""The Python interface: docs/python.md runs as written, and gives the right values."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import wavescope
from tests.builders import a_trace
from tests.capture_folders import a_capture
from tests.capture_folders import step as a_step
from tests.counters_builder import a_workload
from tests.sample_files import FIRST_NS, rich_trace, write_as
from tests.serving_traces import DECODE, PREFILL, VLLM_ROCM, Server, labelled
from wavescope.model.selection import Selection, select

PAGE = Path(__file__).resolve().parents[2] / "docs" / "python.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>&lt;"


@pytest.fixture(scope="module")
def trace_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_as(rich_trace(), tmp_path_factory.mktemp("api") / "trace.db")


@pytest.fixture
def trace(trace_path: Path) -> wavescope.Trace:
    return wavescope.open(trace_path)


def a_stalling_capture(parent: Path, dispatch: int) -> Path:
    """A wave that waits 80 cycles for an LDS read, directly before its use."""
    capture = a_capture(dispatch=dispatch).with_code(
        "ds_read_b64 v[4:5], v2",
        "s_waitcnt lgkmcnt(0)",
        "v_mfma_f32_16x16x32_fp8_fp8 a[0:3], v[4:5], v[6:7], a[0:3]",
    )
    return capture.with_wave([a_step(1), a_step(2, stall=80), a_step(3)]).write(parent)


def counted(folder: Path, misses: int) -> Path:
    """A workload of one dispatch: one L2 hit, and misses."""
    maker = a_workload(folder)
    return maker.with_dispatch("gemm", 1_000, TCC_HIT_sum=1, TCC_MISS_sum=misses).write()


def test_the_page_runs_as_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("trace.db", "rank0.db", "rank1.db"):
        write_as(rich_trace(), tmp_path / name)
    a_stalling_capture(tmp_path, dispatch=3).rename(tmp_path / "ui_output_agent_1_dispatch_3")
    counters = counted(tmp_path / "workloads" / "gemm", misses=3) / "pmc_perf.csv"
    (tmp_path / "counters.csv").write_bytes(counters.read_bytes())
    (tmp_path / "train.py").write_text("import ctypes; ctypes.CDLL(None).roctxMarkA(b'step')")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}

    for block in BLOCKS:
        exec(compile(block, str(PAGE), "exec"), names)

    assert len(BLOCKS) >= 5
    for written in ("trace.pftrace", "decode.json.gz", "all.db"):
        assert (tmp_path / written).stat().st_size > 0
    with wavescope.open("train.db") as recorded:
        assert recorded.markers.strings("name") == ["step"]
    with wavescope.open("all.db") as merged, wavescope.open("decode.json.gz") as decode:
        assert len(merged.ops) == 72
        assert 0 < len(decode.ops) < 36


def test_columns_are_exact_arrays(trace: wavescope.Trace) -> None:
    assert len(trace.ops) == 36
    assert trace.ops["start_ns"].dtype == np.int64
    assert int(trace.ops["start_ns"][0]) == FIRST_NS + 3_000
    assert trace.ops.duration_ns[:2].tolist() == [7_001, 2_007]
    assert trace.ops.strings("name")[::2][:3] == ["gemm_0", "gemm_1", "gemm_2"]
    assert trace.metadata["command"] == "python3 serve.py"
    assert dict(trace.notes) == {}


def test_every_documented_table_is_there(trace: wavescope.Trace) -> None:
    listed = re.search(r"The tables are (.*?);", PAGE.read_text())
    assert listed is not None

    for name in re.findall(r"`(\w+)`", listed.group(1)):
        assert len(getattr(trace, name)) >= 0


def test_pandas_and_arrow_hold_the_same_rows(trace: wavescope.Trace) -> None:
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
def test_every_table_goes_to_pandas_and_arrow(trace: wavescope.Trace, table: str) -> None:
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


def test_a_converted_timeline_shows_names_short_or_whole(tmp_path: Path) -> None:
    name = "void gemm<float, 128, 64, 32>(float const*, float*)"
    source = write_as(a_trace().with_kernel(name, 0, 1), tmp_path / "t.db")

    short = wavescope.convert(source, tmp_path / "short.json")
    whole = wavescope.convert(source, tmp_path / "whole.json", short_names=False)

    assert name not in names_of_events(short)
    assert name in names_of_events(whole)


def names_of_events(path: Path) -> set[str]:
    return {event["name"] for event in json.loads(path.read_text())["traceEvents"]}


def test_phases_without_markers_are_told_by_structure() -> None:
    server = Server(VLLM_ROCM, layers=4)
    server.step(1024, PREFILL)
    for _ in range(30):
        server.step(16, DECODE, graph=True)
    trace = labelled(server).trace

    phases, steps = wavescope.phases(trace), wavescope.steps(trace)

    assert phases.facts["range_count"] == 0
    assert {"prefill", "decode"} <= set(phases.table("phases").column("path"))
    assert max(steps.table("step_kinds").column("steps")) == 30


def test_phases_with_markers_are_those_of_the_markers(trace: wavescope.Trace) -> None:
    result = wavescope.phases(trace)

    assert result.facts["range_count"] == 6
    assert result.table("phases").column("path") == [
        "prefill",
        "prefill > layer 0",
        "decode",
        "(outside any range)",
    ]


def test_what_was_repaired_is_said_by_every_analysis(tmp_path: Path) -> None:
    path = tmp_path / "cut.json"
    path.write_text(
        '{"traceEvents": [{"ph": "X", "pid": 1, "tid": 1, "ts": 1, "dur": 2, "name": "a'
    )

    results = [
        wavescope.summary(path),
        wavescope.phases(path),
        wavescope.steps(path),
        wavescope.compare([path, path]),
    ]

    told = [[finding.id for finding in result.findings] for result in results]
    assert [ids.count("input-repaired") for ids in told] == [1, 1, 1, 2]


def test_a_capture_is_analysed_from_its_path(tmp_path: Path) -> None:
    path = a_stalling_capture(tmp_path / "one", dispatch=1)

    spots, plan = wavescope.hotspots(path), wavescope.plan(tmp_path / "one")

    assert spots.facts["stall"] == 80
    assert spots.table("instructions").column("stall")[0] == 80
    assert plan.facts["wave_count"] == 1
    assert plan.findings[0].id == "lds-before-matrix"


def test_of_several_captures_one_must_be_named(tmp_path: Path) -> None:
    for dispatch in (1, 2):
        a_stalling_capture(tmp_path, dispatch)

    with pytest.raises(wavescope.WavescopeError, match="holds 2 captures") as caught:
        wavescope.hotspots(tmp_path)

    assert "dispatch_1" in caught.value.hint


def test_counters_become_metrics_and_several_are_compared(tmp_path: Path) -> None:
    before, after = counted(tmp_path / "a", misses=3), counted(tmp_path / "b", misses=1)

    alone = wavescope.metric_panels(before).table("2.1").records()
    both = wavescope.metric_panels([before, after]).table("2.1").records()

    assert [row["avg"] for row in alone if row["key"] == "l2_hit_rate"] == [25.0]
    assert [row for row in both if 25.0 in row.values() and 50.0 in row.values()]
    with pytest.raises(wavescope.WavescopeError, match="no path was given"):
        wavescope.metric_panels([])


def test_counters_do_all_that_the_command_does(tmp_path: Path) -> None:
    folder = counted(tmp_path / "a", misses=3)
    own = tmp_path / "own.toml"
    own.write_text("[metric.hits]\nunit = '1'\nvalue = 'TCC_HIT_sum'\n")
    options = wavescope.CounterOptions(blocks=("1.1", "own"))

    result = wavescope.counters(
        folder,
        options,
        output=tmp_path / "page.html",
        facts={"max_sclk": 1234.0},
        own_metrics=[own],
    )

    assert wavescope.metric_panels is wavescope.counters
    assert [row["avg"] for row in result.table("100.1").records()] == [1.0]
    assert (tmp_path / "page.html").read_text().startswith("<!DOCTYPE html>")
    with pytest.raises(wavescope.WavescopeError, match="exists"):
        wavescope.counters(folder, output=tmp_path / "page.html")
    with pytest.raises(wavescope.WavescopeError, match="there is no fact 'max_clock'"):
        wavescope.counters(folder, facts={"max_clock": 1.0})
    assert wavescope.counters_info(folder).table("0.2").column("dispatch_id") == [0]
    available = wavescope.available_metrics([folder]).table("metrics").records()
    assert "yes" in {row["available"] for row in available}
    with pytest.raises(wavescope.WavescopeError, match="has no PyTorch operators"):
        wavescope.torch_operators(folder)


def test_words_stand_for_the_choices_of_counters() -> None:
    options = wavescope.CounterOptions(normal_unit="per_wave", sample_order="offset")
    plot = wavescope.RooflineOptions(levels=("HBM", "L2"), kind="dispatches")

    assert options.normal_unit is wavescope.NormalUnit.PER_WAVE
    assert options.sample_order is wavescope.SampleOrder.OFFSET
    assert plot.levels == (wavescope.MemoryLevel.HBM, wavescope.MemoryLevel.L2)
    assert plot.kind is wavescope.PointKind.DISPATCHES
    with pytest.raises(ValueError, match="per_week"):
        wavescope.CounterOptions(normal_unit="per_week")


def test_metrics_and_plans_of_a_collection_need_no_gpu() -> None:
    found = wavescope.metrics("l2 hit", chip="gfx90a").table("metrics").records()
    options = wavescope.CollectOptions(blocks=("sol",), chip="gfx942")

    assert "l2_hit_rate" in {row["key"] for row in found}
    assert wavescope.collection_plan(options).facts["run_count"] == len(
        wavescope.collection_plan(options).table("runs").rows
    )
    assert "sol" in wavescope.counter_blocks("gfx942").table("blocks").column("alias")
    assert wavescope.metric_sets("gfx942").facts["chip"] == "gfx942"
    with pytest.raises(wavescope.WavescopeError, match="cannot be used together"):
        wavescope.CollectOptions(kernels=("a",), kernel="b")
    with pytest.raises(wavescope.WavescopeError, match="no program to run"):
        wavescope.collect_counters(options)
    with pytest.raises(wavescope.WavescopeError, match="there is no ceiling 'HBN'"):
        wavescope.ceilings(wavescope.CeilingOptions(only=("HBN",)))


def test_occupancy_of_a_kernel_by_its_figures() -> None:
    result = wavescope.occupancy("gfx942", vgprs=144, agprs=136, lds_bytes=16384)

    assert result.facts["waves_per_simd"] == 1.0
    assert result.facts["limited_by"] == "VGPR + AGPR"
    with pytest.raises(wavescope.WavescopeError, match="gfx1"):
        wavescope.occupancy("gfx1", vgprs=1)


def test_occupancy_of_a_traced_kernel(tmp_path: Path) -> None:
    capture = a_capture(dispatch=1).with_code("v_mov_b32_e32 v0, v127", "s_endpgm")
    path = capture.write(tmp_path)

    read = wavescope.occupancy("gfx942", capture=path)
    stated = wavescope.occupancy("gfx942", capture=path, vgprs=144, agprs=136)

    assert (read.facts["waves_per_simd"], read.facts["limited_by"]) == (4.0, "VGPR")
    assert stated.facts["waves_per_simd"] == 1.0
    with pytest.raises(wavescope.WavescopeError, match="no kernel was given"):
        wavescope.occupancy("gfx942")


def test_traffic_of_counter_files_and_of_chosen_dispatches(tmp_path: Path) -> None:
    path = tmp_path / "out_counter_collection.csv"
    rows = [
        f"{dispatch},{kernel},{name},{value},{dispatch}000,{dispatch}500"
        for dispatch, kernel, hits in ((1, "gemm", 3), (2, "copy", 0))
        for name, value in (("TCC_HIT_sum", hits), ("TCC_MISS_sum", 1))
    ]
    header = "Dispatch_Id,Kernel_Name,Counter_Name,Counter_Value,Start_Timestamp,End_Timestamp"
    path.write_text("\n".join([header, *rows, ""]))

    everything = wavescope.traffic(path).table("kernels")
    one = wavescope.traffic([tmp_path], kernel="copy").table("kernels")

    assert dict(
        zip(everything.column("kernel"), everything.column("l2_hit_percent"), strict=True)
    ) == {"gemm": 75.0, "copy": 0.0}
    assert one.column("kernel") == ["copy"]
    with pytest.raises(wavescope.WavescopeError, match="no dispatch passes the filters"):
        wavescope.traffic(path, dispatches=[7])


def test_a_plan_says_what_the_capture_lacks(tmp_path: Path) -> None:
    path = a_stalling_capture(tmp_path, dispatch=1)
    next(path.glob("se*.json")).unlink()

    assert "capture-partial" in [finding.id for finding in wavescope.plan(path).findings]


def test_rooflines_of_workloads_and_their_plot(tmp_path: Path) -> None:
    before, after = counted(tmp_path / "a", misses=3), counted(tmp_path / "b", misses=1)
    plot = tmp_path / "plot.json"

    result = wavescope.roofline([before, after], plot)

    assert [table.name for table in result.tables] == ["4.1", "4.2", "run_2.4.1", "run_2.4.2"]
    assert result.facts["run_2"] == str(after)
    assert plot.read_text().startswith("{")
    with pytest.raises(wavescope.WavescopeError, match="exists"):
        wavescope.roofline(before, plot)


def test_opening_a_trace_waits_for_no_analysis() -> None:
    code = "import sys, wavescope; wavescope.open; print(*sorted(sys.modules))"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert not [name for name in done.stdout.split() if name.startswith("wavescope.analyze.")]


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


def test_the_shown_rows_of_a_part_are_those_of_the_part(trace: wavescope.Trace) -> None:
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


def test_a_part_is_chosen_by_keywords_or_a_selection(
    trace: wavescope.Trace, trace_path: Path
) -> None:
    whole, part = len(trace.ops), len(wavescope.select(trace, gpus=1).ops)
    chosen = wavescope.Selection(gpus=(1,))

    assert 0 < part < whole
    assert wavescope.summary(trace, gpus=1).facts["op_count"] == part
    assert wavescope.summary(trace_path, gpus=[1]).facts["op_count"] == part
    assert wavescope.summary(trace, selection=chosen).facts["op_count"] == part
    assert wavescope.summary(trace, selection=chosen, gpus=(0, 1)).facts["op_count"] == whole
    assert wavescope.phases(trace, gpus=1) == wavescope.phases(trace, selection=chosen)
    assert wavescope.steps(trace, gpus=1) == wavescope.steps(trace, selection=chosen)
    same = wavescope.compare([trace, trace], gpus=1)
    assert same == wavescope.compare([trace, trace], selection=chosen)
    assert wavescope.findings(trace, gpus=1) == wavescope.findings(wavescope.select(trace, chosen))
    with pytest.raises(TypeError, match="gpu"):
        wavescope.summary(trace, gpu=1)  # type: ignore[call-arg]


def test_findings_have_their_first_name_too() -> None:
    assert wavescope.find is wavescope.findings


def test_info_tells_what_a_trace_holds(trace: wavescope.Trace, trace_path: Path) -> None:
    found = wavescope.info(trace_path)

    assert found.facts["path"] == str(trace_path)
    assert found.facts["size_bytes"] == trace_path.stat().st_size == trace.size_bytes
    assert found.facts["op_count"] == len(trace.ops)
    assert {"gpus", "queues", "tables"} <= {table.name for table in found.tables}
    lists = wavescope.info(trace, markers=True, kernels=True)
    assert [table.name for table in lists.tables] == ["markers", "kernels"]
    assert lists.facts == found.facts


def test_formats_are_listed() -> None:
    found = wavescope.known_formats()

    assert "perfetto" in found.table("writable").column("format")
    assert len(found.table("readable").rows) > 3


def test_a_summary_lists_what_its_options_say(trace: wavescope.Trace) -> None:
    kernels = wavescope.KernelSummaryOptions(
        naming=wavescope.KernelNaming.FULL,
        scope=wavescope.Scope.GPU,
        ops=wavescope.OpChoice.ALL,
    )

    result = wavescope.summary(
        trace, wavescope.SummaryOptions(kernels, wavescope.GapOptions(largest=1))
    )

    assert result.table("kernels").columns[0].name == "gpu"
    assert result.facts["unlisted_op_count"] == 0
    assert len(result.table("largest_gaps").rows) == 1


def test_findings_obey_thresholds_and_ids(trace: wavescope.Trace) -> None:
    always = wavescope.Thresholds(idle_percent=0)

    found = wavescope.findings_result(trace, always, only=["gpu-idle"], gpus=0)

    assert [finding.id for finding in found.findings] == ["gpu-idle"]
    assert found.facts["finding_count"] == 1
    assert found.facts["selection"] == "gpu 0"
    assert found.table("findings").column("where") == ["gpu 0"]
    assert wavescope.findings(trace, always, only=["gpu-idle"], gpus=0) == found.findings
    with pytest.raises(wavescope.WavescopeError, match="no finding 'gpu-idel'"):
        wavescope.findings(trace, only=["gpu-idel"])


def test_a_report_of_a_part_tells_what_is_missing(trace_path: Path, tmp_path: Path) -> None:
    told: list[str] = []
    kept = tmp_path / "kept.json"
    kept.write_text(json.dumps(wavescope.summary(trace_path).to_json()))

    page = wavescope.report(
        trace_path, tmp_path / "a.html", gpus=7, additions=[kept], tell=told.append
    )

    assert told == ["no GPU op passes the filters: `wavescope info` shows what the trace holds"]
    assert "There are no GPU ops here to judge." in page.read_text()
    assert 'id="added-1"' in page.read_text()
    with pytest.raises(wavescope.WavescopeError, match=r"2 labels for 1 trace\b"):
        wavescope.report(trace_path, tmp_path / "b.html", labels=["a", "b"])
    assert not (tmp_path / "b.html").exists()
