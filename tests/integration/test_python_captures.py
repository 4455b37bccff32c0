"""What `import wavescope` does with captures: the same as the commands, by the same functions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import wavescope
from tests.capture_folders import a_capture, step
from wavescope.cli.main import main

LOAD, WAIT, ADD = 1, 2, 3


def a_folder(
    parent: Path, *, dispatch: int = 1, kernel: str = "axpy(float*)", stall: int = 90
) -> Path:
    return (
        a_capture(dispatch=dispatch, demangled=kernel)
        .with_source("/axpy.py", "@jit\ndef axpy(x):\n    y = load(x)\n    return y + 1\n")
        .with_code(
            ("global_load_dword v0, v[0:1], off", "/axpy.py:3"),
            ("s_waitcnt vmcnt(0)", "/axpy.py:4"),
            ("v_add_f32_e32 v0, v0, v1", "/axpy.py:4"),
        )
        .with_wave([step(LOAD), step(WAIT, stall=stall), step(ADD, stall=10)])
        .write(parent)
    )


def test_a_comparison_tells_lines_and_their_change(tmp_path: Path) -> None:
    before = a_folder(tmp_path / "before", stall=90)
    after = a_folder(tmp_path / "after", stall=30)

    result = wavescope.compare_captures(before, after)

    lines = {row["line"]: row for row in result.table("lines").records()}
    assert lines["axpy.py:4"]["stall_change"] == -60
    assert lines["axpy.py:3"]["charged_change"] == -60
    assert result.facts["stall_per_wave_a"] == 100


def test_a_report_is_a_page_named_after_the_kernel(tmp_path: Path) -> None:
    capture = a_folder(tmp_path / "captures")

    target = wavescope.capture_report(capture, tmp_path / "page.html")

    page = target.read_text(encoding="utf-8")
    assert "<h1>axpy</h1>" in page
    assert "y = load(x)" in page
    with pytest.raises(wavescope.WavescopeError, match="exists"):
        wavescope.capture_report(capture, target)


def test_information_on_one_capture_tells_its_coverage(tmp_path: Path) -> None:
    result = wavescope.capture_info(a_folder(tmp_path))

    assert result.table("captures").column("kernel") == ["axpy(float*)"]
    assert result.facts["capture_count"] == 1
    assert result.facts["wave_count"] == 1
    assert "executed_row_count" in result.table("coverage").column("fact")


def test_information_on_many_captures_lists_them_and_what_is_broken(tmp_path: Path) -> None:
    a_folder(tmp_path, dispatch=1)
    a_folder(tmp_path, dispatch=2, kernel="gemm(int)")
    (a_folder(tmp_path, dispatch=3) / "code.json").write_text("{")

    result = wavescope.capture_info(tmp_path)

    assert result.table("captures").column("dispatch") == [1, 2]
    assert [finding.id for finding in result.findings] == ["capture-unreadable"]
    assert "coverage" not in [table.name for table in result.tables]


def test_one_of_many_captures_is_chosen_by_its_kernel(tmp_path: Path) -> None:
    a_folder(tmp_path, dispatch=1)
    a_folder(tmp_path, dispatch=2, kernel="gemm(int)")

    assert wavescope.hotspots(tmp_path, kernel="gem+").facts["kernel"] == "gemm(int)"
    overview = wavescope.hotspots(tmp_path, has_overview=True)
    assert overview.table("captures").column("kernel") == ["axpy(float*)", "gemm(int)"]
    with pytest.raises(wavescope.WavescopeError, match="holds 2 captures"):
        wavescope.hotspots(tmp_path, kernel=".")


def test_words_choose_what_hotspots_ranks(tmp_path: Path) -> None:
    options = wavescope.HotspotOptions(mode="src", view="charged", has_timeline=True)  # type: ignore[arg-type]

    result = wavescope.hotspots(a_folder(tmp_path), options, has_plan=True)

    names = [table.name for table in result.tables]
    assert {"lines_charged", "wave_spread", "plan"} <= set(names)
    assert not {"lines", "instructions"} & set(names)
    with pytest.raises(ValueError, match="everything"):
        wavescope.HotspotOptions(mode="everything")  # type: ignore[arg-type]


def test_chips_are_the_table_that_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["occupancy", "--chips", "--json"]) == 0

    printed = json.loads(capsys.readouterr().out)
    assert printed == wavescope.chips().to_json()
    assert "gfx942" in wavescope.chips().table("chips").column("chip")


def test_a_dry_run_tells_what_would_be_recorded(tmp_path: Path) -> None:
    options = wavescope.CaptureOptions(("./app", "two words"), "gemm", output=tmp_path / "out")

    facts = wavescope.record_capture(options, dry_run=True).facts

    assert str(facts["command"]).endswith("-- ./app 'two words'")
    assert 'kernel_include_regex: "gemm"' in str(facts["input_file"])
    assert not (tmp_path / "out").exists()


def test_a_capture_without_instructions_is_compared_as_one_that_has_no_partners(
    tmp_path: Path,
) -> None:
    empty, whole = a_folder(tmp_path / "empty"), a_folder(tmp_path / "whole")
    code = json.loads((empty / "code.json").read_text(encoding="utf-8"))
    (empty / "code.json").write_text(json.dumps(code | {"code": None}), encoding="utf-8")

    instructions = wavescope.compare_captures(empty, whole).table("instructions")

    assert set(instructions.column("status")) == {"only in B"}
    assert instructions.column("row_a") == [None] * 3
    assert instructions.column("stall_change")[0] == 90
