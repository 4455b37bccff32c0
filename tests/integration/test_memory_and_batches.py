"""Memory that is shared or mapped, and many packets at once: recorded as it ran, on each runtime."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.executed import (
    Run,
    built,
    differences,
    dispatch_coverage,
    dispatches_by_queue,
    recorded_dispatches,
    run_on_gpu,
)
from tests.recorded import ProcessFiles, processes
from tests.runtimes import behaviour, lite_leaves_batches, require
from tests.softgpu_programs import PROGRAMS, compiled, require_softgpu

pytestmark = pytest.mark.recording

TOUCH = "_Z5touchPi"
LAUNCHES = 20
GRAPH_KERNELS, REPLAYS = 1_500, 3
INSTINCT = [chip for chip in behaviour().chips if chip in ("gfx908", "gfx90a", "gfx942", "gfx950")]


@pytest.fixture(scope="module")
def hip_memory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require_softgpu()
    return compiled(PROGRAMS / "hip_memory.hip", tmp_path_factory, "--offload-arch=gfx90a")


def assert_recorded_is_executed(run: Run, process: ProcessFiles) -> int:
    """Compare one by one; how many kernels of the program there were."""
    executed = dispatches_by_queue(run.truth())
    assert differences(executed, recorded_dispatches(process)) == []
    return sum(op.name == TOUCH for ops in executed.values() for op in ops)


@pytest.mark.parametrize("mode", ["standard", "full", "hip"])
def test_memory_of_another_process(mode: str, hip_memory: Path, tmp_path: Path) -> None:
    require("ipc")
    truth = str(tmp_path / "truth_%p.csv")

    run = run_on_gpu(hip_memory, "ipc", folder=tmp_path, mode=mode, WAVESCOPE_SOFTGPU_TRUTH=truth)

    assert (run.code, run.output) == (0, "right\n"), run.errors
    both = processes(run.session)
    assert len(both) == 2
    for process in both:
        own = replace(run, truth_file=tmp_path / f"truth_{process.pid}.csv")
        assert assert_recorded_is_executed(own, process) == LAUNCHES


@pytest.mark.parametrize("mode", ["standard", "full", "hip"])
def test_memory_at_a_reserved_address(mode: str, hip_memory: Path, tmp_path: Path) -> None:
    require("vmm")

    run = run_on_gpu(hip_memory, "vmm", folder=tmp_path, mode=mode)

    assert (run.code, run.output) == (0, "right\n"), run.errors
    assert assert_recorded_is_executed(run, run.process) == LAUNCHES


@pytest.mark.parametrize("mode", ["lite", "standard", "full"])
@pytest.mark.parametrize("packets", [512, 4096])
def test_many_packets_at_once(packets: int, mode: str, programs: Path, tmp_path: Path) -> None:
    flood = built("hsa_flood.c", programs)

    run = run_on_gpu(flood, packets, 2 * packets, "once", folder=tmp_path, mode=mode)

    assert (run.code, run.output, run.errors) == (0, f"{2 * packets}\n", "")
    coverage = dispatch_coverage(run.process)
    if mode == "lite" and lite_leaves_batches():
        assert coverage["timed"] + coverage["skipped"]["graph_batch"] == 2 * packets
        return
    assert differences(dispatches_by_queue(run.truth()), recorded_dispatches(run.process)) == []
    assert (coverage["timed"], coverage["skipped"]) == (2 * packets, {})


def test_a_graph_of_many_kernels(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> None:
    require_softgpu()
    source = PROGRAMS / "hip_features.hip"
    program = compiled(source, tmp_path_factory, "--offload-arch=gfx90a")

    run = run_on_gpu(program, "large_graph", folder=tmp_path, mode="full")

    assert run.code == 0, run.errors
    assert assert_recorded_is_executed(run, run.process) == GRAPH_KERNELS * REPLAYS
    coverage = dispatch_coverage(run.process)
    assert (coverage["seen"], coverage["skipped"], coverage["lost"]) == (coverage["timed"], {}, {})


def test_recording_goes_on_after_a_pause(programs: Path, tmp_path: Path) -> None:
    run = run_on_gpu(built("hsa_flood.c", programs), 64, 1000, "resume", folder=tmp_path)

    assert (run.code, run.output, run.errors) == (0, "1000\n", "")
    coverage = dispatch_coverage(run.process)
    assert (coverage["timed"], coverage["skipped"]) == (900, {"paused": 100})


@pytest.mark.parametrize("chip", INSTINCT)
def test_eight_gpus_of_each_instinct(chip: str, programs: Path, tmp_path: Path) -> None:
    program = built("hsa_load.c", programs)
    load = (2, 1, 200, "each", "exit")

    run = run_on_gpu(program, *load, folder=tmp_path, gpus=8, WAVESCOPE_SOFTGPU_CHIP=chip)

    assert run.code == 0, run.errors
    assert differences(dispatches_by_queue(run.truth()), recorded_dispatches(run.process)) == []
    assert dispatch_coverage(run.process)["timed"] == 8 * 2 * 200
    assert {agent["name"] for agent in run.process.facts("agent")} == {chip}
