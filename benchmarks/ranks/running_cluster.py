"""A Dask cluster that runs already when the measurement begins, and what its processes use.

A local cluster is started for each run, which costs the same for few ranks and for many. What a
cluster costs that somebody else has started is asked here: the CPU of its processes from one moment
to another.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

_PATIENCE_S = 60.0
_SETTINGS = {
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
    "DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL": "1s",
    "DASK_DISTRIBUTED__WORKER__MEMORY__MONITOR_INTERVAL": "1s",
    "DASK_DISTRIBUTED__SCHEDULER__WORK_STEALING_INTERVAL": "1s",
}
"""As docs/cluster.md has them."""
_LOOK_AGAIN_S = 0.2


@dataclass(frozen=True)
class RunningCluster:
    """A scheduler, and a worker that has a process of wavescope's for each of its threads."""

    address: str
    scheduler: psutil.Process
    worker: psutil.Process

    def scheduler_cpu_s(self) -> float:
        """What the scheduler has used since it was started."""
        return _cpu_s(self.scheduler)

    def worker_cpu_s(self) -> float:
        """What the worker, and who watches it, have used since they were started."""
        return _cpu_s(self.worker)


@contextmanager
def running_cluster(thread_count: int) -> Iterator[RunningCluster]:
    """A cluster of one worker with so many threads, which is connected."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        address_file = folder / "scheduler.json"
        scheduler = _started(
            stack, "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
            "--scheduler-file", str(address_file),
        )  # fmt: skip
        worker = _started(
            stack, "worker", "--scheduler-file", str(address_file), "--nthreads", str(thread_count),
            "--no-dashboard", "--local-directory", str(folder),
        )  # fmt: skip
        yield RunningCluster(_address(address_file), scheduler, worker)


def _started(stack: ExitStack, role: str, *options: str) -> psutil.Process:
    command = [sys.executable, "-m", "dask", role, *options]
    process = subprocess.Popen(
        command,
        env={**os.environ, **_SETTINGS},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    stack.callback(process.wait)
    stack.callback(process.terminate)
    return psutil.Process(process.pid)


def _address(address_file: Path) -> str:
    from distributed import Client

    deadline = time.monotonic() + _PATIENCE_S
    while not address_file.exists() and time.monotonic() < deadline:
        time.sleep(_LOOK_AGAIN_S)
    with Client(scheduler_file=str(address_file), timeout=_PATIENCE_S) as client:
        client.wait_for_workers(1, timeout=_PATIENCE_S)
        return str(client.scheduler.address)


def _cpu_s(process: psutil.Process) -> float:
    """Of a process and all that it started, also of those that have ended."""
    return sum(sum(each.cpu_times()[:4]) for each in (process, *process.children(recursive=True)))
