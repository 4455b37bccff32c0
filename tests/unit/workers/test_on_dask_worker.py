"""The processes that a Dask worker keeps for a run: reused, and ended with it."""

from __future__ import annotations

import threading
import time

import pytest

from tests.processes import wait_until_killed
from wavescope.workers import on_dask_worker
from wavescope.workers.answers import Answer
from wavescope.workers.on_dask_worker import RunPlan, RunProcesses
from wavescope.workers.tasks import Task

UNLUCKY = Task("tests.worked_items:unlucky")


def plan(name: str = "run") -> RunPlan:
    return RunPlan(name, UNLUCKY, None, None)


def process_of(answer: Answer) -> int:
    assert answer.value is not None
    return int(answer.value.split()[0])


def test_one_process_does_many_items_until_the_run_ends() -> None:
    processes = RunProcesses()
    told = [process_of(processes.answer("who", plan())) for _ in range(5)]
    processes.end("run")

    assert len(set(told)) == 1
    wait_until_killed(told[0])
    assert processes.answer("who", plan()) == Answer(problem="the run was ended")


def test_runs_have_processes_of_their_own() -> None:
    processes = RunProcesses()
    one, two = (process_of(processes.answer("who", plan(name))) for name in ("one", "two"))
    processes.end("one")
    again = process_of(processes.answer("who", plan("two")))
    processes.end("two")

    assert one != two
    assert again == two


def test_a_lost_process_is_replaced() -> None:
    processes = RunProcesses()
    lost = processes.answer("kill", plan())
    after = processes.answer("a", plan())
    processes.end("run")

    assert (lost.is_lost, lost.problem) == (
        True,
        "the worker was ended by signal 9 (out of memory?)",
    )
    assert after == Answer(b"a")


def test_an_end_of_the_run_ends_work_at_once() -> None:
    processes, answers = RunProcesses(), []
    thread = threading.Thread(target=lambda: answers.append(processes.answer("sleep 60", plan())))
    thread.start()
    time.sleep(0.2)
    processes.end("run")
    thread.join(30)

    assert [answer.value for answer in answers] == [None]


def test_a_process_that_nobody_needs_ends_and_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_dask_worker, "_IDLE_S", 0.05)
    processes = RunProcesses()
    first = process_of(processes.answer("who", plan()))
    wait_until_killed(first)
    second = process_of(processes.answer("who", plan()))
    processes.end("run")

    assert first != second
