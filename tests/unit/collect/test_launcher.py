"""The program's end, its signals and its family."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from wavescope.collect.launcher import ProgramEnd, descendants, launch
from wavescope.errors import UsageError

READY_LINE = "ready\n"
FOREVER = "while :; do sleep 0.01; done"
PATIENCE_S = 120
"""How long to wait for what comes for sure: a loaded machine is no failure."""


@pytest.mark.parametrize(
    ("script", "code", "words"),
    [
        ("exit 0", 0, "exit code 0"),
        ("exit 7", 7, "exit code 7"),
        ("kill -TERM $$", 143, "ended by SIGTERM"),
        ("kill -KILL $$", 137, "ended by SIGKILL"),
    ],
)
def test_the_end_of_the_program_is_its_own(script: str, code: int, words: str) -> None:
    end = launch(["sh", "-c", script], os.environ)

    assert (end.exit_code, end.words) == (code, words)


def test_the_end_is_noticed_when_another_thread_takes_its_signal(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    go_on = tmp_path / "go on"
    asked: list[int] = []

    def ends_right_afterwards(process: int, flags: int) -> tuple[int, int]:
        """Still runs when asked first, and has ended before anybody waits for a signal."""
        found = waitpid(process, flags)
        if not asked and flags == os.WNOHANG:
            assert found == (0, 0)
            asked.append(process)
            go_on.touch()
            while _is_alive(process):
                time.sleep(0.01)
            time.sleep(0.1)
        return found

    waitpid = os.waitpid
    monkeypatch.setattr(os, "waitpid", ends_right_afterwards)
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    try:
        program = 'while [ ! -e "$1" ]; do sleep 0.01; done; exit 6'
        end = launch(["sh", "-c", program, "sh", str(go_on)], os.environ)
    finally:
        stop.set()
        thread.join()
    assert (end.exit_code, len(asked)) == (6, 1)


def test_the_program_gets_its_environment_arguments_and_an_open_signal_mask(
    tmp_path: Path,
) -> None:
    out = tmp_path / "out"
    script = 'echo "$COLOUR|$1|$2" > "$3"; grep -E "SigBlk|SigIgn" /proc/self/status >> "$3"'
    end = launch(
        ["sh", "-c", script, "sh", "a b", "--", str(out)],
        {"COLOUR": "red", "PATH": os.environ["PATH"]},
    )

    assert end == ProgramEnd(0)
    lines = out.read_text().splitlines()
    assert lines[0] == "red|a b|--"
    assert int(lines[1].split()[1], 16) == 0
    assert not int(lines[2].split()[1], 16) & 1 << (signal.SIGPIPE - 1)


def test_a_missing_program_is_a_usage_error_and_restores_the_mask() -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    with pytest.raises(UsageError, match="there is no program"):
        launch(["/nonexistent/prog"], os.environ)
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == before


def test_a_signal_to_the_recorder_alone_is_passed_on(tmp_path: Path) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
        marker = tmp_path / number.name
        trap = shlex.quote(f"echo got > {shlex.quote(str(marker))}; exit 5")
        program = f"trap {trap} {number.name[3:]}; echo ready; {FOREVER}"
        end = _launched_elsewhere(program, [number])
        assert end.exit_code == 5
        assert marker.read_text() == "got\n"


def test_the_second_interruption_kills_the_program_and_its_children(tmp_path: Path) -> None:
    child_file = tmp_path / "child"
    stubborn = (
        f"trap '' INT; sleep 3600 & echo $! > {shlex.quote(str(child_file))}; echo ready; {FOREVER}"
    )
    end = _launched_elsewhere(stubborn, [signal.SIGINT, signal.SIGINT])

    assert end.words == "ended by SIGKILL"
    child = int(child_file.read_text())
    deadline = time.monotonic() + PATIENCE_S
    while _is_alive(child):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _is_alive(process: int) -> bool:
    """Whether a process still runs; nobody may have asked yet how it ended."""
    try:
        return ") Z " not in Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_signal_to_the_whole_group_reaches_the_program_once() -> None:
    # What is sent to the recorder alone comes after all that it passed on before.
    program = f"trap 'n=$((n+1))' INT; trap 'exit $((40+n))' USR1; echo ready; {FOREVER}"

    signals = [signal.SIGINT, signal.SIGUSR1]
    assert _launched_elsewhere(program, signals, to_group=signal.SIGINT).exit_code == 41
    assert _launched_elsewhere(program, signals).exit_code == 41


def test_a_program_that_left_the_group_gets_what_is_sent_to_it() -> None:
    leaving = "import os,signal,time; os.setsid(); print('ready', flush=True); time.sleep(3600)"
    program = f'exec {sys.executable} -c "{leaving}"'

    end = _launched_elsewhere(program, [signal.SIGTERM], to_group=signal.SIGTERM)
    assert end.status == -signal.SIGTERM


def _launched_elsewhere(
    program: str, signals: list[signal.Signals], *, to_group: signal.Signals | None = None
) -> ProgramEnd:
    """Run `launch` in a process of its own, which gets `signals` once the program is ready."""
    code = (
        "import os, sys; from wavescope.collect.launcher import launch;"
        "end = launch(['bash', '-c', sys.argv[1]], os.environ); sys.stderr.write(str(end.status))"
    )
    recorder = subprocess.Popen(
        [sys.executable, "-c", code, program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert recorder.stdout is not None and recorder.stderr is not None
    assert recorder.stdout.readline() == READY_LINE
    for number in signals:
        if number == to_group:
            os.killpg(recorder.pid, number)
        else:
            recorder.send_signal(number)
        while _is_pending(recorder.pid, number):
            time.sleep(0.01)
    status = recorder.stderr.read()
    recorder.stdout.close()
    recorder.stderr.close()
    assert recorder.wait() == 0
    return ProgramEnd(int(status))


def _is_pending(process: int, number: signal.Signals) -> bool:
    """Whether a process has not yet taken a signal that was sent to it."""
    status = Path(f"/proc/{process}/status").read_text()
    masks = [
        line.split()[1] for line in status.splitlines() if line.startswith(("SigPnd", "ShdPnd"))
    ]
    return any(int(mask, 16) >> (number - 1) & 1 for mask in masks)


def test_descendants_are_found_through_their_parents() -> None:
    family = subprocess.Popen(
        ["sh", "-c", "sh -c 'sleep 3600 & wait' & wait"], start_new_session=True
    )
    try:
        deadline = time.monotonic() + PATIENCE_S
        while len(descendants(family.pid)) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert len(descendants(family.pid)) == 2
        assert family.pid in descendants(os.getpid())
    finally:
        os.killpg(family.pid, signal.SIGKILL)
        family.wait()


def test_the_program_goes_on_when_what_is_done_meanwhile_fails() -> None:
    calls = []

    def fails() -> None:
        calls.append(1)
        raise ValueError("no good")

    end = launch(["sh", "-c", "sleep 0.2; exit 7"], dict(os.environ), fails)
    assert (end.exit_code, end.trouble) == (7, "no good")
    assert len(calls) == 1
