"""Spoiled captures: every command says what is wrong or shows what is left, and never breaks."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.capture_folders import a_capture, step
from wavescope.cli.main import main
from wavescope.errors import EXIT_BUG

COMMANDS = ("plan", "occupancy", "diff-att", "report-att", "hotspots --plan")


def a_folder(parent: Path) -> Path:
    return (
        a_capture()
        .with_code(
            ("buffer_load_dwordx4 v[8:11], v1, s[0:3], 0 offen", "/k.py:2"),
            ("s_waitcnt vmcnt(0)", "/k.py:2"),
            ("v_mfma_f32_16x16x32_fp8_fp8 a[0:3], v[4:5], v[6:7], a[0:3]", "/k.py:1"),
            "s_barrier",
            "s_endpgm",
        )
        .with_source("/k.py", "one\ntwo\n")
        .with_kernel_row(VGPR_Count=128, Workgroup_Size_X=256)
        .with_agent(Name="gfx942", Gfx_Target_Version=90402)
        .with_wave([step(1), step(2, stall=99), step(3), step(4, stall=7), step(5)], simd=0)
        .with_wave([step(1), step(2, stall=50), step(3), step(4), step(5)], simd=1)
        .write(parent)
    )


def rewritten(name: str, change: Callable[[Any], Any]) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        path = folder / name
        path.write_text(json.dumps(change(json.loads(path.read_text()))))

    return spoil


def with_rows(change: Callable[[list[Any]], list[Any]]) -> Callable[[Path], None]:
    return rewritten("code.json", lambda document: document | {"code": change(document["code"])})


def no_waves(folder: Path) -> None:
    for path in folder.glob("se*.json"):
        path.unlink()


def cut_waves(folder: Path) -> None:
    for path in folder.glob("se*.json"):
        path.write_text(path.read_text()[:150])


def kernel_csv(text: str) -> Callable[[Path], None]:
    return lambda folder: (folder.parent / "out_kernel_trace.csv").write_text(text) and None


SPOILED: dict[str, Callable[[Path], None]] = {
    "null code": rewritten("code.json", lambda document: document | {"code": None}),
    "no rows": with_rows(lambda rows: []),
    "only a label": with_rows(lambda rows: rows[:1]),
    "zero cycles": with_rows(lambda rows: [[*row[:6], 0, 0, 0, 0] for row in rows]),
    "short rows": with_rows(lambda rows: [*rows[:-1], rows[-1][:4]]),
    "huge numbers": with_rows(lambda rows: [[*row[:6], 10**30, 10**30, 10**30, 0] for row in rows]),
    "negative numbers": with_rows(lambda rows: [[*row[:6], -5, -5, -5, -5] for row in rows]),
    "texts that are no texts": with_rows(lambda rows: [[None, *row[1:]] for row in rows]),
    "hostile texts": with_rows(
        lambda rows: [["v_mfma_" + "v[0:99999999]," * 50, *row[1:]] for row in rows]
    ),
    "no wave files": no_waves,
    "cut wave files": cut_waves,
    "waves of other rows": rewritten(
        "se0_sm0_sl0_wv0.json",
        lambda document: {
            "wave": document["wave"] | {"instructions": [[0, 1, 5, 9, 10**6], [5, 1, -3, 2, -7]]}
        },
    ),
    "waves that run backwards": rewritten(
        "se0_sm0_sl0_wv0.json",
        lambda document: {"wave": document["wave"] | {"begin": 10**12, "end": -5}},
    ),
    "no code": lambda folder: (folder / "code.json").unlink(),
    "no JSON": lambda folder: (folder / "code.json").write_text("{") and None,
    "an empty kernel trace": kernel_csv(""),
    "a kernel trace of another kernel": kernel_csv(
        "Kernel_Name,Dispatch_Id,VGPR_Count\nother,99,1\n"
    ),
    "absurd resources": kernel_csv(
        "Kernel_Name,Dispatch_Id,VGPR_Count,LDS_Block_Size,Workgroup_Size_X,SGPR_Count\n"
        "axpy(float*),1,-7,99999999999999999999,0,4000000000\n"
    ),
    "occupancy of nonsense": rewritten(
        "occupancy.json", lambda document: {"0": [[5], [1, 2, 3, 4, 1, 1], ["x"] * 6]}
    ),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", SPOILED)
def test_spoiled_captures(
    tmp_path: Path, name: str, command: str, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = a_folder(tmp_path)
    SPOILED[name](folder)
    verb, *flags = command.split()
    line = [verb, str(folder), *flags, "--quiet"]
    if verb == "diff-att":
        line.insert(1, str(a_folder(tmp_path / "whole")))
    if verb == "report-att":
        line += ["-o", str(tmp_path / "page.html")]

    code = main(line)

    told = capfd.readouterr()
    assert code in {0, 2, 3}, told.err
    assert code != EXIT_BUG
    assert "Traceback" not in told.err
    if code:
        assert "error:" in told.err


def test_a_capture_in_an_archive_has_a_plan(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = a_folder(tmp_path / "in")
    archive = shutil.make_archive(str(tmp_path / "capture"), "zip", folder.parent)

    assert main(["plan", archive, "--quiet", "--json"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert found["facts"]["wave_count"] == 2
