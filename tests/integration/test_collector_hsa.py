"""Dispatches and copies of real HSA and HIP programs: what was recorded is what the GPU executed."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from tests.executed import (
    APP_SIGNAL,
    COPIES,
    COPY,
    DISPATCH,
    TIMES_LOST,
    Run,
    assert_recorded_is_executed,
    assert_recorded_was_executed,
    built,
    counters,
    differences,
    dispatch_coverage,
    dispatches_by_queue,
    in_ns,
    kernel_names,
    kill_when_running,
    missing_after_kill,
    recorded_dispatches,
    run_on_gpu,
    traced_dispatches,
)
from tests.recorded import processes
from tests.runtimes import times_shared_signals
from wavescope.formats import open_trace
from wavescope.formats.session.folder import write_session_facts

pytestmark = pytest.mark.recording

KERNEL_NS = 2000


@pytest.mark.parametrize("mode", ["standard", "full"])
@pytest.mark.parametrize("gpus", [1, 2, 8])
@pytest.mark.parametrize("signals", ["none", "each", "shared"])
def test_every_dispatch_is_recorded_as_it_ran(
    gpus: int, signals: str, mode: str, programs: Path, tmp_path: Path
) -> None:
    program = built("hsa_load.c", programs)

    run = run_on_gpu(program, 2, 2, 600, signals, "exit", folder=tmp_path, gpus=gpus, mode=mode)

    expected = 600 * 2 * gpus
    coverage = dispatch_coverage(run.process)
    assert (coverage["seen"], coverage["lost"]) == (expected, {})
    if signals == "shared" and not times_shared_signals():
        assert sum(coverage["skipped"].values()) == expected - coverage["timed"]
        assert set(coverage["skipped"]) == {"app_signal"}
        # The last one of a round has the signal to itself where all before it were complete.
        rounds = 2 * gpus * 3
        assert coverage["timed"] == len(run.process.ops()) <= rounds
        assert_recorded_was_executed(run)
        return
    assert_recorded_is_executed(run)
    assert (coverage["timed"], coverage["skipped"]) == (expected, {})


@pytest.mark.parametrize("limit", ["by choice", "files must be small"])
def test_signals_of_the_runtime_do_as_well(limit: str, programs: Path, tmp_path: Path) -> None:
    """Where no shared memory is to be had, or it is not wanted."""
    program = built("hsa_load.c", programs)
    wanted = {"WAVESCOPE_SIGNALS": "runtime"} if limit == "by choice" else {}
    if limit != "by choice":
        limited = tmp_path / "limited"
        limited.write_text(f'#!/bin/sh\nulimit -f 40000\nexec "{program}" "$@"\n')
        limited.chmod(0o755)
        program = limited

    run = run_on_gpu(program, 2, 2, 1500, "none", "exit", folder=tmp_path, gpus=2, **wanted)

    assert_recorded_is_executed(run)
    assert not Path(f"/dev/shm/wavescope-{run.process.base.name}.pending").exists()


def test_several_threads_share_a_queue(programs: Path, tmp_path: Path) -> None:
    run = run_on_gpu(built("hsa_load.c", programs), 1, 4, 1000, "none", "shutdown", folder=tmp_path)

    assert_recorded_is_executed(run)
    ops = run.process.ops()
    assert len(set(ops["thread"].tolist())) == 4
    assert set(ops["kernel"].tolist()) == {int(run.output)}
    assert sorted(ops["grid"][:, 0].tolist()) == sorted([64 * (i + 1) for i in range(1000)] * 4)
    assert set(map(tuple, ops["group"].tolist())) == {(64, 1, 1)}


def test_a_full_queue_behind_a_long_kernel(programs: Path, tmp_path: Path) -> None:
    """Eight threads have more packets than the ring has room for, and nothing leaves it."""
    run = run_on_gpu(
        built("hsa_load.c", programs),
        1,
        8,
        512,
        "none",
        "exit",
        folder=tmp_path,
        WAVESCOPE_SOFTGPU_FAULTS="hang,ms=1500,count=1",
    )

    assert run.code == 0, run.errors
    assert_recorded_is_executed(run)
    assert dispatch_coverage(run.process)["timed"] == 8 * 512


@pytest.mark.parametrize("drift_ppm", [50, -50, 300])
def test_a_drifting_clock(drift_ppm: int, programs: Path, tmp_path: Path) -> None:
    """Half a second of GPU time, over which an uncorrected clock would be off by 25 us or more."""
    run = run_on_gpu(
        built("hsa_load.c", programs),
        1,
        1,
        10000,
        "none",
        "exit",
        folder=tmp_path,
        gpus=2,
        WAVESCOPE_SOFTGPU_KERNEL_NS="50000",
        WAVESCOPE_SOFTGPU_FAULTS=f"clock_drift,ppm={drift_ppm}",
    )

    assert_recorded_is_executed(run)
    assert differences(dispatches_by_queue(run.truth()), traced_dispatches(run.session)) == []


@pytest.mark.parametrize(
    ("mode", "timed", "skipped"),
    [
        ("lite", 600 - 3, {"app_signal": 3}),
        ("standard", 600, {}),
        ("full", 600, {}),
        ("hip", 600, {}),
    ],
)
def test_coverage_tells_what_a_mode_leaves_out(
    mode: str, timed: int, skipped: dict[str, int], programs: Path, tmp_path: Path
) -> None:
    run = run_on_gpu(
        built("hsa_load.c", programs), 1, 1, 600, "none", "exit", folder=tmp_path, mode=mode
    )

    coverage = dispatch_coverage(run.process)
    assert coverage == {
        "packets": 600,
        "seen": 600,
        "timed": timed,
        "skipped": skipped,
        "lost": {},
    }
    assert len(run.process.ops()) == timed
    assert run.process.facts("process")[0]["mode"] == mode


@pytest.mark.parametrize("mode", ["lite", "standard", "full"])
def test_an_application_sees_its_signals_as_without_a_tool(
    mode: str, programs: Path, tmp_path: Path
) -> None:
    program = built("hsa_signals.c", programs)
    (tmp_path / "plain").mkdir()

    plain = run_on_gpu(program, KERNEL_NS, folder=tmp_path / "plain", mode=None)
    run = run_on_gpu(program, KERNEL_NS, folder=tmp_path, mode=mode)

    assert plain.output.splitlines() == [
        "order: 0 late, 0 wrong times",
        "reuse: 0 wrong times",
        "counting: value 0, 0 wrong times",
        "counting: value 0, 0 wrong times",
    ]
    assert (run.code, run.output) == (plain.code, plain.output)
    if mode != "lite":
        if times_shared_signals():
            assert_recorded_is_executed(run)
        coverage = dispatch_coverage(run.process)
        skipped = sum(coverage["skipped"].values())
        assert (coverage["seen"], coverage["timed"]) == (2236, 2236 - skipped)
        # Of each of two signals that 256 count down the last may have it to itself.
        assert skipped in ((0,) if times_shared_signals() else (510, 511, 512))
        kept = np.count_nonzero(run.process.ops()["flags"] & APP_SIGNAL)
        assert kept >= 4 * 256 + 300  # in place, unless the signal is shared


def test_the_first_reading_of_a_clock_tells_its_rate(programs: Path, tmp_path: Path) -> None:
    """Which is all there is of a process that is killed before an op of its is collected."""
    run = run_on_gpu(built("hsa_load.c", programs), 1, 1, 10, "none", "exit", folder=tmp_path)

    first, *later = run.process.facts("clock")
    assert abs(first["ticks_per_second"] - 100_000_000) <= 200  # 2 ppm
    assert all("ticks_per_second" not in fact for fact in later)


def test_forked_children_change_nothing(programs: Path, tmp_path: Path) -> None:
    run = run_on_gpu(built("hsa_forks.c", programs), folder=tmp_path)

    assert run.output == "0 failures\n"
    (parent,) = (process for process in processes(run.session) if len(process.ops()))
    assert differences(dispatches_by_queue(run.truth()), recorded_dispatches(parent)) == []
    assert len(parent.ops()) == 3000
    assert parent.facts("end")[0]["reason"] == "exit"


@pytest.mark.parametrize("others", [(), ("refused",)], ids=["alone", "beside refused ones"])
def test_copies_are_timed_and_sized(
    others: tuple[str, ...], programs: Path, tmp_path: Path
) -> None:
    run = run_on_gpu(built("hsa_copies.c", programs), 25, *others, folder=tmp_path)

    assert (run.code, run.output) == (0, "0 wrong\n")
    copies = run.process.ops()
    assert set(copies["kind"].tolist()) == {COPY}
    copies = np.sort(in_ns(run.process, copies), order="start")
    sizes = [4096 * (i + 1) for i in range(25) for _ in range(3)]
    host = 0xFFFFFFFF
    assert copies["kernel"].tolist() == sizes
    assert copies["grid"][:, :2].tolist() == [[host, 0], [0, 0], [0, host]] * 25
    executed = sorted((op.start_ns, op.end_ns, op.size) for op in run.truth() if op.kind == "copy")
    assert [size for _, _, size in executed] == sizes
    for (start, end, _), copy in zip(executed, copies, strict=True):
        assert abs(start - int(copy["start"])) <= 20
        assert abs(end - int(copy["end"])) <= 20
    (row,) = (row for row in counters(run.process) if row["queue"] == COPIES)
    assert (row["seen"], row["timed"], row["skipped"], row["lost"]) == (75, 75, {}, {})
    assert "invalid" not in run.errors


def test_refused_copies_are_not_counted_while_paused(programs: Path, tmp_path: Path) -> None:
    run = run_on_gpu(
        built("hsa_copies.c", programs), 5, "refused", folder=tmp_path, WAVESCOPE_START_PAUSED="1"
    )

    (row,) = (row for row in counters(run.process) if row["queue"] == COPIES)
    assert (row["seen"], row["timed"], row["skipped"], row["lost"]) == (15, 0, {"paused": 15}, {})


@pytest.mark.parametrize(
    ("shape", "mode"),
    [((1, 4, 1), "standard"), ((2, 2, 2), "standard"), ((1, 2, 2), "full"), ((8, 1, 1), "full")],
)
def test_hip_programs(
    shape: tuple[int, int, int], mode: str, programs: Path, tmp_path: Path
) -> None:
    gpus, streams, threads = shape
    program = built("hip_load.hip", programs)

    run = run_on_gpu(program, streams, threads, 100, 5, folder=tmp_path, gpus=gpus, mode=mode)

    assert_recorded_is_executed(run)
    names = kernel_names(run.process)
    ops = run.process.ops()
    launched = [names[int(op["kernel"])] for op in ops[ops["kind"] == DISPATCH]]
    each = gpus * threads * streams * (25 + 5 * 5)
    for kernel in ("_Z5scalePff", "_ZN5model9attentionEPfi", "_Z4gemmIfLi128EEvPT_"):
        assert launched.count(kernel) == each
    copies = ops[ops["kind"] == COPY]
    assert np.count_nonzero(copies["flags"] & TIMES_LOST) == 0
    assert set(copies["kernel"].tolist()) == {64 << 10}
    facts = {fact["name"]: fact for fact in run.process.facts("kernel")}
    assert facts["_Z5scalePff"]["vgprs"] > 0
    assert facts["_Z5scalePff"]["kernarg_bytes"] >= 12
    assert facts["_Z5scalePff"]["code_object"].startswith(("file://", "memory://"))
    assert len(run.process.facts("agent")) == gpus


KERNELS_OF_HIP = {"__amd_rocclr_fillBufferAligned", "__amd_rocclr_copyBuffer"}
GEMMS = {"void gemm<float, 128>(float*)", "void gemm<int, 64>(int*)"}
SCALE, ATTENTION = "scale(float*, float)", "model::attention(float*, int)"


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ("(?i)GEMM", GEMMS),
        ("(?:scale|attention)\\(", {SCALE, ATTENTION}),
        (r"^[\w]+\(", {SCALE}),
        (r"^void gemm<(float|int), \d+>|scale\(float\*", GEMMS | {SCALE}),
        (r"^model::attention\(float\*, int\)$", {ATTENTION}),
        ("^(?!.*gemm)", {SCALE, ATTENTION}),
        ("^_Z", set()),  # a name is what people read
    ],
)
def test_only_wanted_kernels(
    wanted: str, expected: set[str], programs: Path, tmp_path: Path
) -> None:
    run = run_on_gpu(built("hip_load.hip", programs), 1, 1, 100, 0, folder=tmp_path)
    write_session_facts(run.session, {"kernel_filter": wanted})

    of_kernels = 25 * len(expected)
    with open_trace(run.session) as trace:
        is_kernel = trace.op_kind == 0
        names = np.array(trace.ops.strings("name"))[is_kernel]
        assert set(names.tolist()) - KERNELS_OF_HIP == expected
        assert np.isin(names, list(expected)).sum() == of_kernels
        assert trace.coverage["timed"].sum() == len(names)
        seen = dispatch_coverage(run.process)["seen"]
        assert trace.coverage["seen"].sum() == seen
        assert trace.coverage["skipped"].sum() == seen - len(names)
        reasons = set(trace.coverage.strings("reason")) - {""}  # of queues without dispatches
        assert reasons == {"whose name does not match --kernel"}
        copies = np.count_nonzero(run.process.ops()["kind"] == COPY)
        assert np.count_nonzero(~is_kernel) == copies


def test_a_paused_start_records_nothing_but_counts(programs: Path, tmp_path: Path) -> None:
    run = run_on_gpu(
        built("hsa_load.c", programs),
        1,
        1,
        500,
        "each",
        "exit",
        folder=tmp_path,
        WAVESCOPE_START_PAUSED="1",
    )

    assert len(run.process.ops()) == 0
    coverage = dispatch_coverage(run.process)
    assert (coverage["seen"], coverage["skipped"]) == (500, {"paused": 500})


def test_a_size_limit_is_kept_and_told(programs: Path, tmp_path: Path) -> None:
    run = run_on_gpu(
        built("hsa_load.c", programs),
        1,
        1,
        20000,
        "none",
        "exit",
        folder=tmp_path,
        WAVESCOPE_MAX_BYTES=str(200_000),
    )

    assert run.code == 0
    coverage = dispatch_coverage(run.process)
    recorded = len(run.process.ops())
    assert coverage["timed"] == recorded
    assert 0 < recorded < 200_000 // 64
    assert coverage["lost"] == {"size_limit": 20000 - recorded}
    written = sum(path.stat().st_size for path in run.session.glob("*.ops"))
    assert written <= 200_000


def test_dispatches_without_times_are_told_apart(programs: Path, tmp_path: Path) -> None:
    run = run_on_gpu(
        built("hsa_load.c", programs),
        1,
        1,
        1000,
        "none",
        "exit",
        folder=tmp_path,
        WAVESCOPE_SOFTGPU_FAULTS="lost_timestamps,every=10",
    )

    coverage = dispatch_coverage(run.process)
    assert coverage["lost"] == {"timestamps": 100}
    assert coverage["timed"] == 900
    ops = run.process.ops()
    lost = ops[ops["flags"] & TIMES_LOST != 0]
    assert len(ops) == 1000
    assert len(lost) == 100
    assert set(lost["start"].tolist()) | set(lost["end"].tolist()) == {0}


def run_to_its_end(end: str, programs: Path, folder: Path) -> Run:
    return run_on_gpu(built("hsa_load.c", programs), 1, 1, 3000, "none", end, folder=folder)


def assert_all_is_recorded(run: Run) -> None:
    assert len(run.process.ops()) == 3000
    assert run.process.facts("end")[0]["reason"] == "exit"
    assert run.process.facts("cost")[0]["worker_cpu_ns"] > 0


def assert_only_the_programs_own_signals_are_lost(run: Run) -> None:
    (traced,) = traced_dispatches(run.session).values()
    assert len(run.process.ops()) <= len(traced)
    assert 3000 - len(traced) <= len(range(0, 3000, 256))
    run.process.forget_shared_memory()


@pytest.mark.parametrize("end", ["exit", "shutdown"])
def test_an_orderly_end_leaves_everything(end: str, programs: Path, tmp_path: Path) -> None:
    run = run_to_its_end(end, programs, tmp_path)

    assert run.code == 0
    assert_all_is_recorded(run)


def test_a_quick_exit_leaves_everything(programs: Path, tmp_path: Path) -> None:
    """Which waits a fifth of a second for the collector's thread; a busy machine may need longer."""
    for attempt in range(20):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        run = run_to_its_end("quick", programs, folder)
        assert run.code == 0
        if run.process.facts("cost"):
            break
        assert_only_the_programs_own_signals_are_lost(run)

    assert_all_is_recorded(run)


def test_an_abort_leaves_what_was_complete(programs: Path, tmp_path: Path) -> None:
    run = run_to_its_end("abort", programs, tmp_path)

    assert run.code == -6
    assert run.process.facts("end") == []
    assert_only_the_programs_own_signals_are_lost(run)


def assert_kills_lose_nothing(program: Path, folder: Path, runs: int) -> None:
    """Kill a busy program at random moments: what completed is in the trace, whenever it was."""
    chance = random.Random(20)
    for number in range(runs):
        place = folder / str(number)
        place.mkdir()
        run = kill_when_running(
            program,
            chance.choice((1, 3)),
            chance.choice((1, 2)),
            chance.choice((256, 1000)),
            "barrier",
            "endless",
            folder=place,
            gpus=chance.choice((1, 2)),
            seconds=chance.uniform(0, 0.15),
            WAVESCOPE_SOFTGPU_KERNEL_NS=chance.choice(("2000", "20000")),
        )
        assert run.code == -9
        assert missing_after_kill(run) == 0
        with open_trace(run.session) as trace:
            assert trace.metadata["cut_off_processes"] == str(run.process.pid)
            assert trace.coverage["timed"].sum() == (trace.op_kind == 0).sum()
            lost = trace.coverage["lost"].sum()
            assert trace.coverage["seen"].sum() == trace.coverage["timed"].sum() + lost
        run.process.forget_shared_memory()


def test_a_killed_program_leaves_everything_that_completed(programs: Path, tmp_path: Path) -> None:
    assert_kills_lose_nothing(built("hsa_load.c", programs), tmp_path, 12)


@pytest.mark.slow
def test_two_hundred_kills(programs: Path, tmp_path: Path) -> None:
    assert_kills_lose_nothing(built("hsa_load.c", programs), tmp_path, 200)
