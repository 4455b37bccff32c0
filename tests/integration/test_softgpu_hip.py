"""HIP programs on the software GPU, below the unmodified HIP and HSA runtimes."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import pytest

from tests.softgpu_programs import (
    CHIPS_OF_ROCR_5,
    PROGRAMS,
    Ran,
    compiled,
    on_softgpu,
    require_softgpu,
    softgpu_variables,
)

TOUCH = "_Z5touchPi"
SECOND = "_Z13second_kernelPi"


@pytest.fixture(scope="module")
def hip_features(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require_softgpu()
    return compiled(PROGRAMS / "hip_features.hip", tmp_path_factory, "--offload-arch=gfx90a")


def run(folder: Path, options: list[str], *command: str | Path) -> Ran:
    ran = on_softgpu(folder, options, *command)
    assert ran.code == 0, ran.err
    return ran


def names(ran: Ran) -> Counter[str]:
    return Counter(op.name for op in ran.ops if op.kind == "dispatch")


@pytest.mark.parametrize(
    ("subject", "gpus"),
    [
        ("copies", 2),
        ("fills", 1),
        ("rectangles", 1),
        ("symbols", 1),
        ("callbacks", 1),
        ("cooperative", 1),
        ("host_memory", 1),
        ("values", 1),
        ("peers", 2),
        ("peers", 8),
    ],
)
def test_results_are_right(hip_features: Path, tmp_path: Path, subject: str, gpus: int) -> None:
    run(tmp_path, ["--gpus", str(gpus)], hip_features, subject)


@pytest.mark.parametrize("subject", ["copies", "fills", "rectangles", "symbols", "graphs"])
@pytest.mark.parametrize("limit", ["hidden memory", "small files"])
def test_results_are_right_where_the_host_has_less(
    hip_features: Path, tmp_path: Path, subject: str, limit: str
) -> None:
    is_hidden = limit == "hidden memory"
    settings = {"WAVESCOPE_SOFTGPU_LARGE_BAR": "0"} if is_hidden else {}
    limits = [] if is_hidden else ["sh", "-c", 'ulimit -f 40000; exec "$@"', "sh"]

    done = subprocess.run(
        [*limits, str(hip_features), subject],
        env=softgpu_variables(WAVESCOPE_SOFTGPU_GPUS="2", **settings),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    assert done.returncode == 0, done.stderr


def test_a_stream_waits_for_an_event_of_another(hip_features: Path, tmp_path: Path) -> None:
    ran = run(tmp_path, ["--kernel-ns", "10000"], hip_features, "streams")

    assert names(ran)[TOUCH] == 200
    assert names(ran)[SECOND] == 100
    last_touch = max(op.end_ns for op in ran.ops if op.name == TOUCH)
    assert last_touch <= min(op.start_ns for op in ran.ops if op.name == SECOND)
    assert float(ran.out) >= 2.0  # ms: 200 kernels of 10 us


def test_a_graph_replays_all_its_kernels(hip_features: Path, tmp_path: Path) -> None:
    assert names(run(tmp_path, [], hip_features, "graphs"))[TOUCH] == 100


def test_threads_lose_no_kernel(hip_features: Path, tmp_path: Path) -> None:
    ran = run(tmp_path, ["--gpus", "2"], hip_features, "threads")

    assert names(ran)[TOUCH] == 4000
    assert Counter(op.gpu for op in ran.ops if op.name == TOUCH) == {0: 2000, 1: 2000}


def test_each_process_has_gpus_and_a_log_of_its_own(hip_features: Path, tmp_path: Path) -> None:
    ran = run(tmp_path, [], hip_features, "processes")

    assert [sum(op.name == TOUCH for op in ops) for ops in ran.truths] == [50, 50]


def test_limits_are_those_of_the_chip(hip_features: Path, tmp_path: Path) -> None:
    assert run(tmp_path, [], hip_features, "limits").out == "gfx90a:sramecc+:xnack-,104,64,65536\n"


def test_durations_come_from_a_table(hip_features: Path, tmp_path: Path) -> None:
    table = tmp_path / "durations.csv"
    table.write_text(
        "kernel,duration\n# by part of the name\nsecond,7777\n*touch*,uniform:100:200\n"
    )
    ran = run(tmp_path, ["--durations", str(table)], hip_features, "streams")

    assert {op.duration_ns for op in ran.ops if op.name == SECOND} == {7777}
    touched = {op.duration_ns for op in ran.ops if op.name == TOUCH}
    assert min(touched) >= 100
    assert max(touched) <= 200
    assert len(touched) > 20


def test_busy_queues_slow_each_other_down(hip_features: Path, tmp_path: Path) -> None:
    # Long enough for the next launch to come while a kernel runs, whatever holds up the threads.
    options = ["--contention", "50", "--kernel-ns", "500000"]
    ran = run(tmp_path, options, hip_features, "threads")

    seen = {op.duration_ns for op in ran.ops if op.name == TOUCH}
    assert min(seen) >= 500_000
    assert seen <= {500_000 + 250_000 * others for others in range(12)}
    assert len(seen) > 1


def test_a_slow_kernel_delays_what_follows_in_its_queue(hip_features: Path, tmp_path: Path) -> None:
    ran = run(tmp_path, ["--fault", "hang,kernel=touch,ms=500,count=1"], hip_features, "threads")

    (slow,) = (op for op in ran.ops if op.fault == "hang")
    meanwhile = [op for op in ran.ops if slow.start_ns < op.start_ns < slow.end_ns]
    assert slow.duration_ns == 500_002_000
    assert all(op.queue != slow.queue for op in meanwhile)


def test_the_inference_example_has_its_shape(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    require_softgpu()
    examples = PROGRAMS.parent.parent / "examples"
    source = examples / "llm_inference.hip"
    program = compiled(source, tmp_path_factory, "--offload-arch=gfx90a", "-ldl")
    table = str(examples / "llm_inference.durations")
    layers, tokens, requests, gpus = 2, 3, 2, 2

    ran = run(
        tmp_path,
        ["--gpus", "2", "--durations", table],
        program,
        *map(str, (layers, tokens, requests)),
    )

    assert ran.out == "2 GPUs served 2 requests of 3 tokens\n"
    passes = gpus * requests
    dispatched = names(ran)
    assert sum(n for name, n in dispatched.items() if "_MT256x256x64_" in name) == passes * layers
    assert sum(n for name, n in dispatched.items() if "_MT32x16x512_" in name) == (
        passes * layers * tokens
    )
    assert sum(n for name, n in dispatched.items() if "sample_tokens" in name) == (
        passes * (tokens + 1)
    )
    large = [op.duration_ns for op in ran.ops if "_MT256x256x128_" in op.name]
    assert all(1_200_000 < duration < 1_800_000 for duration in large)


@pytest.mark.slow
@pytest.mark.parametrize("chip", CHIPS_OF_ROCR_5)
def test_other_chips_run_hip(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, chip: str
) -> None:
    require_softgpu()
    source = PROGRAMS / "hip_features.hip"
    program = compiled(source, tmp_path_factory, f"--offload-arch={chip}")

    for subject in ("copies", "fills", "rectangles", "graphs", "symbols"):
        ran = on_softgpu(tmp_path, ["--chip", chip, "--gpus", "2"], program, subject)
        assert ran.code == 0, ran.err
