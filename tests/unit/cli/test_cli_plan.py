"""`wavescope plan` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

from tests.capture_folders import a_capture, step
from tests.unit.cli.conftest import Run

COUNTERS = """Dispatch_Id,Kernel_Name,Counter_Name,Counter_Value,Start_Timestamp,End_Timestamp
1,axpy(float*),SQ_LDS_BANK_CONFLICT,50,0,1000
1,axpy(float*),SQ_LDS_IDX_ACTIVE,100,0,1000
"""


def a_folder(parent: Path) -> Path:
    capture = a_capture().with_code(
        "ds_read_b64 v[4:5], v2",
        "s_waitcnt lgkmcnt(0)",
        "v_mfma_f32_16x16x32_fp8_fp8 a[0:3], v[4:5], v[6:7], a[0:3]",
    )
    return capture.with_wave([step(1), step(2, stall=80), step(3)]).write(parent)


def test_a_plan_for_people(run: Run, tmp_path: Path) -> None:
    ran = run("plan", a_folder(tmp_path))

    assert ran.code == 0
    assert "[HIGH] LDS is read directly before the matrix instruction" in ran.out
    assert "gain up to" in ran.out
    assert "removed from the wave timelines" in " ".join(ran.out.split())
    assert "Before" in ran.out


def test_a_plan_for_programs_with_counters(run: Run, tmp_path: Path) -> None:
    counters = tmp_path / "pmc.csv"
    counters.write_text(COUNTERS)

    ran = run("plan", a_folder(tmp_path), "--counters", counters, "--json")

    found = {finding["id"]: finding for finding in json.loads(ran.out)["findings"]}
    assert set(found) == {"lds-before-matrix", "lds-conflicts"}
    assert found["lds-conflicts"]["numbers"]["conflict_percent"] == 50


def test_hotspots_show_the_plan_when_asked(run: Run, tmp_path: Path) -> None:
    folder = a_folder(tmp_path)

    tables = [
        table["name"]
        for table in json.loads(run("hotspots", folder, "--plan", "--json").out)["tables"]
    ]

    assert {"plan", "sketch_1"} <= set(tables)
    assert "[HIGH] LDS is read directly" in run("hotspots", folder, "--plan").out
    assert "Priority order" not in run("hotspots", folder).out


def test_counters_of_another_kernel(run: Run, tmp_path: Path) -> None:
    counters = tmp_path / "pmc.csv"
    counters.write_text(COUNTERS.replace("axpy(float*)", "gemm"))

    ran = run("plan", a_folder(tmp_path), "--counters", counters)

    assert ran.code == 2
    assert "they belong to: gemm" in ran.err


def test_a_folder_without_a_capture(run: Run, tmp_path: Path) -> None:
    assert run("plan", tmp_path).code == 3


def test_a_plan_says_what_the_capture_lacks(run: Run, tmp_path: Path) -> None:
    folder = a_folder(tmp_path)
    (folder / "occupancy.json").write_text("[")

    found = json.loads(run("plan", folder, "--json").out)["findings"]

    (finding,) = [each for each in found if each["id"] == "capture-partial"]
    assert "occupancy.json is unreadable" in finding["evidence"]
