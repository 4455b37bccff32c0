"""Queues for cooperative launches, which all lie on one queue of their GPU, are recorded and end in peace."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.executed import (
    built,
    differences,
    dispatch_coverage,
    dispatches_by_queue,
    recorded_dispatches,
    run_on_gpu,
)
from tests.runtimes import require

pytestmark = pytest.mark.recording

DISPATCHES = 50
# What a runtime that was built with assertions says of a queue that must not be destroyed.
LEAK = re.compile(
    r"(Warning: Resource leak detected by SharedSignalPool, [24] Signals leaked\.\n)?"
)
TIMES = {"one": 1, "two": 3, "again": 2, "left": 2, "beside": 2}


@pytest.fixture(scope="module")
def program(programs: Path) -> Path:
    return built("hsa_cooperative.c", programs)


@pytest.mark.parametrize("scenario", TIMES)
@pytest.mark.parametrize("paused", ["0", "1"])
def test_a_program_sees_no_difference(
    paused: str, scenario: str, program: Path, tmp_path: Path
) -> None:
    if scenario == "left":
        require("queues left")
    (tmp_path / "plain").mkdir()

    plain = run_on_gpu(program, scenario, DISPATCHES, folder=tmp_path / "plain", mode=None)
    run = run_on_gpu(program, scenario, DISPATCHES, folder=tmp_path, WAVESCOPE_START_PAUSED=paused)

    assert (plain.code, plain.errors) == (0, "")
    assert (run.code, run.output) == (0, plain.output)
    assert LEAK.fullmatch(run.errors)
    coverage = dispatch_coverage(run.process)
    assert coverage["seen"] == TIMES[scenario] * DISPATCHES
    assert coverage["timed"] == (0 if paused == "1" else TIMES[scenario] * DISPATCHES)
    assert coverage["lost"] == {}


@pytest.mark.parametrize("scenario", ["one", "two", "left", "beside"])
def test_every_dispatch_is_recorded_as_it_ran(scenario: str, program: Path, tmp_path: Path) -> None:
    run = run_on_gpu(program, scenario, DISPATCHES, folder=tmp_path)

    assert differences(dispatches_by_queue(run.truth()), recorded_dispatches(run.process)) == []
