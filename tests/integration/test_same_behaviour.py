"""Programs behave the same with the collector inside: results, order, times, errors, output."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.executed import with_collector
from tests.recorded import PATIENCE_S
from tests.runtimes import require
from tests.softgpu_programs import PROGRAMS, compiled, require_softgpu, softgpu_variables

pytestmark = pytest.mark.recording

HIP_SUBJECTS = (
    "copies",
    "fills",
    "rectangles",
    "symbols",
    "callbacks",
    "cooperative",
    "host_memory",
    "values",
    "peers",
    "streams",
    "graphs",
    "threads",
    "processes",
    "limits",
)
HSA_SUBJECTS = (
    "agents",
    "barriers",
    "handlers",
    "shaders",
    "many_queues",
    "producers",
    "restarts",
    "failing",
    "endless",
)
FAULTS = {"failing": "fail", "endless": "hang"}
TIMING = ("streams",)
"""Subjects that print how long something took."""


@pytest.fixture(scope="module")
def hip_features(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require_softgpu()
    return compiled(PROGRAMS / "hip_features.hip", tmp_path_factory, "--offload-arch=gfx90a")


@pytest.fixture(scope="module")
def hsa_ops(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require_softgpu()
    return compiled(PROGRAMS / "hsa_ops.c", tmp_path_factory)


def seen_of(program: Path, subject: str, folder: Path, mode: str | None) -> tuple[int, str]:
    """Exit code and output of a subject, recorded in a mode or not at all."""
    environment = softgpu_variables(
        WAVESCOPE_SOFTGPU_GPUS="2", WAVESCOPE_SOFTGPU_FAULTS=FAULTS.get(subject, "")
    )
    if mode is not None:
        environment = with_collector(environment, mode, folder / f"{subject}-{mode}")
    done = subprocess.run(
        [str(program), subject, "300"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    return done.returncode, "" if subject in TIMING else done.stdout


@pytest.mark.parametrize("subject", HIP_SUBJECTS)
def test_hip_programs_see_no_difference(hip_features: Path, subject: str, tmp_path: Path) -> None:
    alone = seen_of(hip_features, subject, tmp_path, None)

    assert alone[0] == 0
    for mode in ("full", "hip"):
        assert seen_of(hip_features, subject, tmp_path, mode) == alone, mode


@pytest.mark.parametrize("subject", HSA_SUBJECTS)
def test_hsa_programs_see_no_difference(hsa_ops: Path, subject: str, tmp_path: Path) -> None:
    require(subject)
    alone = seen_of(hsa_ops, subject, tmp_path, None)

    assert alone[0] == 0
    for mode in ("lite", "standard", "full"):
        assert seen_of(hsa_ops, subject, tmp_path, mode) == alone, mode
