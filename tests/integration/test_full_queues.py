"""A program that submits faster than the GPU works comes to its end, whatever is recorded of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.executed import built, dispatch_coverage, dispatches_by_queue, run_on_gpu
from tests.runtimes import lite_leaves_batches

pytestmark = pytest.mark.recording

SIZE = 64
DISPATCHES = 512
KERNEL = {"WAVESCOPE_SOFTGPU_KERNEL_NS": "200000"}
NOT_RECORDED = {
    "paused": {"WAVESCOPE_START_PAUSED": "1"},
    "before a delay": {"WAVESCOPE_DELAY_MS": "3600000"},
    "after a duration": {"WAVESCOPE_DURATION_MS": "1"},
}
KINDS = ["none", "each", "barriers", "once", "threads"]


@pytest.fixture(scope="module")
def flood(programs: Path) -> Path:
    return built("hsa_flood.c", programs)


def assert_runs_whole(
    flood: Path,
    kind: str,
    folder: Path,
    *,
    mode: str = "standard",
    size: int = SIZE,
    dispatches: int = DISPATCHES,
    **settings: str,
) -> dict[str, dict[str, int]]:
    """Run the program; its coverage."""
    settings = KERNEL | settings
    run = run_on_gpu(flood, size, dispatches, kind, folder=folder, mode=mode, **settings)

    assert (run.code, run.errors) == (0, "")
    assert run.output == f"{8 * dispatches if kind == 'barriers' else dispatches}\n"
    (executed,) = dispatches_by_queue(run.truth()).values()
    assert len(executed) == dispatches
    coverage = dispatch_coverage(run.process)
    assert coverage["seen"] == dispatches
    return coverage


@pytest.mark.parametrize("kind", KINDS)
def test_recorded(kind: str, flood: Path, tmp_path: Path) -> None:
    assert assert_runs_whole(flood, kind, tmp_path)["timed"] == DISPATCHES


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reason", NOT_RECORDED)
def test_not_recorded(reason: str, kind: str, flood: Path, tmp_path: Path) -> None:
    coverage = assert_runs_whole(flood, kind, tmp_path, **NOT_RECORDED[reason])

    assert coverage["timed"] + sum(coverage["skipped"].values()) == DISPATCHES


@pytest.mark.parametrize("kind", KINDS)
def test_lite_mode(kind: str, flood: Path, tmp_path: Path) -> None:
    coverage = assert_runs_whole(flood, kind, tmp_path, mode="lite")

    in_batches = coverage["skipped"].get("graph_batch", 0)
    assert lite_leaves_batches() or in_batches == 0
    assert coverage["timed"] == (0 if kind == "each" else DISPATCHES - in_batches)


def test_paused_by_the_program(flood: Path, tmp_path: Path) -> None:
    coverage = assert_runs_whole(flood, "pause", tmp_path)

    assert coverage["timed"] == DISPATCHES // 10


@pytest.mark.parametrize("kind", ["none", "each"])
def test_a_size_limit(kind: str, flood: Path, tmp_path: Path) -> None:
    coverage = assert_runs_whole(flood, kind, tmp_path, WAVESCOPE_MAX_BYTES="24000")

    assert coverage["lost"] == {"size_limit": DISPATCHES - coverage["timed"]}


@pytest.mark.parametrize("paused", ["0", "1"])
def test_much_that_waits_behind_a_long_kernel(paused: str, flood: Path, tmp_path: Path) -> None:
    """More than ROCr 7 can take at once of what was submitted since it set a packet aside."""
    assert_runs_whole(
        flood,
        "none",
        tmp_path,
        size=1024,
        dispatches=6000,
        WAVESCOPE_START_PAUSED=paused,
        WAVESCOPE_SOFTGPU_KERNEL_NS="2000",
        WAVESCOPE_SOFTGPU_FAULTS="hang,ms=2500,count=1",
    )


@pytest.mark.parametrize("kind", ["none", "threads"])
@pytest.mark.parametrize("paused", ["0", "1"])
def test_a_kernel_longer_than_the_patience(
    paused: str, kind: str, flood: Path, tmp_path: Path
) -> None:
    """The runtime then sets a packet aside, and puts what came since into the ring when it is empty."""
    assert_runs_whole(
        flood,
        kind,
        tmp_path,
        WAVESCOPE_START_PAUSED=paused,
        WAVESCOPE_SOFTGPU_FAULTS="hang,ms=2500,count=1",
    )


@pytest.mark.parametrize("size", [SIZE, 1024])
@pytest.mark.parametrize("kind", ["host", "host-once"])
@pytest.mark.parametrize("paused", ["0", "1"])
def test_packets_that_wait_for_the_submitting_thread(
    paused: str, kind: str, size: int, flood: Path, tmp_path: Path
) -> None:
    """The ring holds as many as it does without a tool: else the program would wait for itself."""
    run = run_on_gpu(flood, size, 0, kind, folder=tmp_path, WAVESCOPE_START_PAUSED=paused)

    assert (run.code, run.output, run.errors) == (0, f"{size}\n", "")
