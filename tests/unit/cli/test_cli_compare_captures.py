"""`wavescope compare` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.capture_folders import a_capture, step
from tests.unit.cli.conftest import Run


@pytest.fixture
def captures(tmp_path: Path) -> tuple[Path, Path]:
    folders = []
    for name, stall in (("before", 100), ("after", 130)):
        capture = a_capture().with_code("global_load_dword v0, v[4:5], off", "s_waitcnt vmcnt(0)")
        folders.append(capture.with_wave([step(1), step(2, stall=stall)]).write(tmp_path / name))
    return folders[0], folders[1]


def test_a_change_for_people_and_programs(run: Run, captures: tuple[Path, Path]) -> None:
    text = run("diff-att", *captures)
    found = json.loads(run("diff-att", *captures, "--json").out)

    assert text.code == 0
    assert "a wave of B takes 27.8 % more cycles than one of A" in text.out
    assert [table["name"] for table in found["tables"]] == ["kinds", "lines", "instructions"]


def test_a_limit_decides_the_exit_code(run: Run, captures: tuple[Path, Path]) -> None:
    assert run("diff-att", *captures, "--fail-above", "50").code == 0
    assert run("diff-att", *captures, "--fail-above", "20%").code == 1
    assert run("diff-att", *captures[::-1], "--fail-above", "0").code == 0
    assert run("diff-att", *captures, "--fail-above", "x").code == 2


def test_hotspots_compare_too(run: Run, captures: tuple[Path, Path]) -> None:
    ran = run("hotspots", "--diff", *captures)

    assert ran.code == 0
    assert "a wave of B takes 27.8 % more cycles than one of A" in ran.out
    assert run("hotspots", "--diff", captures[0]).code == 2


def test_a_capture_that_is_not_there(run: Run, captures: tuple[Path, Path], tmp_path: Path) -> None:
    assert run("diff-att", captures[0], tmp_path / "none").code == 3
