"""`wavescope phases`: the pages of phases, filters, and what is said when there is nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.builders import a_trace
from tests.unit.cli.conftest import Run
from wavescope.formats.wavescope.writing import write_trace

_GEMM = "Cijk_Ailk_Bljk_HHS_BH_Bias_HAS_SAV_UserArgs_MT64x64x256_MI16x16x1_SN"


@pytest.fixture
def marked_file(tmp_path: Path) -> Path:
    """Prefill with three GEMMs and an add, two steps of decode with a GEMM each, one op outside."""
    maker = a_trace().with_process(42, rank=0).with_process(43, rank=1)
    maker.with_marker("prefill", 0, 100_000).with_marker("step 1", 100_000, 200_000)
    maker.with_marker("step 2", 200_000, 300_000)
    for start in (10_000, 20_000, 30_000):
        maker.with_kernel(_GEMM, start, start + 4_000)
    maker.with_kernel("triton_poi_fused_add_0", 40_000, 44_000, gpu=1)
    maker.with_kernel(_GEMM, 110_000, 112_000).with_kernel(_GEMM, 210_000, 212_000)
    maker.with_kernel("late", 310_000, 311_000)
    path = tmp_path / "marked.db"
    write_trace([maker.builder], path)
    return path


def tables(out: str) -> dict[str, list[dict[str, object]]]:
    document = json.loads(out)
    return {
        table["name"]: [
            dict(zip((column["name"] for column in table["columns"]), row, strict=True))
            for row in table["rows"]
        ]
        for table in document["tables"]
    }


def test_every_phase_has_a_page_with_its_kernels(run: Run, marked_file: Path) -> None:
    ran = run("phases", marked_file)

    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert "=== prefill (4 ops, 16.00 us GPU time) ===" in lines
    assert "=== step * (2 ops, 4.000 us GPU time) ===" in lines
    assert "=== (outside any range) (1 op, 1.000 us GPU time) ===" in lines
    gemm = next(line for line in lines if line.startswith("Cijk_Ailk_Bljk (MT64x64x256)"))
    assert gemm.split()[2:5] == ["3", "4.000", "75.0"]
    assert "hipBLASLt GEMM, tile 64x64x256" in gemm
    assert any("6 by time" in line and "1 outside" in line for line in lines)


def test_json_has_both_tables_and_says_how_ops_were_attributed(run: Run, marked_file: Path) -> None:
    ran = run("phases", marked_file, "--json")
    found = tables(ran.out)

    assert [(row["path"], row["occurrences"], row["op_count"]) for row in found["phases"]] == [
        ("prefill", 1, 4),
        ("step *", 2, 2),
        ("(outside any range)", None, 1),
    ]
    assert [(row["path"], row["calls"], row["percent"]) for row in found["phase_kernels"]] == [
        ("prefill", 3, 75.0),
        ("prefill", 1, 25.0),
        ("step *", 2, 100.0),
        ("(outside any range)", 1, 100.0),
    ]
    facts = json.loads(ran.out)["facts"]
    assert (facts["by_time_count"], facts["by_cause_count"], facts["outside_count"]) == (6, 0, 1)


def test_what_is_shown_can_be_chosen(run: Run, marked_file: Path) -> None:
    def paths(*arguments: str) -> list[object]:
        found = tables(run("phases", marked_file, "--json", *arguments).out)
        return [row["path"] for row in found["phases"]]

    assert paths("--marker", "^pre") == ["prefill"]
    assert paths("--marker", "fill|^step") == ["prefill", "step *"]
    assert run("phases", marked_file, "--marker", "(").code == 2
    assert paths("--keep-numbers") == ["prefill", "step 1", "step 2", "(outside any range)"]
    kernels = tables(run("phases", marked_file, "--json", "-n", "1").out)["phase_kernels"]
    assert len(kernels) == 1
    full = tables(run("phases", marked_file, "--json", "--full-names").out)["phase_kernels"]
    assert full[0]["name"] == _GEMM
    on_gpu = tables(run("phases", marked_file, "--json", "--gpu", "1").out)["phases"]
    assert next((row["path"], row["op_count"]) for row in on_gpu) == ("prefill", 1)


def test_per_process_tells_process_and_rank(run: Run, marked_file: Path) -> None:
    rows = tables(run("phases", marked_file, "--per", "process", "--json").out)["phases"]

    assert (rows[0]["process"], rows[0]["rank"], rows[0]["path"]) == (0, 0, "prefill")
    threads = tables(run("phases", marked_file, "--per", "thread", "--json").out)["phases"]
    assert threads[0]["thread"] == 1
    assert "=== [0, 0] prefill" in run("phases", marked_file, "--per", "process").out


def test_users_rules_name_and_explain(run: Run, marked_file: Path, tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text("[[rule]]\nmatch = 'late'\nname = 'tail'\ncategory = 'x'\nnote = 'the end'\n")
    rows = tables(run("phases", marked_file, "--rules", rules, "--json").out)["phase_kernels"]

    last = rows[-1]
    assert (last["name"], last["category"], last["note"]) == ("tail", "x", "the end")


def test_it_says_why_there_is_nothing(run: Run, tmp_path: Path, marked_file: Path) -> None:
    path = tmp_path / "plain.db"
    write_trace([a_trace().with_kernel("k", 0, 1).builder], path)

    assert "no marker ranges" in run("phases", path).err
    assert "no phase matches 'nothing'" in run("phases", marked_file, "--marker", "nothing").err
    empty = tmp_path / "empty.db"
    write_trace([a_trace().builder], empty)
    assert run("phases", empty).code == 0


def test_of_many_phases_the_largest_are_shown(run: Run, tmp_path: Path) -> None:
    maker = a_trace()
    for index in range(60):
        start = index * 1_000
        maker.with_marker(f"phase {chr(65 + index)}", start, start + 1_000)
        maker.with_kernel("k", start + 10, start + 11 + index)
    path = tmp_path / "many.db"
    write_trace([maker.builder], path)

    few = run("phases", path, "-n", "3").out
    assert few.count("=== phase") == 20
    assert "(20 of 60 rows)" in few
    assert f"=== phase {chr(65 + 59)} (" in few and "=== phase A (" not in few
    assert run("phases", path, "-n", "0").out.count("=== phase") == 60


def test_markers_without_a_name_are_called_so(run: Run, tmp_path: Path) -> None:
    maker = a_trace().with_process(42).with_marker("", 0, 100).with_marker("inner", 10, 90)
    maker.with_kernel(_GEMM, 20, 30)
    path = tmp_path / "unnamed.db"
    write_trace([maker.builder], path)

    found = tables(run("phases", path, "--json").out)["phases"]

    assert [row["path"] for row in found] == ["(no name)", "(no name) > inner"]


def test_ranges_that_are_not_looked_at_are_not_counted(run: Run, marked_file: Path) -> None:
    told = run("phases", marked_file, "--without-markers").out

    assert "\nranges " not in told
    assert "\nattribution  by names and structure" in told
