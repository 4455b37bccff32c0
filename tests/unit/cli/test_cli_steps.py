"""`wavescope steps`, and `wavescope phases` without markers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.serving_traces import DECODE, PREFILL, VLLM_ROCM, Server, labelled
from tests.unit.cli.conftest import Run
from wavescope.formats.wavescope.writing import write_trace
from wavescope.model.trace import Trace


def written(trace: Trace, path: Path) -> Path:
    write_trace([trace.source], path)
    return path


@pytest.fixture
def served_file(tmp_path: Path) -> Path:
    """Two prefills, 30 decode steps after each; before the 12th decode step the host is late."""
    server = Server(VLLM_ROCM, layers=4)
    for _ in range(2):
        server.step(1024, PREFILL)
        for number in range(30):
            server.step(16, DECODE, graph=True, pause_ns=3_000_000 if number == 11 else 0)
    return written(labelled(server).trace, tmp_path / "served.db")


def rows(out: str, table: str) -> list[dict[str, object]]:
    (found,) = [each for each in json.loads(out)["tables"] if each["name"] == table]
    names = [column["name"] for column in found["columns"]]
    return [dict(zip(names, row, strict=True)) for row in found["rows"]]


def test_steps_by_kind_and_the_slow_ones(run: Run, served_file: Path) -> None:
    ran = run("steps", served_file, "--json")

    decode, prefill = rows(ran.out, "step_kinds")
    assert (decode["kind"], decode["phase"], decode["steps"]) == (1, "decode", 60)
    assert (decode["warm_up"], decode["irregular"], decode["ops"]) == (0, 0, 27)
    assert (prefill["kind"], prefill["phase"], prefill["steps"]) == (None, "prefill", 2)
    assert prefill["median_ns"] is None
    slow = rows(ran.out, "step_outliers")
    assert sorted(row["step"] for row in slow) == [12, 43]
    assert all(3_000_000 < row["largest_gap_ns"] < 3_100_000 for row in slow)
    assert {row["gap_before"] for row in slow} == {"token_embedding_kernel"}
    assert len(rows(ran.out, "steps")) == 62


def test_slow_steps_are_a_finding_with_its_gain(run: Run, served_file: Path) -> None:
    (finding,) = json.loads(run("steps", served_file, "--json").out)["findings"]

    assert finding["id"] == "slow-steps"
    assert finding["numbers"]["slow_steps"] == 2
    # As many as the table of kinds says, also where the last has no next step to be timed to.
    kinds = rows(run("steps", served_file, "--json").out, "step_kinds")
    counts = {row["kind"]: row["steps"] for row in kinds}
    assert finding["numbers"]["steps"] in counts.values()
    assert finding["title"].startswith(f"2 of {finding['numbers']['steps']} steps of kind")
    assert 5 < finding["gain_percent"] < 50


def test_text_leaves_the_list_of_every_step_out(run: Run, served_file: Path) -> None:
    ran = run("steps", served_file)

    assert ran.code == 0
    assert "Steps by kind" in ran.out
    assert "Every step" not in ran.out
    assert ran.err == "more with --table NAME: steps\n"


def test_every_step_as_csv(run: Run, served_file: Path) -> None:
    ran = run("steps", served_file, "--table", "steps", "--format", "csv")

    header, first, *_ = ran.out.splitlines()
    assert header.startswith("gpu,queue,process,step,kind,phase,warm_up,start_ns")
    assert first.startswith("0,0,0,1,,prefill,")


def test_a_trace_without_repetition_says_so(run: Run, trace_file: Path) -> None:
    ran = run("steps", trace_file)

    assert ran.code == 0
    assert "nothing repeats" in ran.err
    assert "the number of steps is unknown" in ran.err


@pytest.mark.parametrize("command", ["steps", "phases", "analyze-trace", "summary"])
def test_a_trace_without_ops_does_not_blame_filters(run: Run, tmp_path: Path, command: str) -> None:
    trace = tmp_path / "empty.json"
    trace.write_text('{"traceEvents": []}')

    plain, filtered = run(command, trace), run(command, trace, "--gpu", "0")

    assert (plain.code, filtered.code) == (0, 0)
    assert plain.err == (
        "note: there are no GPU ops in the trace: `wavescope info` shows what it holds\n"
    )
    assert filtered.err.startswith("note: no GPU op passes the filters")


def test_phases_without_any_marker(run: Run, served_file: Path) -> None:
    ran = run("phases", served_file)

    assert "the trace has no marker ranges" in ran.err
    assert "=== prefill (54 ops, " in ran.out
    assert "=== decode (1,620 ops, " in ran.out


def test_phases_of_a_user_rule(run: Run, served_file: Path, tmp_path: Path) -> None:
    rules = tmp_path / "mine.toml"
    rules.write_text('[[phase]]\nmatch = "rms_norm"\nphase = "training"\n')

    ran = run("phases", served_file, "--without-markers", "--phase-rules", rules, "--json")

    assert ran.err == ""
    assert [row["path"] for row in rows(ran.out, "phases")] == ["unclassified"]


def test_wrong_user_rules_are_a_usage_error(run: Run, served_file: Path, tmp_path: Path) -> None:
    rules = tmp_path / "mine.toml"
    rules.write_text("[[phase]]\n")

    ran = run("phases", served_file, "--without-markers", "--phase-rules", rules)

    assert ran.code == 2
    assert "rule 1" in ran.err
