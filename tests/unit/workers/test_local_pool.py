"""Work in processes of this machine: each item has one outcome, whatever its file does."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.processes import wait_until_killed
from wavescope.errors import MachineError
from wavescope.workers import EngineOptions, Outcome, Task, run_all

DIGEST = Task("tests.worked_items:digest", b"options")
UNLUCKY = Task("tests.worked_items:unlucky")
TWO = EngineOptions(workers=2)


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def child_processes() -> set[str]:
    """The processes that this one started and has not waited for."""
    threads = Path("/proc/self/task").iterdir()
    return {child for thread in threads for child in (thread / "children").read_text().split()}


def values(outcomes: list[Outcome]) -> list[bytes | None]:
    return [outcome.value for outcome in outcomes]


def test_outcomes_are_in_the_order_of_the_items() -> None:
    items = [f"rank {number}" for number in range(20)]
    outcomes = run_all(UNLUCKY, ["sleep 0.2", *items], TWO)

    assert values(outcomes) == [b"slept", *(item.encode() for item in items)]
    assert [outcome.index for outcome in outcomes] == list(range(21))
    assert {outcome.attempts for outcome in outcomes} == {1}


def test_a_process_gives_the_same_bytes_as_a_call() -> None:
    items = ["a", "", "a\nb", "caf\u00e9", "\udcff\ud800", "x" * 100_000]

    here = run_all(DIGEST, items, EngineOptions(workers=0))

    assert run_all(DIGEST, items, TWO) == here
    assert [len(outcome.value or b"") for outcome in here] == [32_000] * 6


def test_nothing_to_do_starts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/no/python")

    assert run_all(DIGEST, [], EngineOptions()) == []


def test_large_options_arrive() -> None:
    task = Task("tests.worked_items:unlucky", bytes(range(256)) * 4000)

    assert values(run_all(task, ["a", "b"], TWO)) == [b"a" + task.options, b"b" + task.options]


@pytest.mark.parametrize(
    ("item", "problem"),
    [
        ("kill", "the worker was ended by signal 9 (out of memory?)"),
        ("fault", "the worker was ended by signal 11 (SIGSEGV)"),
        ("kill 40", "the worker was ended by signal 40 (unknown)"),
        ("exit 3", "the worker ended with exit code 3: the last thing that was said"),
        ("exit 0", "the worker ended with exit code 0: the last thing that was said"),
    ],
)
def test_an_item_that_ends_its_process_costs_one_row(item: str, problem: str) -> None:
    outcomes = run_all(UNLUCKY, ["a", item, "b", "c"], TWO)

    assert values(outcomes) == [b"a", None, b"b", b"c"]
    assert (outcomes[1].problem, outcomes[1].attempts) == (problem, 2)
    assert {outcome.attempts for outcome in outcomes if outcome.value} == {1}


def test_where_native_code_crashed_is_kept_for_those_who_debug() -> None:
    outcome = run_all(UNLUCKY, ["fault"], TWO)[0]

    assert "Fatal Python error: Segmentation fault" in outcome.details
    assert "worked_items.py" in outcome.details


def test_an_item_that_lost_its_process_gets_a_second_try(tmp_path: Path) -> None:
    outcomes = run_all(UNLUCKY, [f"once {tmp_path / 'mark'}", "a"], TWO)

    assert values(outcomes) == [b"second try", b"a"]
    assert [outcome.attempts for outcome in outcomes] == [2, 1]


def test_the_second_try_is_alone_and_in_a_fresh_process(tmp_path: Path) -> None:
    done: list[int] = []

    def progress(count: int, total: int, seconds_left: float | None) -> None:
        done.append(count)

    items = [f"once {tmp_path / 'one'}", f"once {tmp_path / 'two'}", "sleep 0.3", "sleep 0.3"]
    outcomes = run_all(UNLUCKY, items, TWO, progress)

    assert values(outcomes) == [b"second try", b"second try", b"slept", b"slept"]
    assert done == [1, 2, 3, 4]


def test_memory_is_limited_and_the_process_goes_on() -> None:
    options = EngineOptions(workers=1, memory_limit_bytes=300 << 20)
    outcomes = run_all(UNLUCKY, ["memory 400000000", "memory 100000000", "a"], options)

    assert values(outcomes) == [None, b"", b"a"]
    assert outcomes[0].problem == "it needs more memory than a worker may have"


def test_an_item_that_takes_too_long_is_ended() -> None:
    outcomes = run_all(UNLUCKY, ["sleep 60", "a"], EngineOptions(workers=2, item_limit_s=8.0))

    assert values(outcomes) == [None, b"a"]
    assert outcomes[0].problem == "it took longer than 8 s and was ended"
    assert outcomes[0].attempts == 1


def test_workers_print_nothing_and_read_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    assert values(run_all(UNLUCKY, ["print x", "stdin"], TWO)) == [b"printed", b"end"]
    assert capfd.readouterr() == ("", "")


def test_processes_are_kept_for_many_items() -> None:
    told = [value.split() for value in values(run_all(UNLUCKY, ["who"] * 12, TWO)) if value]

    assert len(told) == 12
    assert 1 <= len({process for process, _, _ in told}) <= 2
    assert {int(starter) for _, starter, _ in told} == {os.getpid()}
    # Ctrl-C of a terminal goes to the command alone: each process has a group of its own.
    assert {process == group for process, _, group in told} == {True}


def test_what_an_item_started_ends_with_the_run() -> None:
    left = run_all(UNLUCKY, ["leave-behind"], EngineOptions(workers=1))[0].value

    assert left is not None
    wait_until_killed(int(left))


def test_a_run_leaves_no_process_and_no_open_file() -> None:
    run_all(UNLUCKY, ["kill", "a"], TWO)
    files, processes = open_files(), child_processes()
    run_all(UNLUCKY, ["a", "kill", "sleep 60", "b"], EngineOptions(workers=3, item_limit_s=0.5))

    assert open_files() == files
    assert child_processes() == processes


def test_an_error_in_between_ends_all_processes() -> None:
    def progress(count: int, total: int, seconds_left: float | None) -> None:
        raise KeyboardInterrupt

    processes = child_processes()
    with pytest.raises(KeyboardInterrupt):
        run_all(UNLUCKY, ["sleep 60", "a", "sleep 60"], EngineOptions(workers=3), progress)
    assert child_processes() == processes


def test_the_caller_keeps_its_environment() -> None:
    before = dict(os.environ)
    threads = values(run_all(UNLUCKY, ["environment OPENBLAS_NUM_THREADS"], TWO))

    assert threads == [os.environ.get("OPENBLAS_NUM_THREADS", "1").encode()]
    assert dict(os.environ) == before


def test_modules_of_the_current_folder_are_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hashlib.py").write_text("raise SystemExit('hijacked')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])

    assert values(run_all(UNLUCKY, ["a"], TWO)) == [b"a"]


def test_the_heaviest_begin_first_and_progress_counts_all() -> None:
    told: list[tuple[int, int]] = []

    def progress(done: int, total: int, seconds_left: float | None) -> None:
        told.append((done, total))
        assert seconds_left is not None
        assert seconds_left >= 0

    weights = [1, 5, 3, 0]
    one = EngineOptions(workers=1)
    outcomes = run_all(UNLUCKY, ["a", "b", "c", "d"], one, progress, weights=weights)

    assert values(outcomes) == [b"a", b"b", b"c", b"d"]
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]
    with pytest.raises(ValueError, match="a weight for each item"):
        run_all(UNLUCKY, ["a"], one, weights=[1, 2])


def test_no_interpreter_is_the_machines_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/no/python")

    with pytest.raises(MachineError, match="cannot start a worker process: No such file") as caught:
        run_all(UNLUCKY, ["a"], TWO)
    assert "fewer workers" in caught.value.hint


def test_a_process_that_cannot_start_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho 'no library of mine' >&2\nexit 127\n")
    broken.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(broken))

    with pytest.raises(MachineError) as caught:
        run_all(UNLUCKY, ["a"] * 100, TWO)
    assert str(caught.value) == (
        "a worker process could not start: the worker ended with exit code 127: no library of mine"
    )
