"""`wavescope doctor` on this machine, and on one that lacks everything."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.unit.cli.conftest import Run
from wavescope.api.machine import checks_result
from wavescope.collect import doctor
from wavescope.collect.doctor import Check, CheckState
from wavescope.native.library import library_path


def test_this_machine_can_analyse(run: Run) -> None:
    ran = run("doctor", "--json")

    assert (ran.code, ran.err) == (0, "")
    document = json.loads(ran.out)
    assert document["facts"]["analysis"] == "ready"
    assert document["facts"]["recording"]
    assert {"counters", "instruction_traces"} <= set(document["facts"])
    states = {row[0]: row[1] for row in document["tables"][0]["rows"]}
    assert states["NumPy"] == "ok"
    if library_path("wavescope_collector"):
        assert states["collector"] == "ok"


def test_the_page_shows_fixes_whole(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAVESCOPE_NATIVE", "0")

    ran = run("doctor")

    assert ran.code == 0
    assert "native library   not usable  switched off by WAVESCOPE_NATIVE=0" in ran.out
    assert "  -> unset WAVESCOPE_NATIVE\n" in ran.out


def test_exit_code_4_only_when_analysis_cannot_work(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = Check("NumPy", "all analyses", CheckState.MISSING, "", "pip install numpy", True)
    monkeypatch.setattr(doctor, "checked_machine", lambda: [broken])

    ran = run("doctor")

    assert ran.code == 4
    assert "problem: NumPy: missing\n  for all analyses\n  -> pip install numpy\n" in ran.out


def test_the_result_names_every_fix() -> None:
    check = Check("/dev/kfd", "GPUs", CheckState.NOT_USABLE, "no permission", "usermod")

    result = checks_result([check])

    assert result.table("checks").rows == [
        ("/dev/kfd", "not usable", "GPUs", "no permission", False, "usermod")
    ]
    assert [(f.id, f.suggestion) for f in result.findings] == [("missing-dev-kfd", "usermod")]


def test_it_works_without_numpy_and_says_so() -> None:
    code = (
        "import sys; sys.modules.update(numpy=None, orjson=None)\n"
        "from wavescope.cli.main import main; sys.exit(main(['doctor']))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (4, "")
    assert "-> pip install numpy\n" in done.stdout
