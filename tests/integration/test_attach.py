"""Windows of a running program: each trace holds what ran in its window, and nothing else."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import wavescope
from tests.executed import Truth, built, traced_dispatches
from tests.recorded import PATIENCE_S, collector
from wavescope.collect.running_sessions import ControlPage
from wavescope.collect.windows import attachment
from wavescope.collect.windows.recorded_window import OpenWindow
from wavescope.formats import open_trace

WAVESCOPE = [sys.executable, "-m", "wavescope"]
TOLERANCE_NS = 20
KILLED_TOLERANCE_NS = 100_000  # half a kernel: which op is which
RECORDING_OFFSET = 12


@pytest.fixture(autouse=True)
def _own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collector()
    for variable, name in (("XDG_RUNTIME_DIR", "runtime"), ("TMPDIR", "temporary")):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(variable, str(tmp_path / name))
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built("hsa_load.c", tmp_path_factory.mktemp("programs"))


@dataclass(frozen=True)
class Dormant:
    """A program that runs, recorded only when somebody attaches."""

    runner: subprocess.Popen[str]

    @property
    def session(self) -> Path:
        (folder,) = Path("temporary").glob("wavescope-dormant-*")
        return folder

    def file(self, suffix: str) -> Path:
        (path,) = self.session.glob(f"*.{suffix}")
        return path

    def is_recording(self) -> bool:
        return self.file("control").read_bytes()[RECORDING_OFFSET] != 0

    def end(self, number: int = signal.SIGTERM) -> int:
        self.runner.send_signal(number)
        return self.runner.wait(timeout=PATIENCE_S)


@contextmanager
def dormant(program: Path, *arguments: object, spec: str = "kernel_ns=200000") -> Iterator[Dormant]:
    truth = Path("truth.csv").absolute()
    command = [*WAVESCOPE, "run", "--dormant", "-q", f"--softgpu={spec},truth={truth}", program]
    runner = subprocess.Popen(
        [*command, *map(str, arguments)], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True
    )
    try:
        assert runner.stdout is not None
        assert runner.stdout.readline() == "running\n"
        until(lambda: any(Path("temporary").glob("*/*.ops")))
        yield Dormant(runner)
    finally:
        runner.terminate()
        runner.wait(timeout=PATIENCE_S)
        for pipe in (runner.stdout, runner.stdin):
            assert pipe is not None
            pipe.close()


def until(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def command_line(name: str, *arguments: object) -> list[str]:
    return [*WAVESCOPE, name, *map(str, arguments)]


def attached(pid: int, output: str, duration: str = "200ms") -> dict[str, Any]:
    """What `attach --json` said."""
    done = subprocess.run(
        command_line("attach", pid, "--duration", duration, "-o", output, "--json"),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    facts: dict[str, Any] = json.loads(done.stdout)["facts"]
    return facts


def executed_since(start_ns: int, end_ns: int) -> dict[int, list[Truth]]:
    """What each queue executed, as soon as the log has what started after `end_ns`."""
    until(lambda: last_start_ns() > end_ns)
    return by_queue(start_ns)


def by_queue(start_ns: int) -> dict[int, list[Truth]]:
    """What each queue executed since `start_ns`, in order of time."""
    queues: dict[int, list[Truth]] = defaultdict(list)
    for op in executed():
        if op.start_ns >= start_ns:
            queues[op.queue].append(op)
    return {queue: sorted(ops, key=lambda op: op.start_ns) for queue, ops in queues.items()}


def last_start_ns() -> int:
    """Of the last whole lines of the log, which grows all the time."""
    with Path("truth.csv").open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - 4096))
        lines = file.read().decode().splitlines()[1:-1]
    return max((int(line.split(",")[5]) for line in lines if ",dispatch," in line), default=0)


def executed() -> list[Truth]:
    with Path("truth.csv").open(newline="") as file:
        rows = list(csv.reader(file))[1:]
    return [
        Truth(0, int(row[1]), "dispatch", "", int(row[5]), int(row[6]), 0)
        for row in rows
        if len(row) == 11 and row[3] == "dispatch" and not row[4]
    ]


def assert_is_what_ran(output: str, facts: dict[str, Any]) -> int:
    """Op by op; what was on its way before the window is not in it. The number of ops."""
    start_ns, end_ns = facts["window_start_ns"], facts["window_end_ns"]
    truth = executed_since(start_ns, end_ns)
    traced = traced_dispatches(Path(output))
    assert traced
    for ops in traced.values():
        queue = min(truth, key=lambda queue: nearest(truth[queue], ops[0]))
        ran = [op for op in truth[queue] if op.start_ns > ops[0].start_ns - TOLERANCE_NS]
        ran = [op for op in ran if op.start_ns < end_ns - TOLERANCE_NS or len(ran) == len(ops)]
        assert [
            (op, twin)
            for op, twin in zip(ops, ran, strict=False)
            if abs(op.start_ns - twin.start_ns) > TOLERANCE_NS
            or abs(op.end_ns - op.start_ns - (twin.end_ns - twin.start_ns)) > TOLERANCE_NS
        ] == []
        assert len(ran) <= len(ops) <= len(ran) + 1  # one may start as the window ends
        assert start_ns <= ops[0].start_ns and ops[-1].start_ns < end_ns
    return sum(map(len, traced.values()))


def nearest(ops: list[Truth], wanted: Truth) -> int:
    return min(abs(op.start_ns - wanted.start_ns) for op in ops)


def coverage(output: str) -> tuple[int, int]:
    with open_trace(output) as trace:
        trace.coverage.load("seen", "timed")
        return int(trace.coverage["seen"].sum()), int(trace.coverage["timed"].sum())


def test_each_window_holds_what_ran_in_it_and_earlier_ones_take_no_space(load: Path) -> None:
    with dormant(load, 2, 2, 512, "barrier", "endless") as program:
        assert program.session.stat().st_mode & 0o777 == 0o700
        assert not program.is_recording()
        last_end_ns = 0
        for output in ("first.db", "second.db", "third.db"):
            size = program.file("ops").stat().st_size
            facts = attached(program.runner.pid, output)
            count = assert_is_what_ran(output, facts)
            assert facts["op_count"] == count
            assert facts["coverage"] == f"timed all {count:,} dispatches"
            assert coverage(output) == (count, count)
            assert facts["window_start_ns"] > last_end_ns
            last_end_ns = facts["window_end_ns"]
            assert not program.is_recording()
            assert first_data(program.file("ops")) > size - 4096
        assert program.runner.poll() is None


def first_data(path: Path) -> int:
    """Where the first record that still takes space is; the size when there is none."""
    with path.open("rb") as file:
        try:
            return os.lseek(file.fileno(), 4096, os.SEEK_DATA)
        except OSError:
            return path.stat().st_size


def test_a_program_that_ends_meanwhile_ends_the_window(load: Path) -> None:
    with dormant(load, 1, 1, 256, "barrier", "endless") as program:
        attacher = subprocess.Popen(
            command_line("attach", program.runner.pid, "--duration", "3600s", "--json"),
            stdout=subprocess.PIPE,
            text=True,
        )
        until(lambda: program.file("ops").stat().st_size > 4096)
        session = program.session
        assert program.end() == 128 + signal.SIGTERM
        output, _ = attacher.communicate(timeout=PATIENCE_S)
        assert attacher.returncode == 0
        assert not session.exists()
    (ops,) = traced_dispatches(Path("trace.db")).values()
    ran = [op for op in executed() if op.start_ns > ops[0].start_ns - TOLERANCE_NS]
    # Of a killed program the log may have one whose signal was not completed, and lack the newest.
    assert len(ran) - len(ops) <= 1
    assert json.loads(output)["facts"]["op_count"] == len(ops)
    assert all(
        abs(op.start_ns - twin.start_ns) < KILLED_TOLERANCE_NS
        for op, twin in zip(ops, ran, strict=False)
    )


def test_ctrl_c_ends_the_window_and_not_the_program(load: Path) -> None:
    with dormant(load, 1, 1, 256, "each", "endless") as program:
        attacher = subprocess.Popen(
            command_line("attach", program.runner.pid, "--duration", "3600s", "--json"),
            stdout=subprocess.PIPE,
            text=True,
        )
        until(lambda: program.file("ops").stat().st_size > 4096)
        attacher.send_signal(signal.SIGINT)
        output, _ = attacher.communicate(timeout=PATIENCE_S)
        assert attacher.returncode == 0
        assert assert_is_what_ran("trace.db", json.loads(output)["facts"]) > 0
        assert program.runner.poll() is None
        assert not program.is_recording()


def test_what_goes_wrong_after_a_window_that_ctrl_c_ended_is_said(load: Path) -> None:
    with dormant(load, 1, 1, 256, "each", "endless") as program:
        attacher = subprocess.Popen(
            command_line("attach", program.runner.pid, "--duration", "3600s"),
            stderr=subprocess.PIPE,
            text=True,
        )
        until(lambda: program.file("ops").stat().st_size > 4096)
        Path("trace.db").write_text("somebody's")
        attacher.send_signal(signal.SIGINT)
        _, said = attacher.communicate(timeout=PATIENCE_S)

    assert attacher.returncode == 2
    assert said.splitlines()[-2].startswith("error: trace.db already exists")
    assert Path("trace.db").read_text() == "somebody's"


def refused(*arguments: object) -> str:
    done = subprocess.run(
        command_line(*map(str, arguments)),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 2
    return done.stderr


def test_an_interrupt_right_after_the_beginning_ends_the_window(
    load: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_window = attachment.open_window

    def opened_and_interrupted(page: ControlPage) -> OpenWindow:
        opened = open_window(page)
        signal.raise_signal(signal.SIGINT)
        return opened

    with dormant(load, 1, 1, 256, "barrier", "endless") as program:
        options = wavescope.AttachOptions(program.runner.pid, Path("window.db"), 3_600_000)
        monkeypatch.setattr(attachment, "open_window", opened_and_interrupted)
        attached = wavescope.attach(options)
        assert not program.is_recording()
        assert (attached.is_over, len(attached.pids)) == (False, 1)
        assert attached.end_ns > attached.start_ns
    with open_trace(Path("window.db")) as trace:
        assert trace.metadata["recorded_window"]


def test_an_interrupt_before_the_beginning_leaves_nothing(
    load: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: ControlPage) -> bool:
        signal.raise_signal(signal.SIGINT)
        return False

    with dormant(load, 1, 1, 256, "barrier", "endless") as program:
        options = wavescope.AttachOptions(program.runner.pid, Path("window.db"), 3_600_000)
        monkeypatch.setattr(attachment, "is_recording", interrupted)
        with pytest.raises(KeyboardInterrupt):
            wavescope.attach(options)
        assert not program.is_recording()
    assert not Path("window.db").exists()


def test_a_second_attacher_is_refused_while_the_first_records(load: Path) -> None:
    with dormant(load, 1, 1, 256, "barrier", "endless") as program:
        first = subprocess.Popen(
            command_line("attach", program.runner.pid, "--duration", "3600s", "-q")
        )
        until(program.is_recording)
        errors = refused("attach", program.runner.pid, "-o", "other.db")
        assert "is being recorded by another `wavescope attach`" in errors
        assert program.is_recording()
        first.send_signal(signal.SIGINT)
        assert first.wait(timeout=PATIENCE_S) == 0
        assert not Path("other.db").exists()
        assert "runs dormant" in refused("start", program.runner.pid)
        assert not program.is_recording()


def test_an_attacher_that_is_killed_does_not_leave_the_program_recording(load: Path) -> None:
    with dormant(load, 1, 1, 256, "barrier", "endless") as program:
        attacher = subprocess.Popen(
            command_line("attach", program.runner.pid, "--duration", "3600s")
        )
        until(program.is_recording)
        attacher.kill()
        attacher.wait()
        until(lambda: not program.is_recording())
        assert assert_is_what_ran("next.db", attached(program.runner.pid, "next.db")) > 0


MARKING = """
import sys
import wavescope
for line in sys.stdin:
    with wavescope.range(line.strip()):
        pass
    print(line, end="", flush=True)
"""


@pytest.mark.parametrize("verb", [("run", "--dormant"), ("trace", "--start-paused")])
def test_an_attacher_that_was_stopped_does_not_hold_up_the_end_and_ends_with_its_trace(
    verb: tuple[str, ...],
) -> None:
    Path("program.py").write_text(MARKING)
    recorder = subprocess.Popen(
        command_line(*verb, "-q", sys.executable, "program.py"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert recorder.stdin is not None and recorder.stdout is not None

    def mark(text: str) -> None:
        assert recorder.stdin is not None and recorder.stdout is not None
        recorder.stdin.write(f"{text}\n")
        recorder.stdin.flush()
        assert recorder.stdout.readline() == f"{text}\n"

    mark("before")
    attacher = subprocess.Popen(
        command_line("attach", recorder.pid, "--duration", "3600s", "-q", "-o", "window.db")
    )
    until(lambda: any(map(is_recording, Path().glob("**/*.control"))))
    (session,) = (path.parent for path in Path().glob("**/*.control"))
    mark("within")
    attacher.send_signal(signal.SIGSTOP)
    mark("while it is stopped")
    errors = recorder.communicate(timeout=PATIENCE_S)[1]

    assert recorder.returncode == 0
    assert "note: a `wavescope attach` has not ended: it needs what it recorded, which " in errors
    assert str(session.resolve()) in errors
    assert session.exists()
    attacher.send_signal(signal.SIGCONT)
    assert attacher.wait(timeout=PATIENCE_S) == 0
    assert not session.exists()
    with open_trace("window.db") as trace:
        assert trace.markers.strings("name") == ["within", "while it is stopped"]


def is_recording(control: Path) -> bool:
    return control.read_bytes()[RECORDING_OFFSET] != 0


def test_a_program_that_is_not_there_is_not_said_to_be_dormant() -> None:
    errors = refused("run", "--dormant", "./nosuch")

    assert errors.startswith("error: there is no program './nosuch'\nhint: ")


def test_a_program_without_the_collector_is_refused() -> None:
    with subprocess.Popen(["sleep", "1000"]) as program:
        errors = refused("attach", program.pid)
        program.kill()
    said, hint = errors.splitlines()
    assert said == (
        f"error: process {program.pid} runs without the collector, so neither its GPU's work nor "
        "its markers or calls can be recorded: it has loaded no GPU runtime yet, and what watches "
        "one is loaded when a program starts"
    )
    assert hint == (
        "hint: start it with `wavescope run --dormant CMD`, then attach as often as you like"
    )
    assert "there is no process" in refused("attach", program.pid)


@pytest.mark.parametrize(
    ("library", "reason"),
    [
        ("libhsa-runtime64.so.1.14.60403", "lets a queue be watched only from the moment it is"),
        ("libcuda.so.570.86.15", "loads a tool only at a program's first use of CUDA"),
    ],
)
@pytest.mark.parametrize("is_replaced", [False, True])
def test_why_it_is_too_late_depends_on_the_runtime(
    library: str, reason: str, is_replaced: bool
) -> None:
    Path(library).write_bytes(bytes(4096))
    script = (
        "import mmap, sys\n"
        "file = open(sys.argv[1], 'rb')\n"
        "kept = mmap.mmap(file.fileno(), 4096, prot=mmap.PROT_READ)\n"
        "print('mapped', flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, library], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as program:
        assert program.stdout is not None and program.stdout.readline() == b"mapped\n"
        if is_replaced:  # as by an upgrade, while a server runs
            Path(library).unlink()
        errors = refused("attach", program.pid)
        with pytest.raises(wavescope.WavescopeError, match="runs without the collector"):
            wavescope.attach(program.pid)
    assert f"it has {library} loaded, and " in errors
    assert reason in errors
    assert "hint: start it with `wavescope run --dormant CMD`" in errors
    assert not Path("trace.db").exists()


def test_a_snapshot_holds_what_was_recorded_so_far_and_the_recording_goes_on(load: Path) -> None:
    truth = Path("truth.csv").absolute()
    spec = f"--softgpu=kernel_ns=200000,truth={truth}"
    recorder = subprocess.Popen(
        command_line("trace", "-q", spec, load, 2, 2, 512, "barrier", "endless"),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert recorder.stdout is not None
    recorder.stdout.readline()
    until(lambda: any(path.stat().st_size > 4096 for path in Path().glob("*session*/*.ops")))
    assert "is already being recorded from start to end" in refused(
        "attach", recorder.pid, "-o", "no.db"
    )
    done = subprocess.run(
        command_line("snapshot", recorder.pid, "--json"),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    recorder.terminate()
    assert recorder.wait(timeout=PATIENCE_S) == 128 + signal.SIGTERM
    recorder.stdout.close()
    count = json.loads(done.stdout)["facts"]["op_count"]
    whole = traced_dispatches(Path("trace.db"))
    part = traced_dispatches(Path("snapshot.db"))
    assert 0 < count == sum(map(len, part.values())) < sum(map(len, whole.values()))
    for queue, ops in part.items():
        assert [op.name for op in ops] == [op.name for op in whole[queue][: len(ops)]]
        assert all(
            abs(op.start_ns - twin.start_ns) < KILLED_TOLERANCE_NS
            for op, twin in zip(ops, whole[queue], strict=False)
        )
    with open_trace("snapshot.db") as trace:
        trace.coverage.load("seen", "timed", "lost")
        seen, timed, lost = (int(trace.coverage[name].sum()) for name in ("seen", "timed", "lost"))
        assert timed == count
        assert seen == timed + lost
        assert set(trace.coverage.strings("reason")) <= {"", "not finished yet"}


def test_a_dormant_program_that_nobody_attaches_to_leaves_nothing(load: Path) -> None:
    done = subprocess.run(
        command_line("run", "--dormant", "--softgpu", load, 1, 1, 64, "none", "shutdown"),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0
    assert done.stdout.strip().isdecimal()
    assert "dormant: `wavescope attach" in done.stderr
    assert list(Path("temporary").iterdir()) == []
    assert not Path("trace.db").exists()


def test_markers_of_a_window_are_those_that_overlap_it() -> None:
    script = Path("program.py")
    script.write_text(
        "import sys\n"
        "import wavescope\n"
        "print('running', flush=True)\n"
        "for line in sys.stdin:\n"
        "    with wavescope.range(line.strip()):\n"
        "        print('inside', flush=True)\n"
        "        sys.stdin.readline()\n"
        "    print('outside', flush=True)\n"
    )
    runner = subprocess.Popen(
        command_line("run", "--dormant", "-q", sys.executable, script),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert runner.stdin is not None and runner.stdout is not None

    def tell(line: str) -> str:
        assert runner.stdin is not None and runner.stdout is not None
        runner.stdin.write(line + "\n")
        runner.stdin.flush()
        return runner.stdout.readline()

    assert runner.stdout.readline() == "running\n"
    tell("before")
    tell("close")
    attacher = subprocess.Popen(
        command_line("attach", runner.pid, "--duration", "3600s", "-q"), stdout=subprocess.PIPE
    )
    program = Dormant(runner)
    until(program.is_recording)
    for line in ("whole", "close", "open"):
        tell(line)
    attacher.send_signal(signal.SIGINT)
    attacher.communicate(timeout=PATIENCE_S)
    assert attacher.returncode == 0
    tell("close")
    tell("after")
    runner.stdin.close()
    assert runner.wait(timeout=PATIENCE_S) == 0
    runner.stdout.close()
    with open_trace("trace.db") as trace:
        assert trace.markers.strings("name") == ["whole", "open"]


def test_the_newest_part_is_kept_and_the_rest_is_counted_and_gives_its_space_back(
    load: Path,
) -> None:
    truth = Path("truth.csv").absolute()
    spec = f"--softgpu=kernel_ns=200000,truth={truth}"
    recorder = subprocess.Popen(
        command_line("trace", "-q", "--last", "1s", spec, load, 2, 2, 512, "barrier", "endless"),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert recorder.stdout is not None
    recorder.stdout.readline()
    until(lambda: any(first_data(path) > 65536 for path in Path().glob("*session*/*.ops")))
    subprocess.run(command_line("snapshot", recorder.pid, "-q"), timeout=PATIENCE_S, check=True)
    recorder.terminate()
    assert recorder.wait(timeout=PATIENCE_S) == 128 + signal.SIGTERM
    recorder.stdout.close()
    assert list(Path().glob("*session*")) == []
    fell_out = "older than the newest part, which is all that was to be kept"
    for output in ("snapshot.db", "trace.db"):
        queues = traced_dispatches(Path(output))
        starts = [op.start_ns for ops in queues.values() for op in ops]
        assert max(starts) - min(starts) <= 1_000_000_000
        ran = by_queue(min(starts) - KILLED_TOLERANCE_NS)
        for ops in queues.values():  # nothing is missing between the first and the last
            queue = min(ran, key=lambda queue: nearest(ran[queue], ops[0]))
            last_ns = ops[-1].start_ns + KILLED_TOLERANCE_NS
            first_ns = ops[0].start_ns - KILLED_TOLERANCE_NS
            known = [op for op in ran[queue] if first_ns < op.start_ns < last_ns]
            logged = [op for op in ops if op.start_ns < known[-1].start_ns + KILLED_TOLERANCE_NS]
            assert len(known) == len(logged)
        with open_trace(output) as trace:
            trace.coverage.load("seen", "timed", "skipped", "lost")
            seen, timed, skipped, lost = (
                int(trace.coverage[name].sum()) for name in ("seen", "timed", "skipped", "lost")
            )
            assert timed == len(starts)
            assert seen == timed + skipped + lost
            assert skipped >= 1024
            assert fell_out in trace.coverage.strings("reason")


def test_recording_ends_with_a_marker_and_a_slow_step_leaves_a_snapshot() -> None:
    script = Path("program.py")
    script.write_text(
        "import sys, time\n"
        "import wavescope\n"
        "for line in sys.stdin:\n"
        "    name, seconds = line.split()\n"
        "    with wavescope.range(name):\n"
        "        time.sleep(float(seconds))\n"
        "    print(name, flush=True)\n"
    )
    recorder = subprocess.Popen(
        command_line(
            *("trace", "-q", "--until-marker", "^last$", "--when", "step > 100x median"),
            *(sys.executable, script),
        ),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert recorder.stdin is not None and recorder.stdout is not None

    def step(line: str) -> None:
        assert recorder.stdin is not None and recorder.stdout is not None
        recorder.stdin.write(line + "\n")
        recorder.stdin.flush()
        assert recorder.stdout.readline() == line.split(maxsplit=1)[0] + "\n"

    for _ in range(12):
        step("step 0")
    until(lambda: any(Path().glob("*.session-*/*.control")))
    step("step 2")
    until(Path("trace_slow_1.db").exists)
    step("last 0")
    (control,) = Path().glob("*.session-*/*.control")
    until(lambda: control.read_bytes()[RECORDING_OFFSET] == 0)
    step("unseen 0")
    recorder.stdin.close()
    assert recorder.wait(timeout=PATIENCE_S) == 0
    recorder.stdout.close()
    with open_trace("trace_slow_1.db") as trace:  # of an earlier step, where the machine was slow
        names = trace.markers.strings("name")
        assert names == ["step"] * len(names)
        assert 11 <= len(names) <= 13
    with open_trace("trace.db") as trace:
        assert trace.markers.strings("name") == ["step"] * 13 + ["last"]
