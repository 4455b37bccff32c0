"""Phases told without markers against the roctx ranges of recordings on the software GPU."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import wavescope
from tests.phase_score import SCORED, classified, scores, truth_from_markers
from tests.program_builds import APT
from tests.softgpu_programs import require_softgpu
from wavescope.cli.main import main
from wavescope.collect.demo import demo_trace
from wavescope.model.trace import Trace

LEAST = 0.9


def least_score(trace: Trace) -> float:
    """The smallest of precision and recall of both phases."""
    found = scores(trace, classified(trace), truth_from_markers(trace))
    return min(value or 0.0 for phase in SCORED for value in found[phase])


def test_the_recorded_demo_program(tmp_path: Path) -> None:
    require_softgpu()
    if shutil.which("hipcc") is None:
        pytest.skip(f"the demo cannot be compiled: {APT}")
    assert main(["demo", "--program", "hip", "-q", "-o", str(tmp_path / "demo")]) == 0

    with wavescope.open(tmp_path / "demo" / "trace.db") as trace:
        assert trace.metadata.get("generated_by") is None
        assert least_score(trace) >= LEAST


def test_the_generated_demo() -> None:
    trace = Trace(demo_trace())

    assert least_score(trace) >= LEAST
    assert [len(steps) for steps in classified(trace).steps.of_lane] == [82, 82]
