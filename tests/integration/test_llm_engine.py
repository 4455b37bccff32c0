"""A real LLM engine, llama.cpp, recorded on the software GPU: all of it, with its phases."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.executed import differences, traced_dispatches
from tests.llama import (
    LAYERS,
    RUNTIME,
    WAVESCOPE,
    EngineRun,
    recorded_bench,
    recorded_server,
    require_llama,
    tiny_model,
)
from wavescope.analyze.phases.found import FoundPhase, found_phases
from wavescope.collect.demo import WeightType
from wavescope.formats import open_trace
from wavescope.model.op_kinds import OpKind
from wavescope.model.trace import Trace

pytestmark = [pytest.mark.runtimes, pytest.mark.engine]

REPEATS = 5
TOKENS = 8
WORK = ("-p", "512", "-n", str(TOKENS), "-r", str(REPEATS))
PREFILLS = 1 + REPEATS  # llama-bench warms up once
DECODED = 1 + REPEATS * TOKENS
PRODUCTS = 6 * LAYERS + 1  # q, k, v, output, gate and up together, down; and the head
RUNTIME_COPY, RUNTIME_FILL = "__amd_rocclr_copyBuffer", "__amd_rocclr_fillBufferAligned"
"""Kernels with which HIP copies and fills."""
READING_ERROR_NS = 20
QUERY = re.compile(r"hip(?:Device)?Get|hipMemGetInfo|hipOccupancy|hip(?:Push|Pop)CallConfiguration")
"""Functions that do no work on a GPU; they are left out of recordings on purpose."""


@pytest.fixture(scope="module", params=["full-q4_0", "hip-q4_0", "full-f16", "hip-f16"])
def bench(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> EngineRun:
    require_llama()
    mode, _, weights = request.param.partition("-")
    model = tiny_model(tmp_path_factory, WeightType[weights.upper()])
    return recorded_bench(tmp_path_factory.mktemp(request.param), mode, model, *WORK)


def phase_steps(trace: Trace) -> Counter[str]:
    """How many steps of each phase there are, told without markers."""
    found = found_phases(trace)
    return Counter(FoundPhase(code).name.lower() for codes in found.step_phases for code in codes)


def kernels_by_phase(trace: Trace) -> dict[str, Counter[str]]:
    """How often each function runs in each phase."""
    found: dict[str, Counter[str]] = {}
    codes = found_phases(trace).codes.tolist()
    for code, name in zip(codes, trace.ops.strings("name"), strict=True):
        function = re.sub(r"^void |[<(].*", "", name)
        found.setdefault(FoundPhase(code).name.lower(), Counter())[function] += 1
    return found


def test_every_dispatch_is_recorded_as_it_ran(bench: EngineRun) -> None:
    executed = bench.dispatches()

    assert sum(map(len, executed.values())) > 2_000
    assert differences(executed, traced_dispatches(bench.trace), READING_ERROR_NS) == []


def test_every_copy_is_recorded_as_it_ran(bench: EngineRun) -> None:
    executed = sorted(
        (op.start_ns, op.end_ns, op.size) for op in bench.executed() if op.kind == "copy"
    )
    with open_trace(bench.trace) as trace:
        is_copy = trace.op_kind == OpKind.COPY
        columns = [
            trace.ops[name][is_copy].tolist() for name in ("start_ns", "end_ns", "size_bytes")
        ]
        traced = sorted(zip(*columns, strict=True))

    assert len(executed) > 30
    assert [op[2] for op in traced] == [op[2] for op in executed]
    for ours, theirs in zip(traced, executed, strict=True):
        assert abs(ours[0] - theirs[0]) <= READING_ERROR_NS
        assert abs(ours[1] - theirs[1]) <= READING_ERROR_NS


def test_steps_are_counted_without_markers(bench: EngineRun) -> None:
    with open_trace(bench.trace) as trace:
        steps = phase_steps(trace)

    # Prefill is replayed as a graph too, in f16 with rocBLAS's tiles for few tokens, which so small
    # a model gets: both speak for decode, the sizes of the same kernels for prefill.
    assert steps == {"prefill": PREFILLS, "decode": DECODED}


def test_kernels_are_in_the_phase_that_they_are_for(bench: EngineRun) -> None:
    with open_trace(bench.trace) as trace:
        found = kernels_by_phase(trace)

    decode = found["decode"]
    product = "mul_mat_vec_q" if "q4_0" in bench.trace.parent.name else "mul_mat_vec_f"
    assert decode[product] == DECODED * PRODUCTS
    assert decode["flash_attn_tile"] == DECODED * LAYERS
    assert not {"mul_mat_q", "flash_attn_ext_f16"} & set(decode)
    if "q4_0" in bench.trace.parent.name:
        assert found["prefill"]["mul_mat_q"] >= PREFILLS * 6 * LAYERS
        assert found["prefill"]["flash_attn_ext_f16"] == PREFILLS * LAYERS


def test_phases_are_the_same_however_hip_spreads_its_streams_over_queues(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    require_llama()
    model = tiny_model(tmp_path_factory, WeightType.Q4_0)
    found = []
    for most in (1, 2, 4):
        (folder := tmp_path / f"{most}").mkdir()
        run = recorded_bench(
            folder, "full", model, *WORK, variables={"GPU_MAX_HW_QUEUES": f"{most}"}
        )
        with open_trace(run.trace) as trace:
            queues = len(set(trace.ops["queue"][trace.op_kind == OpKind.KERNEL].tolist()))
            found.append((queues, phase_steps(trace), kernels_by_phase(trace)))

    assert [queues for queues, _, _ in found][:2] == [1, 2]
    assert all(steps == {"prefill": PREFILLS, "decode": DECODED} for _, steps, _ in found)
    (_, _, kernels), *others = found
    assert all(other == kernels for _, _, other in others)
    copied = {phase: of_phase[RUNTIME_COPY] for phase, of_phase in kernels.items()}
    # Before each step small inputs are copied by kernels, and after it the result.
    assert copied["prefill"] % PREFILLS == 0
    assert copied["decode"] % DECODED == 0
    assert kernels["prefill"]["mul_mat_q"] >= PREFILLS * 6 * LAYERS
    assert set(kernels["unclassified"]) == {"", RUNTIME_COPY, RUNTIME_FILL}


def test_report_and_summary_agree_with_what_ran(bench: EngineRun, tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    commands = (
        ["summary", str(bench.trace), "--json"],
        ["report", str(bench.trace), "-o", str(report)],
    )
    summary, written = (
        subprocess.run([*WAVESCOPE, *command], capture_output=True, text=True, check=False)
        for command in commands
    )

    assert (summary.returncode, written.returncode) == (0, 0), summary.stderr + written.stderr
    result = json.loads(summary.stdout)
    executed = [op for ops in bench.dispatches().values() for op in ops]
    copies = [op for op in bench.executed() if op.kind == "copy"]
    assert result["facts"]["op_count"] == len(executed) + len(copies)
    assert result["facts"]["coverage"] == (
        f"{len(executed):,} of {len(executed):,} dispatches timed (100.0 %)"
    )
    assert result["facts"]["full_name_count"] == len({op.name for op in executed})
    assert report.read_text().startswith("<!DOCTYPE html>")


def test_hip_calls_are_those_of_the_runtimes_own_log(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    require_llama()
    model = tiny_model(tmp_path_factory, WeightType.Q4_0)
    work = ("-p", "64", "-n", "4", "-r", "1")
    run = recorded_bench(tmp_path, "hip", model, *work, variables={"AMD_LOG_LEVEL": "3"})

    logged = Counter(re.findall(r"(?<=[m ])(hip\w+) \(", run.errors))
    with open_trace(run.trace) as trace:
        recorded = Counter(trace.calls.strings("name"))

    assert len(recorded) >= 15
    assert recorded == {name: n for name, n in logged.items() if not QUERY.match(name)}


def test_a_server_is_recorded_until_it_is_interrupted(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    require_llama()
    model = tiny_model(tmp_path_factory, WeightType.Q4_0)
    with recorded_server(tmp_path, model) as server:
        answers = [server.complete(200, 16 + extra) for extra in range(4)]
        code = server.interrupt()

    assert code == 0, server.run.errors
    assert [answer["tokens_predicted"] for answer in answers] == [16, 17, 18, 19]
    assert [answer["tokens_evaluated"] for answer in answers] == [200] * 4
    executed = server.run.dispatches()
    assert differences(executed, traced_dispatches(server.run.trace), READING_ERROR_NS) == []
    with open_trace(server.run.trace) as trace:
        # The first token of an answer comes from its prefill.
        assert phase_steps(trace)["decode"] >= sum(a["tokens_predicted"] - 1 for a in answers)
        assert kernels_by_phase(trace)["prefill"]["flash_attn_ext_f16"] >= len(answers) * LAYERS


def test_only_the_request_between_start_and_stop_is_recorded(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    require_llama()
    model = tiny_model(tmp_path_factory, WeightType.Q4_0)
    with recorded_server(tmp_path, model, "--start-paused") as server:
        server.complete(100, 8)
        began_ns = time.monotonic_ns()
        server.steer("start")
        answer = server.complete(100, 12)
        server.steer("stop")
        ended_ns = time.monotonic_ns()
        server.complete(100, 8)
        assert server.interrupt() == 0, server.run.errors

    executed = server.run.dispatches()
    within = {
        queue: [op for op in ops if began_ns <= op.start_ns <= ended_ns]
        for queue, ops in executed.items()
    }
    within = {queue: ops for queue, ops in within.items() if ops}
    assert answer["tokens_predicted"] == 12
    assert sum(map(len, within.values())) > 12 * PRODUCTS
    assert differences(within, traced_dispatches(server.run.trace), READING_ERROR_NS) == []
    with open_trace(server.run.trace) as trace:
        coverage = {name: int(trace.coverage[name].sum()) for name in ("timed", "skipped", "lost")}
    timed, total = (sum(map(len, ops.values())) for ops in (within, executed))
    assert coverage == {"timed": timed, "skipped": total - timed, "lost": 0}


def test_the_demo_records_the_engine(tmp_path: Path) -> None:
    require_llama()
    command = [*WAVESCOPE, "demo", "--program", "llama", "-o", str(tmp_path), "--json"]
    for _ in range(2):  # its own files may be replaced
        done = subprocess.run(
            command, env=RUNTIME.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr

    assert "recording llama.cpp's llama-bench" in done.stderr
    assert "| llama ?B (guessed) Q4_0" in done.stderr
    facts = json.loads(done.stdout)["facts"]
    assert facts["coverage"].endswith("dispatches timed (100.0 %)")
    assert facts["call_count"] > 1_000
    with open_trace(tmp_path / "trace.db") as trace:
        assert phase_steps(trace) == {"prefill": 6, "decode": 61}
