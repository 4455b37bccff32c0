"""Raw HSA programs on the software GPU, below the unmodified runtime."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from tests.runtimes import behaviour, require
from tests.softgpu_programs import (
    PROGRAMS,
    Ran,
    compiled,
    on_softgpu,
    require_softgpu,
)

pytestmark = pytest.mark.recording

CLOCK_TICK_NS = 10
"""The GPU's counter runs at 100 MHz; the runtime converts with floating point on top."""


@pytest.fixture(scope="module")
def hsa_ops(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require_softgpu()
    return compiled(PROGRAMS / "hsa_ops.c", tmp_path_factory)


def run(folder: Path, options: list[str], *command: str | Path) -> Ran:
    ran = on_softgpu(folder, options, *command)
    assert ran.code == 0, ran.err
    return ran


@pytest.mark.parametrize("chip", behaviour().chips)
def test_every_chip_is_an_agent(hsa_ops: Path, tmp_path: Path, chip: str) -> None:
    ran = run(tmp_path, ["--chip", chip, "--gpus", "2"], hsa_ops, "agents")

    names = [line.split(",")[:2] for line in ran.out.splitlines()]
    assert names == [[chip, f"Software {chip}"]] * 2


@pytest.mark.parametrize("gpus", [1, 2, 8, 16])
def test_timestamps_are_those_of_the_truth_log(hsa_ops: Path, tmp_path: Path, gpus: int) -> None:
    ran = run(tmp_path, ["--gpus", str(gpus), "--kernel-ns", "5000"], hsa_ops, "dispatches", "50")

    truth = {(op.gpu, op.signal): op for op in ran.ops if op.kind == "dispatch"}
    rows = ran.rows()
    assert len(rows) == 50 * gpus == len(truth)
    for gpu, signal, start, end in rows:
        op = truth[gpu, signal]
        assert abs(start - op.start_ns) <= 2 * CLOCK_TICK_NS
        assert abs(end - start - 5000) <= 2 * CLOCK_TICK_NS
        assert op.duration_ns == 5000


def test_dispatches_of_a_queue_do_not_overlap(hsa_ops: Path, tmp_path: Path) -> None:
    ops = run(tmp_path, ["--kernel-ns", "exponential:3000"], hsa_ops, "dispatches", "300").ops

    dispatches = sorted((op for op in ops if op.kind == "dispatch"), key=lambda op: op.packet)
    assert [op.packet for op in dispatches] == list(range(300))
    assert all(a.end_ns <= b.start_ns for a, b in pairwise(dispatches))
    assert all(op.end_ns <= op.completed_ns for op in dispatches)
    assert all(a.completed_ns <= b.completed_ns for a, b in pairwise(dispatches))
    assert 2000 < sum(op.duration_ns for op in dispatches) / 300 < 4000


def test_drawn_durations_depend_on_the_seed_only(hsa_ops: Path, tmp_path: Path) -> None:
    def durations(folder: str, seed: str) -> list[int]:
        (tmp_path / folder).mkdir()
        options = ["--kernel-ns", "lognormal:4000:0.3", "--seed", seed]
        ops = run(tmp_path / folder, options, hsa_ops, "dispatches", "40").ops
        return [op.duration_ns for op in ops if op.kind == "dispatch"]

    first = durations("first", "7")
    assert first == durations("again", "7")
    assert first != durations("other", "8")


@pytest.mark.parametrize(
    ("subject", "gpus"),
    [
        ("barriers", 2),
        ("handlers", 1),
        ("shaders", 1),
        ("many_queues", 2),
        ("producers", 1),
        ("restarts", 1),
    ],
)
def test_the_program_finds_everything_right(
    hsa_ops: Path, tmp_path: Path, subject: str, gpus: int
) -> None:
    require(subject)
    run(tmp_path, ["--gpus", str(gpus)], hsa_ops, subject, "1000")


def test_copies_are_right_and_logged(hsa_ops: Path, tmp_path: Path) -> None:
    ran = run(tmp_path, ["--gpus", "2"], hsa_ops, "copies")

    copied = {op.signal: op for op in ran.ops if op.kind in {"copy", "dispatch"}}
    rows = ran.rows()
    assert len(rows) == 5
    for size, signal, start, end in rows:
        op = copied[signal]
        assert op.bytes == (size if op.kind == "copy" else 0)
        assert abs(start - op.start_ns) <= 2 * CLOCK_TICK_NS
        assert abs(end - op.end_ns) <= 2 * CLOCK_TICK_NS
        if op.kind == "copy":  # 1 us, then 32 bytes per ns; it is cut into packets
            assert abs(op.duration_ns - (1000 + size // 32)) <= 2
    assert {op.kind for op in copied.values()} == {"copy", "dispatch"}


def test_a_bad_packet_reaches_the_error_callback(hsa_ops: Path, tmp_path: Path) -> None:
    assert run(tmp_path, [], hsa_ops, "bad_packet").out == "0x1009\n"


def test_doorbells_can_be_made_necessary(hsa_ops: Path, tmp_path: Path) -> None:
    assert run(tmp_path, [], hsa_ops, "doorbell", "120000").out == "1\n"
    strict = on_softgpu(
        tmp_path, [], "env", "WAVESCOPE_SOFTGPU_STRICT_DOORBELL=1", hsa_ops, "doorbell", "50"
    )
    assert (strict.code, strict.out) == (0, "0\n")


@pytest.mark.parametrize(
    ("fault", "status"),
    [("fail", "0x2a"), ("queue_error", "0x1009"), ("fail,code=18", "0x1010")],
)
def test_faults_that_stop_the_queue(hsa_ops: Path, tmp_path: Path, fault: str, status: str) -> None:
    ran = run(tmp_path, ["--fault", fault], hsa_ops, "failing")

    assert ran.out.strip() == status
    assert ran.ops == []


def test_a_hang_lengthens_the_kernels_it_hits(hsa_ops: Path, tmp_path: Path) -> None:
    fault = "hang,ms=3,after=2,every=5,count=2"
    ran = run(tmp_path, ["--fault", fault, "--kernel-ns", "1000"], hsa_ops, "dispatches", "20")

    longer = {op.packet: op.fault for op in ran.ops if op.duration_ns == 3_001_000}
    assert longer == {2: "hang", 7: "hang"}
    assert sum(op.duration_ns == 1000 for op in ran.ops) == 18
    assert [row[3] - row[2] > 2_900_000 for row in ran.rows()].count(True) == 2


def test_a_kernel_may_hang_for_ever(hsa_ops: Path, tmp_path: Path) -> None:
    assert run(tmp_path, ["--fault", "hang"], hsa_ops, "endless").ops == []


def test_a_kernel_that_hangs_holds_up_its_own_queue_only(hsa_ops: Path, tmp_path: Path) -> None:
    ops = run(tmp_path, ["--fault", "hang,count=1"], hsa_ops, "beside").ops

    assert len(ops) == 100
    assert len({op.queue for op in ops}) == 1


def test_timestamps_may_be_lost_equal_or_reversed(hsa_ops: Path, tmp_path: Path) -> None:
    faults = "equal_timestamps,after=1,count=1", "reversed_timestamps,after=2,count=1"
    options = [part for fault in faults for part in ("--fault", fault)]
    rows = run(tmp_path, options, hsa_ops, "dispatches", "4").rows()

    assert [end - start for _, _, start, end in rows] == pytest.approx(
        [2000, 0, -2000, 2000], abs=20
    )


def test_lost_timestamps_are_said_to_be_invalid(hsa_ops: Path, tmp_path: Path) -> None:
    ran = run(tmp_path, ["--fault", "lost_timestamps,count=1"], hsa_ops, "dispatches", "2")

    assert ran.err.count("time stamps may be invalid") == 1
    assert ran.ops[0].fault == "lost_timestamps"
    assert ran.ops[1].fault == ""


def test_an_interrupt_may_come_late(hsa_ops: Path, tmp_path: Path) -> None:
    # The runtime waits for the interrupt only after it has looked at the signal for a while itself.
    options = ["--fault", "slow_interrupt,us=80000", "--kernel-ns", "800000000"]
    ran = run(tmp_path, options, hsa_ops, "interrupt", "75000")

    assert int(ran.out) >= 75_000


def test_a_drifting_clock_is_converted_back(hsa_ops: Path, tmp_path: Path) -> None:
    options = ["--fault", "clock_drift,ppm=50", "--kernel-ns", "5000"]
    ran = run(tmp_path, options, hsa_ops, "dispatches", "50")

    truth = {op.signal: op for op in ran.ops}
    for _, signal, start, end in ran.rows():
        assert abs(start - truth[signal].start_ns) < 1000
        assert abs(end - start - 5000) <= 2 * CLOCK_TICK_NS


def test_a_jumping_clock_shows_in_what_the_runtime_reports(hsa_ops: Path, tmp_path: Path) -> None:
    difference_ns = 0
    for seconds in (
        1,
        5,
        25,
    ):  # later, should a busy machine not have begun before the clock jumped
        folder = tmp_path / str(seconds)
        folder.mkdir()
        jump = f"clock_jump,at_ms={1000 * seconds},by_us=50000"
        hang = f"hang,ms={1000 * seconds + 1000},after=1,count=1"
        ran = run(folder, ["--fault", jump, "--fault", hang], hsa_ops, "dispatches", "2")
        _, (_, _, start, end) = ran.rows()
        length_ns = ran.ops[1].duration_ns
        assert length_ns == 1_000_000_000 * seconds + 1_000_002_000
        difference_ns = abs(end - start - length_ns)
        if difference_ns > 1_000 * CLOCK_TICK_NS:
            break

    # The runtime spreads the jump as it converts; without one both agree within a few ticks.
    assert difference_ns > 1_000 * CLOCK_TICK_NS


def test_a_wrong_variable_is_explained(hsa_ops: Path, tmp_path: Path) -> None:
    ran = on_softgpu(tmp_path, ["--fault", "explode"], hsa_ops, "agents")

    assert ran.code == 1
    assert "WAVESCOPE_SOFTGPU_FAULTS=explode: there is no fault 'explode'" in ran.err


def test_exit_codes_and_signals_are_the_programs_own(tmp_path: Path) -> None:
    require_softgpu()

    assert on_softgpu(tmp_path, [], "sh", "-c", "exit 17").code == 17
    assert on_softgpu(tmp_path, [], "sh", "-c", "kill -TERM $$").code == -15
    missing = on_softgpu(tmp_path, [], "no-such-program-here")
    assert missing.code == 2
    assert "cannot run no-such-program-here" in missing.err
