"""What happens inside of a Dask worker: it has a process of ours for each of its threads.

Dask brings items to machines; the work itself is done as in the local pool. So a file that kills
its reader takes no worker of a shared cluster down, memory and time are limited in the same way,
threads of a worker do not wait for each other, and an interrupted run ends at once.
"""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections import deque
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any

from wavescope.workers.answers import Answer
from wavescope.workers.process_handle import ProcessHandle, ProcessLimits, wait_for_any
from wavescope.workers.tasks import Task

_LOOK_S = 0.5
_IDLE_S = 60.0
"""After that long a process ends itself: whoever began the run may be gone."""
_REMEMBERED_RUNS = 100


@dataclass(frozen=True)
class RunPlan:
    """What a worker has to know of a run; its name is unique."""

    name: str
    task: Task
    memory_limit_bytes: int | None
    item_limit_s: float | None


@dataclass(frozen=True)
class RemoteAnswer:
    """An answer with the place where it was found."""

    answer: Answer
    host: str
    has_item: bool
    """Whether a file of the item's name is there."""


async def answer_on_worker(item: str, plan: RunPlan) -> RemoteAnswer:
    """The answer to `item`, worked on by a process of this worker's machine."""
    # Dask's profiler looks into each thread that runs a task a hundred times a second. This one
    # only waits, and is none of a task's.
    loop, threads = asyncio.get_running_loop(), _dask_worker().executors["default"]
    return await loop.run_in_executor(threads, copy_context().run, _answer, item, plan)


def _answer(item: str, plan: RunPlan) -> RemoteAnswer:
    answer = _PROCESSES.answer(item, plan)
    return RemoteAnswer(answer, _host(), os.path.lexists(item))


def end_run(name: str) -> None:
    """End all processes of the run, also those that work on something."""
    _PROCESSES.end(name)


class RunProcesses:
    """The processes of all runs on one Dask worker."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: dict[str, list[ProcessHandle]] = {}
        self._busy: dict[str, set[ProcessHandle]] = {}
        self._ended: deque[str] = deque(maxlen=_REMEMBERED_RUNS)

    def answer(self, item: str, plan: RunPlan) -> Answer:
        """The answer to `item`, by a process that is kept for the next one."""
        while True:
            handle = self._borrowed(plan)
            if handle is None:
                return Answer(problem="the run was ended")
            try:
                handle.give(item)
                while (answer := handle.take()) is None:
                    wait_for_any([handle], _LOOK_S)
            finally:
                self._give_back(handle, plan.name)
            if not handle.was_idle_too_long:
                return answer

    def end(self, name: str) -> None:
        """End the processes of a run, for good."""
        with self._lock:
            self._ended.append(name)
            idle = self._idle.pop(name, [])
            for handle in self._busy.get(name, ()):
                handle.kill()  # the thread that waits for it gives the rest back
        for handle in idle:
            handle.close()

    def _borrowed(self, plan: RunPlan) -> ProcessHandle | None:
        with self._lock:
            if plan.name in self._ended:
                return None
            idle = self._idle.setdefault(plan.name, [])
            limits = ProcessLimits(_memory_limit(plan), plan.item_limit_s, _IDLE_S)
            handle = idle.pop() if idle else ProcessHandle(plan.task, limits)
            self._busy.setdefault(plan.name, set()).add(handle)
            return handle

    def _give_back(self, handle: ProcessHandle, name: str) -> None:
        with self._lock:
            busy = self._busy[name]
            busy.discard(handle)
            if not busy:
                del self._busy[name]
            is_kept = name in self._idle and not handle.has_ended
            if is_kept:
                self._idle[name].append(handle)
        if not is_kept:
            handle.close()


_PROCESSES = RunProcesses()


def _memory_limit(plan: RunPlan) -> int | None:
    """What was asked for, else each thread's part of what the worker may have."""
    if plan.memory_limit_bytes is not None:
        return plan.memory_limit_bytes
    worker = _dask_worker()
    memory_bytes = worker.memory_manager.memory_limit if worker else None
    return memory_bytes // max(1, worker.state.nthreads) if worker and memory_bytes else None


def _host() -> str:
    worker = _dask_worker()
    return f"{socket.gethostname()} ({worker.address})" if worker else socket.gethostname()


def _dask_worker() -> Any:
    from distributed import get_worker  # noqa: PLC0415  only workers have it

    try:
        return get_worker()
    except ValueError:  # a thread of another program
        return None
