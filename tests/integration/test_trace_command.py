"""`wavescope trace` with the real collector: programs run as if alone, and leave their trace."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from tests.executed import built
from tests.recorded import PATIENCE_S, PROGRAMS, collector
from tests.softgpu_programs import require_softgpu
from tests.traced import assert_same_ops, executed, traced_kernels
from wavescope.formats import open_trace
from wavescope.model.columns import LAUNCHES, LINKS

WAVESCOPE = (sys.executable, "-m", "wavescope")
MARKING = """
    import ctypes, os, signal, subprocess, sys, time
    roctx = ctypes.CDLL(None)
    def push(name): roctx.roctxRangePushA(name.encode())
    def pop(): roctx.roctxRangePop()
    def mark(name): roctx.roctxMarkA(name.encode())
"""


@pytest.fixture(autouse=True)
def _collector_and_own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collector()
    runtime = tmp_path / "runtime"
    runtime.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    monkeypatch.chdir(tmp_path)


def a_program(body: str, name: str = "program.py") -> str:
    path = Path(name)
    path.write_text(textwrap.dedent(MARKING) + textwrap.dedent(body))
    return str(path)


def traced(*arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [*WAVESCOPE, "trace", *arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done


def left() -> list[str]:
    hidden = {"runtime", "program.py"}
    return sorted(path.name for path in Path().iterdir() if path.name not in hidden)


def test_the_tutorials_example_gives_its_markers() -> None:
    done = traced("-o", "trace.db", sys.executable, str(PROGRAMS / "seed_markers.py"))

    with open_trace("trace.db") as trace:
        assert trace.markers.strings("name") == ["prefill", "decode"]
        assert (trace.markers.duration_ns > 0).all()
        assert trace.processes.strings("name") == [Path(sys.executable).name]
        assert trace.metadata["mode"] == "standard"
        assert not list(trace.notes)
    assert left() == ["trace.db"]
    assert done.stdout == ""
    assert "wrote trace.db" in done.stderr
    assert "next: wavescope summary trace.db" in done.stderr


def test_output_arguments_and_exit_code_are_the_programs_own() -> None:
    program = a_program(
        "mark('x'); print(sys.argv[1:]); print('err', file=sys.stderr); sys.exit(9)"
    )
    done = traced("-q", "--", sys.executable, program, "--", "-o", "a b", "--mode", code=9)

    assert done.stdout == "['--', '-o', 'a b', '--mode']\n"
    assert done.stderr == "err\n"
    assert left() == ["trace.db"]


def test_an_option_with_an_optional_value_does_not_take_the_program() -> None:
    program = a_program("mark('x')")
    traced("--perfetto", "-o", "a.db", sys.executable, program)
    traced("--perfetto=b.pftrace", "-o", "b.db", sys.executable, program)

    assert left() == ["a.db", "a.pftrace", "b.db", "b.pftrace"]
    with open_trace("b.pftrace") as timeline:
        assert timeline.markers.strings("name") == ["x"]


def test_json_tells_the_same_to_scripts() -> None:
    done = traced("--json", "-q", sys.executable, a_program("mark('x'); sys.exit(2)"), code=2)
    facts = json.loads(done.stdout)["facts"]

    assert (facts["path"], facts["exit_code"], facts["marker_count"]) == ("trace.db", 2, 1)


def test_nothing_recorded_is_explained_and_the_exit_code_kept() -> None:
    done = traced("sh", "-c", "exit 6", code=6)

    assert "nothing was recorded (exit code 6)" in done.stderr
    assert "no process of the program used a GPU" in done.stderr
    assert left() == []


def test_a_tree_of_processes_is_one_trace() -> None:
    program = a_program(
        """
        push("parent")
        pid = os.fork()
        if pid == 0:
            mark("forked")
            os._exit(0)
        os.waitpid(pid, 0)
        subprocess.run([sys.executable, __file__, "child"]) if len(sys.argv) < 2 else mark("child")
        pop()
        """
    )
    traced(sys.executable, program)

    with open_trace("trace.db") as trace:
        names = sorted(trace.markers.strings("name"))
        assert names == ["child", "forked", "forked", "parent", "parent"]
        assert len(trace.processes) == 4
        parents = dict(
            zip(
                trace.processes["pid"].tolist(), trace.processes["parent_pid"].tolist(), strict=True
            )
        )
        assert sum(parent in parents for parent in parents.values()) == 3


def test_a_killed_program_leaves_everything_before_its_end() -> None:
    program = a_program(
        """
        mark("before")
        push("open range")
        os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    done = traced(sys.executable, program, code=137)

    with open_trace("trace.db") as trace:
        assert trace.markers.strings("name") == ["before", "open range"]
        assert trace.markers["flags"].tolist() == [1, 2]
        assert trace.metadata["program_end"] == "ended by SIGKILL"
        assert "cut_off_processes" in trace.metadata
    assert "was cut off" in done.stderr


INTERRUPTED = """
    count = 0
    def on_interrupt(*_):
        global count
        count += 1
    signal.signal(signal.SIGINT, on_interrupt)
    mark("started")
    print("ready", flush=True)
    deadline = time.monotonic() + 3600
    while not count and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.3)
    mark("interrupted")
    sys.exit(40 + count)
"""


def test_ctrl_c_in_a_terminal_reaches_the_program_once_and_the_trace_is_written() -> None:
    program = a_program(INTERRUPTED)
    child, terminal = pty.fork()
    if child == 0:
        os.execv(sys.executable, [*WAVESCOPE, "trace", sys.executable, program])
    shown = b""
    while b"ready" not in shown:
        shown += os.read(terminal, 1000)
    os.write(terminal, b"\x03")
    _, status = os.waitpid(child, 0)
    os.close(terminal)

    assert os.waitstatus_to_exitcode(status) == 41
    with open_trace("trace.db") as trace:
        assert trace.markers.strings("name") == ["started", "interrupted"]


def test_sigterm_to_the_recorder_ends_the_program_and_writes_the_trace() -> None:
    program = a_program("mark('started'); print('ready', flush=True); time.sleep(3600)")
    recorder = subprocess.Popen(
        [*WAVESCOPE, "trace", "-q", sys.executable, program],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert recorder.stdout is not None
    assert recorder.stdout.readline() == "ready\n"
    recorder.terminate()
    assert recorder.wait(timeout=PATIENCE_S) == 143
    recorder.stdout.close()
    with open_trace("trace.db") as trace:
        assert trace.markers.strings("name") == ["started"]
    assert left() == ["trace.db"]


def test_a_recorder_that_is_killed_leaves_a_session_to_recover() -> None:
    program = a_program(
        "mark('one'); print(os.getpid(), flush=True); sys.stdin.readline(); mark('two')"
    )
    recorder = subprocess.Popen(
        [*WAVESCOPE, "trace", sys.executable, program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert recorder.stdout is not None and recorder.stdin is not None
    recorded = int(recorder.stdout.readline())
    recorder.kill()
    recorder.wait()
    with open_trace(next(Path().glob("trace.db.session-*"))) as trace:
        assert list(trace.notes) == [(f"process {recorded} is still being recorded", 1)]
        assert "cut_off_processes" not in trace.metadata
    recorder.stdin.write("go on\n")
    recorder.stdin.close()
    deadline = time.monotonic() + PATIENCE_S
    while Path(f"/proc/{recorded}").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    recorder.stdout.close()
    (session,) = left()

    done = subprocess.run([*WAVESCOPE, "recover", session, "-o", "back.db"], check=False)

    assert done.returncode == 0
    assert left() == ["back.db", session]
    with open_trace("back.db") as trace:
        assert trace.markers.strings("name") == ["one", "two"]


def test_start_and_stop_from_outside() -> None:
    program = a_program(
        """
        for line in sys.stdin:
            mark(line.strip())
            print(os.getpid(), flush=True)
        """
    )
    recorder = subprocess.Popen(
        [*WAVESCOPE, "trace", "-q", "--start-paused", sys.executable, program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert recorder.stdout is not None and recorder.stdin is not None

    def set_mark(name: str) -> int:
        assert recorder.stdin is not None and recorder.stdout is not None
        recorder.stdin.write(name + "\n")
        recorder.stdin.flush()
        return int(recorder.stdout.readline())

    pid = set_mark("paused")
    subprocess.run([*WAVESCOPE, "start", str(pid), "-q"], check=True)
    set_mark("recorded")
    subprocess.run([*WAVESCOPE, "stop", str(recorder.pid), "-q"], check=True)
    set_mark("paused again")
    recorder.stdin.close()
    assert recorder.wait(timeout=PATIENCE_S) == 0
    recorder.stdout.close()
    with open_trace("trace.db") as trace:
        assert trace.markers.strings("name") == ["recorded"]


def test_each_rank_of_a_job_writes_its_own_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    program = a_program("mark('rank ' + os.environ['OMPI_COMM_WORLD_RANK'])")
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "2")
    for rank in ("0", "1"):
        monkeypatch.setenv("OMPI_COMM_WORLD_RANK", rank)
        named = traced("-o", "t_%rank%.db", sys.executable, program)
        traced("-o", "u.db", sys.executable, program)
        if rank == "0":
            assert "wavescope merge t_*.db -o all.db" in named.stderr

    assert left() == ["t_0.db", "t_1.db", "u_rank0.db", "u_rank1.db"]
    with open_trace("u_rank1.db") as trace:
        assert trace.markers.strings("name") == ["rank 1"]
        assert trace.processes["rank"].tolist() == [1]
        assert trace.processes["world_size"].tolist() == [2]


def test_outputs_are_never_overwritten_without_force() -> None:
    program = a_program("mark('x')")
    Path("trace.db").write_text("mine")
    done = traced(sys.executable, program, code=2)
    assert "already exists" in done.stderr
    assert Path("trace.db").read_text() == "mine"

    traced("--force", sys.executable, program)
    with open_trace("trace.db") as trace:
        assert len(trace.markers) == 1


@pytest.mark.recording
@pytest.mark.parametrize(("mode", "gpus"), [("standard", 1), ("full", 2), ("hip", 2)])
def test_a_hip_program_on_the_software_gpu_is_traced_as_it_ran(
    mode: str, gpus: int, programs: Path
) -> None:
    require_softgpu()
    program = built("hip_load.hip", programs)
    truth = Path("truth.csv").absolute()
    specification = f"--softgpu=gfx90a,gpus={gpus},truth={truth}"
    done = traced(specification, "-m", mode, str(program), "2", "2", "50", "3")

    expected = executed(truth)
    with open_trace("trace.db") as trace:
        ((_, found),) = traced_kernels(trace).items()
        assert_same_ops(found, expected)
        assert trace.coverage["timed"].sum() == len(found)
        assert len(trace.agents) == gpus
        if mode == "hip":
            assert len(trace.table(LINKS)) >= len(found)
            launched = set(trace.table(LAUNCHES).strings("name"))
            assert {"scale(float*, float)", "model::attention(float*, int)"} <= launched
    assert f"timed all {len(expected):,} dispatches" in done.stderr


@pytest.mark.recording
@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("(?i)GEMM", {"void gemm<float, 128>(float*)", "void gemm<int, 64>(int*)"}),
        (
            r"^(?:scale|model::attention)\b",
            {"scale(float*, float)", "model::attention(float*, int)"},
        ),
        (r"^[\w]+\(float\*, float\)$", {"scale(float*, float)"}),
    ],
)
def test_only_kernels_that_match_are_in_the_trace(
    pattern: str, names: set[str], programs: Path
) -> None:
    require_softgpu()
    program = built("hip_load.hip", programs)
    truth = Path("truth.csv").absolute()
    done = traced(
        f"--softgpu=truth={truth}", "--kernel", pattern, str(program), "1", "1", "40", "0"
    )

    everything = executed(truth)
    with open_trace("trace.db") as trace:
        ((_, found),) = traced_kernels(trace).items()
        assert {op[1] for op in found} == names
        assert_same_ops(found, [op for op in everything if op[1] in names])
        assert trace.metadata["kernel_filter"] == pattern
        assert trace.coverage["timed"].sum() == len(found)
        assert trace.coverage["skipped"].sum() == len(everything) - len(found)
    skipped = len(everything) - len(found)
    assert f"{skipped} whose name does not match --kernel" in done.stderr


def test_a_pattern_that_is_none_is_refused_before_the_program_runs() -> None:
    done = traced("--kernel", "(?:", sys.executable, a_program("open('ran', 'w')"), code=2)

    assert "'(?:' is not a regular expression" in done.stderr
    assert left() == []


@pytest.mark.recording
@pytest.mark.parametrize("mode", ["standard", "full"])
def test_several_processes_are_traced_as_each_ran(mode: str, programs: Path) -> None:
    require_softgpu()
    program = built("hip_load.hip", programs)
    specification = f"--softgpu=gfx90a,gpus=2,truth={Path().absolute()}/truth_%p.csv"
    together = f"for i in 1 2 3; do {program} 2 1 40 3 & done; wait"
    traced("-q", specification, "-m", mode, "sh", "-c", together)

    truths = {int(path.stem.partition("_")[2]): path for path in Path().glob("truth_*.csv")}
    with open_trace("trace.db") as trace:
        found = traced_kernels(trace)
        assert set(found) == set(truths)
        assert len(found) == 3
        for pid, ops in found.items():
            assert_same_ops(ops, executed(truths[pid]))
        assert len(trace.agents) == 2  # all saw the same two


def test_the_demo_records_inference_on_two_software_gpus() -> None:
    from wavescope.collect.demo.programs import DEMO_PROGRAMS
    from wavescope.collect.machine import Machine

    (program,) = [program for program in DEMO_PROGRAMS if program.name == "hip"]
    if missing := program.why_not_recordable(Machine()):
        pytest.skip(missing)
    command = [*WAVESCOPE, "demo", "--program", "hip", "-o", "tour", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)["facts"]
    assert facts["gpu_count"] == 2
    assert facts["coverage"].endswith("dispatches timed (100.0 %)")
    with open_trace("tour/trace.db") as trace:
        assert {"prefill", "decode"} <= {name.split()[0] for name in trace.markers.strings("name")}
        assert len(trace.table(LINKS)) > 1000
        assert (trace.ops["marker"] >= 0).mean() > 0.9
