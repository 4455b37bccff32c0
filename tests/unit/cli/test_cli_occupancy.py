"""`wavescope occupancy` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

from tests.capture_folders import a_capture, step
from tests.unit.cli.conftest import Run


def test_a_kernel_by_its_figures(run: Run) -> None:
    ran = run(
        *("occupancy", "--arch", "gfx942", "--vgpr", "144", "--agpr", "136"),
        *("--lds", "16384", "--sgpr", "96", "--workgroup", "256"),
    )

    assert ran.code == 0
    assert "free 24 VGPRs or AGPRs (280 -> 256) -> 2 waves per SIMD" in ran.out


def test_json_holds_limits_and_facts(run: Run) -> None:
    ran = run("occupancy", "--arch", "gfx950", "--vgpr", "248", "--lds", "0x14000", "--json")

    found = json.loads(ran.out)
    assert found["facts"]["waves_per_simd"] == 2
    assert [table["name"] for table in found["tables"]] == ["limits", "levels"]


def test_the_table_of_chips(run: Run) -> None:
    found = json.loads(run("occupancy", "--chips", "--json").out)

    assert ["gfx1151", 32] in [[row[0], row[2]] for row in found["tables"][0]["rows"]]


def test_what_is_missing_or_wrong_is_said(run: Run) -> None:
    assert run("occupancy").code == 2
    assert (
        "at least a chip and the number of VGPRs: --arch"
        in run("occupancy", "--arch", "gfx942").err
    )
    assert "gfx90a" in run("occupancy", "--arch", "gfx1", "--vgpr", "8").err
    assert run("occupancy", "--arch", "gfx942", "--vgpr", "many").code == 2
    assert run("occupancy", "--arch", "gfx942", "--vgpr", "8", "--wave", "32").code == 2


def test_a_traced_kernel_and_several_of_them(run: Run, tmp_path: Path) -> None:
    for dispatch in (1, 2):
        builder = a_capture(dispatch=dispatch).with_code("v_add_f32 v0, v1, v95", "s_endpgm")
        builder.with_wave([step(1), step(2)]).write(tmp_path)

    one = run("occupancy", tmp_path / "ui_output_agent_7_dispatch_2", "--arch", "gfx90a", "--json")
    both = run("occupancy", tmp_path)

    assert json.loads(one.out)["facts"]["waves_per_simd"] == 5
    assert both.code == 2
    assert "ui_output_agent_7_dispatch_2" in both.err
    assert run("occupancy", tmp_path / "nothing").code == 3
