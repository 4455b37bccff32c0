"""A size limit keeps the newest records: exactly those that ran last, all else counted."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

import wavescope
from tests.executed import (
    Run,
    Truth,
    built,
    dispatch_coverage,
    dispatches_by_queue,
    gpu_environment,
    run_on_gpu,
    traced_dispatches,
)
from tests.recorded import PATIENCE_S, collector
from wavescope.formats import open_trace

pytestmark = pytest.mark.recording

LIMIT = 1_000_000
DISK_LIMIT = LIMIT + LIMIT // 10 + 256 * 1024
"""As docs/attach.md has it."""
OP_BYTES = 64
TOLERANCE_NS = 20
KILLED_TOLERANCE_NS = 1_000
DROPPED = "older than the newest records, which are all that --max-size keeps"
FELL_OUT = "older than the newest part, which is all that was to be kept"
NEWEST = {"WAVESCOPE_MAX_BYTES": str(LIMIT), "WAVESCOPE_KEEP": "newest"}


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built("hsa_load.c", tmp_path_factory.mktemp("programs"))


def disk_bytes(session: Path) -> int:
    """What the files of a session take on the disk."""
    return sum(path.stat().st_blocks * 512 for path in session.iterdir())


@dataclass(frozen=True)
class Coverage:
    """Of all queues together."""

    seen: int
    timed: int
    skipped: int
    lost: int
    reasons: frozenset[str]


def coverage_of(trace: Path) -> Coverage:
    with open_trace(trace) as opened:
        table = opened.coverage
        table.load("seen", "timed", "skipped", "lost", "reason")
        sums = (int(table[name].sum()) for name in ("seen", "timed", "skipped", "lost"))
        return Coverage(*sums, frozenset(table.strings("reason")) - {""})


def assert_adds_up(trace: Path) -> Coverage:
    found = coverage_of(trace)
    assert found.seen == found.timed + found.skipped + found.lost
    return found


def assert_are_the_last(
    traced: dict[tuple[int, int], list[Truth]],
    executed: dict[tuple[int, int], list[Truth]],
    tolerance_ns: int = TOLERANCE_NS,
) -> None:
    """Of each queue that executed something, the end of it was kept, op by op."""
    left = dict(executed)
    for key, ops in traced.items():
        twins = [twin for twin in left if twin[0] == key[0] and len(left[twin]) >= len(ops)]
        twin = min(twins, key=lambda twin: abs(left[twin][-1].start_ns - ops[-1].start_ns))
        last = left.pop(twin)[-len(ops) :]
        assert [
            (op, real)
            for op, real in zip(ops, last, strict=True)
            if abs(op.start_ns - real.start_ns) > tolerance_ns
        ] == []


@pytest.mark.parametrize("interception", ["runtime", "own"])
@pytest.mark.parametrize("gpus", [1, 4])
def test_the_newest_dispatches_are_kept_exactly(
    gpus: int, interception: str, load: Path, tmp_path: Path
) -> None:
    each = 80_000 // gpus
    run = run_on_gpu(
        *(load, 2, 2, each // 2, "none", "exit"),
        folder=tmp_path,
        gpus=gpus,
        **NEWEST,
        WAVESCOPE_INTERCEPTION=interception,
    )

    assert run.code == 0, run.errors
    traced = traced_dispatches(run.session)
    kept = sum(map(len, traced.values()))
    assert_are_the_last(traced, dispatches_by_queue(run.truth()))
    assert LIMIT * 0.8 < kept * OP_BYTES <= LIMIT
    assert dispatch_coverage(run.process)["lost"] == {}
    assert coverage_of(run.session) == Coverage(
        80_000, kept, 80_000 - kept, 0, frozenset({DROPPED})
    )
    assert disk_bytes(run.session) <= DISK_LIMIT
    assert (run.session / f"{run.process.base.name}.ops").stat().st_size > 80_000 * OP_BYTES


def test_dispatches_without_times_are_counted_once(load: Path, tmp_path: Path) -> None:
    run = run_on_gpu(
        *(load, 1, 1, 3_000, "barrier", "exit"),
        folder=tmp_path,
        **{**NEWEST, "WAVESCOPE_MAX_BYTES": "60000"},
        WAVESCOPE_SOFTGPU_FAULTS="lost_timestamps,every=3",
    )

    found = assert_adds_up(run.session)
    assert found.seen == 3_000
    assert found.lost == dispatch_coverage(run.process)["lost"]["timestamps"] > 900
    assert found.reasons == {DROPPED, "for which the GPU left no times"}
    assert 0 < found.timed == sum(map(len, traced_dispatches(run.session).values()))


def test_calls_and_ops_share_the_room(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    program = built("hip_load.hip", tmp_path_factory.mktemp("hip"))
    arguments = (2, 2, 5_000, 0)
    whole = run_on_gpu(program, *arguments, folder=tmp_path, mode="hip")
    with wavescope.open(whole.session) as trace:
        all_calls, all_ops = len(trace.calls), len(trace.ops)
    (tmp_path / "limited").mkdir()

    run = run_on_gpu(program, *arguments, folder=tmp_path / "limited", mode="hip", **NEWEST)

    assert run.code == 0, run.errors
    with wavescope.open(run.session) as trace:
        notes = dict(trace.notes)
        calls, ops = len(trace.calls), len(trace.ops)
        linked = set(trace.links["call"].tolist())
        correlations = sorted(trace.calls["correlation"].tolist())
    assert calls + notes[f"calls that are not in the trace: {DROPPED}"] == all_calls
    found = assert_adds_up(run.session)
    copies = notes.get(f"copies that are not in the trace: {DROPPED}", 0)
    assert ops + found.skipped + copies == all_ops
    assert LIMIT * 0.7 < calls * 96 + ops * OP_BYTES <= LIMIT
    assert correlations[-1] == all_calls  # the newest are there
    assert len(linked) > 0.8 * min(calls, ops)  # and are of the same time
    assert disk_bytes(run.session) <= DISK_LIMIT


def test_less_room_than_is_written_at_once_still_has_the_newest(load: Path, tmp_path: Path) -> None:
    run = run_on_gpu(
        *(load, 1, 1, 20_000, "none", "exit"),
        folder=tmp_path,
        WAVESCOPE_MAX_BYTES="60000",
        WAVESCOPE_KEEP="newest",
    )

    found = assert_adds_up(run.session)
    assert (found.seen, found.lost, found.reasons) == (20_000, 0, {DROPPED})
    assert 300 < found.timed < 60_000 / OP_BYTES
    assert_are_the_last(traced_dispatches(run.session), dispatches_by_queue(run.truth()))


@pytest.mark.parametrize("keep", ["newest", "oldest"])
def test_how_a_process_ended_is_told_whatever_the_limit(
    keep: str, load: Path, tmp_path: Path
) -> None:
    run = run_on_gpu(
        *(load, 1, 1, 2_000, "none", "exit"),
        folder=tmp_path,
        WAVESCOPE_MAX_BYTES="3000",
        WAVESCOPE_KEEP=keep,
    )

    assert [fact["reason"] for fact in run.process.facts("end")] == ["exit"]


def test_a_limit_that_is_not_reached_changes_nothing(load: Path, tmp_path: Path) -> None:
    run = run_on_gpu(load, 1, 1, 5_000, "none", "exit", folder=tmp_path, **NEWEST)

    assert coverage_of(run.session) == Coverage(5_000, 5_000, 0, 0, frozenset())


def test_the_disk_never_holds_more(load: Path, tmp_path: Path) -> None:
    session, most = tmp_path / "session", 0
    with subprocess.Popen(
        [load, "2", "2", "40000", "none", "exit"],
        env=gpu_environment(tmp_path, "standard", 1, dict(NEWEST)),
    ) as program:
        while program.poll() is None:
            if session.exists():
                most = max(most, disk_bytes(session))
            time.sleep(0.001)

    assert LIMIT * 0.9 < max(most, disk_bytes(session)) <= DISK_LIMIT
    assert assert_adds_up(session).seen == 80_000


@pytest.mark.parametrize("op_bytes", [1_000_000, 3_000_000])
def test_after_a_kill_the_newest_are_there_and_the_rest_is_counted(
    op_bytes: int, load: Path, tmp_path: Path
) -> None:
    settings = {
        **NEWEST,
        "WAVESCOPE_MAX_BYTES": "200000",
        "WAVESCOPE_SOFTGPU_KERNEL_NS": "2000",
    }
    with subprocess.Popen(
        [load, "2", "2", "512", "barrier", "endless"],
        env=gpu_environment(tmp_path, "standard", 2, settings),
        stdout=subprocess.DEVNULL,
    ) as program:
        try:
            until(lambda: has_dropped(tmp_path / "session", op_bytes))
        finally:
            program.kill()
    run = Run(program.returncode, "", "", tmp_path / "session", tmp_path / "truth.csv")
    wavescope.recover(run.session, tmp_path / "trace.db")

    for trace in (run.session, tmp_path / "trace.db"):
        assert_is_an_end_of_what_ran(run, traced_dispatches(trace))
        found = assert_adds_up(trace)
        assert DROPPED in found.reasons
        assert found.timed == sum(map(len, traced_dispatches(trace).values()))


def assert_is_an_end_of_what_ran(run: Run, traced: dict[tuple[int, int], list[Truth]]) -> None:
    """Nothing is missing from the first that was kept on; the log may lack the very last."""
    executed = dispatches_by_queue(run.truth())
    for key, ops in traced.items():
        twins = [twin for twin in executed if twin[0] == key[0]]

        def distance(twin: tuple[int, int], first: Truth = ops[0]) -> int:
            return min(abs(op.start_ns - first.start_ns) for op in executed[twin])

        ran = executed[min(twins, key=distance)]
        ran = [op for op in ran if op.start_ns >= ops[0].start_ns - KILLED_TOLERANCE_NS]
        common = min(len(ran), len(ops))
        assert len(ran) - common <= 1  # one may not have completed its signal
        assert all(
            abs(op.start_ns - real.start_ns) <= KILLED_TOLERANCE_NS * 100
            for op, real in zip(ops[:common], ran[:common], strict=True)
        )


@contextmanager
def recorded(*arguments: object) -> Iterator[subprocess.Popen[str]]:
    """`wavescope trace` of an endless program, ended when the block is."""
    recorder = subprocess.Popen(
        [sys.executable, "-m", "wavescope", "trace", "-q", *map(str, arguments)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert recorder.stdout is not None
        assert recorder.stdout.readline() == "running\n"
        yield recorder
        recorder.terminate()
        assert recorder.wait(timeout=PATIENCE_S) == 128 + signal.SIGTERM
    finally:
        recorder.terminate()  # with its program, which a kill would leave
        with suppress(subprocess.TimeoutExpired):
            recorder.wait(timeout=PATIENCE_S)
        recorder.kill()
        recorder.wait()
        assert recorder.stdout is not None
        recorder.stdout.close()


def until(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collector()
    (tmp_path / "runtime").mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.chdir(tmp_path)


def has_dropped(session: Path, op_bytes: int) -> bool:
    """Whether so many bytes of ops, more than there is room for, were written."""
    return any(
        path.stat().st_size > op_bytes and path.stat().st_blocks * 512 < path.stat().st_size
        for path in session.glob("*.ops")
    )


ENDLESS = (2, 2, 512, "barrier", "endless")


@pytest.mark.usefixtures("own_folders")
def test_snapshots_and_readers_of_a_recording_that_drops_all_the_time(load: Path) -> None:
    with recorded("--max-size", "300k", "--softgpu=kernel_ns=2000", load, *ENDLESS) as recorder:
        (session,) = Path().glob("*session*")
        until(lambda: has_dropped(session, 3 * 300_000))
        for number in range(5):
            wavescope.snapshot(recorder.pid, f"{number}.db")
            found = assert_adds_up(Path(f"{number}.db"))
            assert found.reasons <= {DROPPED, "not finished yet"}
            # Room may just have been made for records that the snapshot finds on their way.
            assert found.timed + found.lost > 0.5 * 300_000 / OP_BYTES
            with wavescope.open(session) as trace:
                starts, ends = trace.ops["start_ns"], trace.ops["end_ns"]
                assert len(starts) == len(ends) == len(trace.ops.strings("name")) > 0
            assert_adds_up(session)
    assert assert_adds_up(Path("trace.db")).reasons >= {DROPPED}
    with open_trace("trace.db") as trace:
        assert trace.metadata["kept_newest"] == "300.0 kB of each process"


@pytest.mark.usefixtures("own_folders")
@pytest.mark.parametrize(
    ("last", "size", "reason"), [("1s", "1G", FELL_OUT), ("3600s", "300k", DROPPED)]
)
def test_of_two_limits_the_smaller_one_counts(
    last: str, size: str, reason: str, load: Path
) -> None:
    options = ("--last", last, "--max-size", size, "--softgpu=kernel_ns=100000")
    with recorded(*options, load, *ENDLESS):
        until(
            lambda: any(
                path.stat().st_blocks * 512 < path.stat().st_size - 65536
                for path in Path().glob("*session*/*.ops")
            )
        )

    found = assert_adds_up(Path("trace.db"))
    assert reason in found.reasons
    assert found.timed == sum(map(len, traced_dispatches(Path("trace.db")).values()))


@pytest.mark.usefixtures("own_folders")
def test_both_limits_at_work_count_each_dispatch_once(load: Path) -> None:
    options = ("--last", "1s", "--max-size", "100k", "--softgpu=kernel_ns=200000")
    with recorded(*options, load, *ENDLESS) as recorder:
        until(has_dropped_much)
        wavescope.snapshot(recorder.pid, "snapshot.db")
    for trace in ("snapshot.db", "trace.db"):
        assert_adds_up(Path(trace))


@pytest.mark.usefixtures("own_folders")
def test_all_that_fell_out_of_the_last_seconds_is_counted_or_noted(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    program = built("hip_load.hip", tmp_path_factory.mktemp("hip"))
    (tmp_path / "whole").mkdir()
    whole = run_on_gpu(program, 2, 2, 5_000, 0, folder=tmp_path / "whole", mode="hip")
    with wavescope.open(whole.session) as trace:
        calls, ops = len(trace.calls), len(trace.ops)
    script = f"{program} 2 2 5000 0; sleep 2.5"
    options = wavescope.RecordOptions(
        ("sh", "-c", script), mode=wavescope.RecordMode.HIP, softgpu="", last_ms=1_000
    )

    wavescope.record(options)

    with open_trace("trace.db") as trace:
        assert (len(trace.calls), len(trace.ops)) == (0, 0)
        notes = dict(trace.notes)
    found = assert_adds_up(Path("trace.db"))
    # HIP 7.2 copies by a kernel now and then what it mostly copies otherwise.
    copies = notes[f"copies that are not in the trace: {FELL_OUT}"]
    assert copies > 0
    assert found.skipped + copies == ops
    assert notes.get(f"calls that are not in the trace: {FELL_OUT}") == calls


def has_dropped_much() -> bool:
    return any(path.stat().st_size > 2_000_000 for path in Path().glob("*session*/*.ops"))


@pytest.mark.usefixtures("own_folders")
def test_the_limit_is_one_for_each_process(load: Path) -> None:
    command = f"{load} 1 1 20000 none exit & {load} 1 1 20000 none exit; wait"
    options = wavescope.RecordOptions(
        ("sh", "-c", command), softgpu="", max_bytes=300_000, keep_chunks=True
    )
    done = wavescope.record(options)

    assert done.end.exit_code == 0
    with open_trace("trace.db") as trace:
        processes = trace.ops["process"].tolist()
    counts = [processes.count(index) for index in set(processes)]
    assert len(counts) == 2
    assert all(0.6 * 300_000 < count * OP_BYTES <= 300_000 for count in counts)
    assert assert_adds_up(Path("trace.db")).seen == 40_000


@pytest.mark.usefixtures("own_folders")
def test_the_oldest_are_kept_where_that_is_asked_for(load: Path) -> None:
    options = wavescope.RecordOptions(
        (str(load), "1", "1", "20000", "none", "exit"),
        softgpu="",
        max_bytes=300_000,
        keep=wavescope.Keep.OLDEST,
    )
    wavescope.record(options)

    found = assert_adds_up(Path("trace.db"))
    assert found.reasons == {"after the size limit was reached: raise --max-size"}
    assert found.lost == 20_000 - found.timed > 0
