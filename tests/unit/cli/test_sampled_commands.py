"""Every command on a trace that was recorded in slices: estimates, or why there is none."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.sampled_runs import NAMES, SampledRun, simulated_run
from wavescope.cli.main import main
from wavescope.formats.wavescope.writing import write_trace


@pytest.fixture(scope="module")
def run() -> SampledRun:
    made = simulated_run(1)
    made.maker.with_op("graph 7", 1_000, 5_001_000, type="GraphExecution", graph=7)
    made.maker.with_agent(0, chip="sm_90", model="NVIDIA H200")
    return made


@pytest.fixture(scope="module")
def trace(run: SampledRun, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sampled") / "trace.db"
    write_trace([run.maker.builder], path)
    return path


def asked(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    """What a command says as JSON."""
    assert main([*map(str, arguments), "--json", "-q"]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def rows_of(document: dict[str, Any], table: str) -> list[dict[str, Any]]:
    (found,) = [each for each in document["tables"] if each["name"] == table]
    names = [column["name"] for column in found["columns"]]
    return [dict(zip(names, row, strict=True)) for row in found["rows"]]


def ids(document: dict[str, Any]) -> list[str]:
    return [finding["id"] for finding in document["findings"]]


def test_info_says_first_that_it_is_sampled(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = asked(capsys, "info", trace)["facts"]

    assert list(facts)[:4] == ["path", "format", "size_bytes", "sampled"]
    assert re.fullmatch(
        r"kernels were recorded in 44 slices of time only \(22\.00 ms in all, 6\.0 % of the run\): "
        r"2,220 kernels recorded of 34,872 counted",
        facts["sampled"],
    )


def test_summary_estimates_with_units(
    trace: Path, run: SampledRun, capsys: pytest.CaptureFixture[str]
) -> None:
    document = asked(capsys, "summary", trace)

    (table,) = [each for each in document["tables"] if each["name"] == "kernels"]
    units = {column["name"]: column["unit"] for column in table["columns"]}
    assert units["low_percent"] == units["high_percent"] == "%"
    assert units["estimated_total_low_ns"] == units["estimated_total_high_ns"] == "ns"
    assert units["estimated_calls"] == "count"
    kernels = {row["name"]: row for row in rows_of(document, "kernels")}
    assert set(kernels) == set(NAMES)
    assert all(
        row["low_percent"] < row["percent"] < row["high_percent"] for row in kernels.values()
    )
    gemm, total_ns = kernels["gemm"], int(run.truth.totals_ns[NAMES.index("gemm")])
    assert gemm["estimated_total_low_ns"] <= total_ns <= gemm["estimated_total_high_ns"]
    facts = document["facts"]
    assert facts["busy_low_percent"] <= run.truth.busy_percent <= facts["busy_high_percent"]
    assert facts["run_busy_low_percent"] <= run.truth.busy_percent <= facts["run_busy_high_percent"]
    assert ids(document) == ["sampled"]


def test_summary_of_a_marked_part_counts_what_is_in_it(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = asked(capsys, "summary", trace, "--marker", "^decode$")

    kernels = {row["name"]: row for row in rows_of(document, "kernels")}
    assert document["facts"]["slice_total_ns"] < 22_000_000
    assert kernels["gemm"]["calls"] < 456
    assert kernels["gemm"]["low_percent"] < kernels["gemm"]["percent"]
    assert kernels["gemm"]["estimated_total_ns"] is None  # launches of a part were not counted


def test_the_text_of_a_summary_begins_with_it(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["summary", str(trace), "-q"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines[3].startswith("sampled ")
    assert any(line.startswith("Kernels (estimates from slices)") for line in lines)


def test_findings_promise_nothing_of_unseen_time(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = asked(capsys, "findings", trace)

    found = document["findings"]
    assert found[0]["id"] == "sampled"
    assert {each["id"] for each in found} <= {"sampled", "duration-outliers", "dominant-work"}
    assert [each["gain_percent"] for each in found] == [None] * len(found)
    assert all(each["evidence"].endswith("in the slices that were recorded") for each in found[1:])
    (idle,) = rows_of(document, "idle")
    assert (idle["span_ns"], idle["gap_count"]) == (22_000_000, 2_172)
    assert idle["idle_ns"] < 0.2 * 22_000_000


def test_phases_are_estimated_from_marked_ops(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = asked(capsys, "phases", trace)

    rows = {row["phase"]: row for row in rows_of(document, "phase_estimates")}
    assert {"prefill", "decode"} <= set(rows)
    decode = rows["decode"]
    assert decode["low_percent"] < decode["percent"] < decode["high_percent"]
    assert sum(row["graph_runs"] for row in rows.values()) == 1
    assert sum(row["graph_run_ns"] for row in rows.values()) == 5_000_000
    assert ids(document) == ["sampled", "phases-unknown"]
    assert document["facts"]["op_count"] == 2_220  # the run of the graph is told apart


def test_phases_without_markers_are_not_claimed(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = asked(capsys, "phases", trace, "--without-markers")

    assert document["facts"]["source"] == "none"
    assert [row["phase"] for row in rows_of(document, "phase_estimates")] == ["unclassified"]


def test_steps_are_those_that_are_marked(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = asked(capsys, "steps", trace)

    (row,) = rows_of(document, "marked_steps")
    assert (row["steps"], document["facts"]["step_count"]) == (300, 300)
    assert row["median_ns"] <= row["p95_ns"] <= row["longest_ns"]
    assert ids(document) == ["sampled", "steps-unknown"]
    without = asked(capsys, "steps", trace, "--without-markers")
    assert without["facts"]["step_count"] == 0
    assert rows_of(without, "marked_steps") == []


def test_work_says_why_it_is_not_told(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = asked(capsys, "work", trace)

    assert ids(document) == ["work-unknown", "sampled"]
    assert rows_of(document, "work") == []


def test_query_says_that_rows_are_of_slices(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["query", str(trace), "SELECT COUNT(*) AS n FROM wavescope_slice", "--json"]) == 0

    said = capsys.readouterr()
    assert json.loads(said.out)
    assert "the trace is sampled" in said.err


def test_compare_tells_apart_what_slices_allow(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.db"
    made = simulated_run(9)
    made.maker.with_kernel("new_kernel", 10, 20)
    write_trace([made.maker.builder], other)

    document = asked(capsys, "compare", trace, other)

    kernels = {row["name"]: row for row in rows_of(document, "kernels")}
    assert set(kernels) == {*NAMES}  # what began outside of slices is in no estimate
    gemm = kernels["gemm"]
    assert gemm["delta_low_percent"] < gemm["delta_percent"] < gemm["delta_high_percent"]
    assert gemm["delta_percent"] == pytest.approx(gemm["new_percent"] - gemm["base_percent"])
    assert {row["name"] for row in rows_of(document, "phases")} >= {"prefill", "decode"}
    assert ids(document) == ["sampled", "sampled"]
    assert rows_of(document, "traces")[0]["slice_count"] == 44


def test_compare_refuses_what_slices_do_not_show(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", str(trace), str(trace), "--by", "step"]) != 0
    assert "sampled traces cannot be compared by operator or step" in capsys.readouterr().err


def test_no_verdict_on_sampled_runs(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.db"
    write_trace([simulated_run(3).maker.builder], other)

    assert main(["compare", "--base", str(trace), "--new", str(other)]) != 0
    assert "is sampled" in capsys.readouterr().err


def test_the_page_shows_estimates_and_hatches_what_is_unknown(trace: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"

    assert main(["report", str(trace), "-o", str(page), "-q"]) == 0

    text = page.read_text(encoding="utf-8")
    assert "of the run was recorded: 44 slices, 22.00 ms" in text
    assert "Hatched time lies outside of the slices that were recorded" in text
    (data,) = re.findall(r'<script[^>]*id="timeline-data"[^>]*>(.*?)</script>', text, re.S)
    strips = json.loads(data)["strips"]
    assert len(strips[0]["recorded"]["start"]) == 44
    assert strips[0]["busy"] == pytest.approx(84.7, abs=0.1)
    assert "Idle in between" not in text


def test_a_page_of_several_traces_is_refused(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"

    assert main(["report", str(trace), str(trace), "-o", str(page), "-q"]) != 0

    assert "one of them is sampled" in capsys.readouterr().err
    assert not page.exists()
