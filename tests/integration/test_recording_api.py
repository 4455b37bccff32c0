"""Recording from Python: the functions that the commands call, with the values that come back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pytest

import wavescope
from tests.recorded import PATIENCE_S, collector
from tests.softgpu_programs import require_softgpu
from wavescope.errors import MachineError, OutputExistsError, UsageError

MARKS = "import ctypes, sys; ctypes.CDLL(None).roctxMarkA(b'mark'); sys.exit(5)"
TICKS = """
import ctypes, pathlib, time
roctx = ctypes.CDLL(None)
count = 0
while not pathlib.Path("stop").exists():
    roctx.roctxMarkA(b"tick")
    count += 1
    pathlib.Path("ticks.new").write_text(str(count))
    pathlib.Path("ticks.new").replace("ticks")
    time.sleep(0.001)
"""
T = TypeVar("T")


@pytest.fixture(autouse=True)
def _own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collector()
    for variable, name in (("XDG_RUNTIME_DIR", "runtime"), ("TMPDIR", "temporary")):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(variable, str(tmp_path / name))
    monkeypatch.chdir(tmp_path)


def marker_names(path: Path | str | None) -> list[str]:
    assert path is not None
    with wavescope.open(path) as trace:
        return trace.markers.strings("name")


def eventually(attempt: Callable[[], T | None]) -> T:
    """What `attempt` gives as soon as it does; a loaded machine is no failure."""
    deadline = time.monotonic() + PATIENCE_S
    while (found := attempt()) is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return found


def ticks() -> int:
    return int(Path("ticks").read_text()) if Path("ticks").exists() else 0


def wait_for_ticks(more: int) -> None:
    wanted = ticks() + more
    eventually(lambda: True if ticks() >= wanted else None)


@contextmanager
def ticking(*command: str) -> Iterator[subprocess.Popen[bytes]]:
    """A program that sets marks until the block ends, under a command of wavescope's."""
    runner = subprocess.Popen(
        [sys.executable, "-m", "wavescope", *command, sys.executable, "-c", TICKS],
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for_ticks(1)
        yield runner
    finally:
        Path("stop").touch()
        assert runner.wait(PATIENCE_S) == 0


def test_a_command_becomes_a_trace() -> None:
    recording = wavescope.record([sys.executable, "-c", MARKS])

    assert recording.end.exit_code == 5
    assert recording.output == Path("trace.db")
    assert marker_names(recording.output) == ["mark"]
    assert recording.empty_because == ()


def test_options_name_the_trace_and_a_timeline() -> None:
    options = wavescope.RecordOptions(
        (sys.executable, "-c", MARKS), Path("t_%p.db"), timeline=Path("t_%p.pftrace")
    )

    recording = wavescope.record(options)

    assert recording.output == Path(f"t_{os.getpid()}.db")
    assert Path(f"t_{os.getpid()}.pftrace").stat().st_size > 0


def test_an_empty_recording_says_why() -> None:
    recording = wavescope.record(["true"])

    assert recording.output is None
    assert "no process of the program used a GPU" in recording.empty_because[0]
    assert not Path("trace.db").exists()


@pytest.mark.parametrize(
    "values",
    [
        {"command": ()},
        {"kernel": "("},
        {"until_marker": "("},
        {"when": "step > median"},
        {"command": ("python3", "-I", "x.py"), "torch": True},
    ],
)
def test_options_that_cannot_be_meant_are_refused(values: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        wavescope.RecordOptions(**{"command": ("true",), **values})  # type: ignore[arg-type]


def test_outputs_that_exist_are_refused_before_the_program_runs() -> None:
    Path("x.pftrace").touch()
    options = wavescope.RecordOptions(("touch", "ran"), timeline=Path("x.pftrace"))

    with pytest.raises(OutputExistsError):
        wavescope.record(options)

    assert not Path("ran").exists()


def test_what_a_recording_left_is_recovered() -> None:
    command = (sys.executable, "-c", MARKS)
    recording = wavescope.record(wavescope.RecordOptions(command, keep_chunks=True))
    assert recording.kept_session is not None

    recovered = wavescope.recover(recording.kept_session, "again.db")

    assert recovered.output == Path("again.db")
    assert marker_names("again.db") == ["mark"]


def test_a_recording_is_resumed_snapshot_and_paused_from_outside() -> None:
    def resumed() -> tuple[int, ...] | None:
        try:
            return wavescope.resume_process(runner.pid)
        except UsageError:  # the program has not told the recorder of itself yet
            return None

    with ticking("trace", "-o", "whole.db", "--start-paused") as runner:
        pids = eventually(resumed)
        wait_for_ticks(3)
        taken = wavescope.snapshot(runner.pid, "now.db")
        assert wavescope.pause_process(runner.pid) == pids

    assert taken.pids == pids
    assert set(marker_names(taken.output)) == {"tick"}
    assert len(marker_names("whole.db")) >= len(marker_names("now.db"))


def test_pause_and_resume_are_commands_and_have_their_old_names() -> None:
    def told(name: str) -> dict[str, object]:
        command = [sys.executable, "-m", "wavescope", name, str(runner.pid), "--json"]
        done = subprocess.run(command, capture_output=True, timeout=PATIENCE_S, check=True)
        facts: dict[str, object] = json.loads(done.stdout)["facts"]
        return facts

    with ticking("trace") as runner:
        pids = ", ".join(map(str, wavescope.pause_process(runner.pid)))
        assert told("resume") == told("start") == {"recording": True, "pids": pids}
        assert told("pause") == told("stop") == {"recording": False, "pids": pids}


def test_a_window_of_a_dormant_program() -> None:
    with ticking("run", "--dormant") as runner:
        options = wavescope.AttachOptions(runner.pid, Path("window.db"), duration_ms=1)

        attached = wavescope.attach(options, begun=lambda: wait_for_ticks(3))

        assert not attached.is_over
    names = marker_names(attached.output)
    assert len(names) >= 2
    assert set(names) == {"tick"}
    assert attached.end_ns > attached.start_ns


def test_what_is_not_recorded_cannot_be_paused() -> None:
    with pytest.raises(UsageError, match="no recording of process"):
        wavescope.pause_process(os.getpid())


def test_a_dormant_program_ends_with_its_own_code() -> None:
    said: list[str] = []

    run = wavescope.run_dormant(["sh", "-c", "exit 3"], tell=said.append)

    assert (run.end.exit_code, run.running) == (3, ())
    assert said == [
        f"dormant: `wavescope attach {os.getpid()} --duration 10s` records it for 10 seconds"
    ]


def test_the_cost_of_recording_is_measured_and_kept() -> None:
    options = wavescope.OverheadOptions(
        ("true",), modes=(wavescope.RecordMode.LITE,), rounds=2, warm_ups=0
    )
    heard: list[tuple[int, int]] = []

    measured = wavescope.overhead(
        options, save="now.json", page="now.html", hear=lambda _, done, of: heard.append((done, of))
    )

    assert measured.table("overhead").column("mode") == ["lite"]
    assert heard == [(number, 4) for number in range(1, 5)]
    assert Path("now.html").read_text().startswith("<!DOCTYPE html>")
    kept = wavescope.overhead("now.json")
    assert kept.table("overhead").rows == measured.table("overhead").rows


def test_this_machine_is_checked() -> None:
    result = wavescope.doctor()

    assert result.facts["analysis"] == "ready"
    states = dict(zip(*(result.table("checks").column(n) for n in ("check", "state")), strict=True))
    assert states["collector"] == "ok"


def test_variables_of_the_software_gpu() -> None:
    require_softgpu()

    variables = wavescope.softgpu_environment("gfx90a,gpus=2")

    assert variables["WAVESCOPE_SOFTGPU_GPUS"] == "2"
    assert "libwavescope_softgpu.so" in variables["LD_PRELOAD"]
    assert wavescope.softgpu_command(["prog"], wavescope.SoftGpuOptions()) == ["prog"]


def test_a_model_into_a_folder_that_is_not_there() -> None:
    with pytest.raises(MachineError, match=r"cannot write nowhere/model\.gguf") as caught:
        wavescope.write_tiny_model("nowhere/model.gguf")

    assert "folder" in caught.value.hint
