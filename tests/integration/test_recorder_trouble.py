"""When the recorder is in trouble the program is not: its exit code, and what there is, survive."""

from __future__ import annotations

import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.executed import built
from tests.recorded import PATIENCE_S, collector
from tests.softgpu_programs import require_softgpu
from wavescope.formats import open_trace

WAVESCOPE = (sys.executable, "-m", "wavescope")
MARKS = """
import ctypes, sys
roctx = ctypes.CDLL(None)
for number in range(int(sys.argv[1])):
    roctx.roctxMarkA(b"mark %d" % number)
print("done", flush=True)
sys.exit(7)
"""
MARKS_AND_WAITS = """
import ctypes, time
ctypes.CDLL(None).roctxMarkA(b"mark")
print("waits", flush=True)
time.sleep(60)
"""
REMOVES_ITS_SESSION = """
import ctypes, os, shutil, sys
ctypes.CDLL(None).roctxMarkA(b"mark")
shutil.rmtree(os.environ["WAVESCOPE_OUTPUT"])
sys.exit(7)
"""


@pytest.fixture(autouse=True)
def _collector_and_own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collector()
    runtime = tmp_path / "runtime"
    runtime.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    monkeypatch.chdir(tmp_path)


def marks_in(trace: Path) -> int:
    with open_trace(trace) as opened:
        return len(opened.markers)


def finished(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)


def on_small_disk(size: str, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command, in a shell of its own, where the folder `disk` is a disk of that size."""
    apart = ("unshare", "--map-root-user", "--mount", "sh", "-c")
    mount = f"mount -t tmpfs -o size={size} none disk"
    Path("disk").mkdir()
    if finished(*apart, mount).returncode:
        pytest.skip("no small disk can be mounted here")
    return finished(*apart, f"{mount} && {shlex.join(command)}; code=$?; ls disk; exit $code")


def test_a_trace_that_does_not_fit_leaves_exit_code_and_records() -> None:
    program = (sys.executable, "-c", MARKS, "2000")
    done = on_small_disk("300k", *WAVESCOPE, "trace", "-q", "-o", "disk/trace.db", *program)

    assert done.returncode == 7
    first, second = done.stderr.splitlines()
    assert first.startswith("error: the program was recorded, but its records could not be merged")
    hint = re.fullmatch(r"hint: they are kept: wavescope recover (\S+)", second)
    assert hint is not None
    assert done.stdout.splitlines() == ["done", Path(hint.group(1)).name]


def test_a_limit_on_files_that_keeps_the_trace_out_is_named() -> None:
    program = (sys.executable, "-c", MARKS, "2000")
    limited = ("prlimit", "--fsize=100000", *WAVESCOPE, "trace", "-q", "-o", "trace.db", *program)
    done = finished(*limited)

    assert (done.returncode, done.stdout) == (7, "done\n")
    first, second = done.stderr.splitlines()
    assert first.startswith("error: the program was recorded, but its records could not be merged")
    assert first.endswith("; ulimit -f allows no file of more than 100.0 kB")
    assert second.startswith("hint: they are kept: wavescope recover ")


def test_what_a_recorder_within_the_program_recorded_is_said_to_be_there() -> None:
    inner = (*WAVESCOPE, "trace", "-q", "-o", "inner.db", sys.executable, "-c", MARKS, "3")
    done = finished(*WAVESCOPE, "trace", "-q", "-o", "outer.db", *inner)

    assert (done.returncode, done.stdout) == (7, "done\n")
    told = (
        f"a recorder within the program recorded what it started: see {Path('inner.db').absolute()}"
    )
    assert told in done.stderr
    assert "no process of the program used a GPU" not in done.stderr
    assert [path.name for path in sorted(Path().iterdir()) if path.suffix != ""] == ["inner.db"]


def test_who_reads_nothing_of_what_is_said_gets_the_exit_code_and_the_trace() -> None:
    program = (sys.executable, "-c", MARKS, "3")
    heard, said = os.pipe()
    os.close(heard)
    command = [*WAVESCOPE, "trace", "-o", "trace.db", *program]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=said, check=False)
    os.close(said)

    assert (done.returncode, done.stdout) == (7, b"done\n")
    assert marks_in(Path("trace.db")) == 3


def test_a_terminal_that_closes_ends_the_program_that_leads_its_session() -> None:
    recorder, terminal = pty.fork()
    if recorder == 0:
        program = (sys.executable, "-c", MARKS_AND_WAITS)
        os.execv(sys.executable, [*WAVESCOPE, "trace", "-o", "trace.db", *program])
    said = b""
    while b"waits\r\n" not in said:
        said += os.read(terminal, 4096)
    os.close(terminal)
    _, status = os.waitpid(recorder, 0)

    assert os.waitstatus_to_exitcode(status) == 128 + signal.SIGHUP
    assert marks_in(Path("trace.db")) == 1


def test_a_disk_without_any_room_leaves_the_exit_code() -> None:
    program = (sys.executable, "-c", MARKS, "100")
    done = on_small_disk("8k", *WAVESCOPE, "trace", "-q", "-o", "disk/trace.db", *program)

    assert done.returncode == 7
    assert (done.stdout, "nothing was recorded (exit code 7)" in done.stderr) == ("done\n", True)


def test_a_session_that_the_program_removes_is_told(tmp_path: Path) -> None:
    done = finished(*WAVESCOPE, "trace", "-q", sys.executable, "-c", REMOVES_ITS_SESSION)

    assert done.returncode == 7
    first, second = done.stderr.splitlines()
    assert first.startswith("error: the program ran, but its records are gone: somebody removed ")
    assert second.startswith("hint: ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["runtime"]


def is_alive(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.recording
def test_a_daemon_goes_on_recording_where_the_user_was_told(tmp_path: Path) -> None:
    require_softgpu()
    program = built("hsa_daemon.c", tmp_path)
    said_pid, go = tmp_path / "pid", tmp_path / "go"
    command = ("trace", "--softgpu=gfx90a", "-o", "trace.db", str(program), str(said_pid), str(go))
    done = finished(*WAVESCOPE, *command)
    deadline = time.monotonic() + PATIENCE_S
    while not said_pid.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    pid = int(said_pid.read_text())
    try:
        (session,) = tmp_path.glob("trace.db.session-*")
        assert done.returncode == 0
        assert f"note: still running, and recorded into {session}: process" in done.stderr
        assert f"hint: wavescope recover {session} makes a trace" in done.stderr
        assert session.stat().st_mode & 0o777 == 0o700
        go.touch()
        while is_alive(pid) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not is_alive(pid)
    finally:
        if is_alive(pid):
            os.kill(pid, signal.SIGKILL)
    assert session.stat().st_mode & 0o777 == 0o700
    modes = {path.suffix: path.stat().st_mode & 0o777 for path in session.iterdir()}
    assert {suffix: mode for suffix, mode in modes.items() if suffix != ".json"} == dict.fromkeys(
        (".control", ".counters", ".facts", ".ops", ".text"), 0o600
    )

    recovered = finished(*WAVESCOPE, "recover", "-q", str(session), "-o", "later.db")

    assert recovered.returncode == 0, recovered.stderr
    with open_trace("later.db") as trace:
        assert len(trace.ops) == 100
        assert trace.processes["pid"].tolist() == [pid]
        assert trace.metadata["end"] == "exit"
