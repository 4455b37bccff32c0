"""Where items are worked on: in how many processes, or on which Dask cluster."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path

from wavescope.errors import UsageError
from wavescope.units import counted

LOCAL = "local"
_CPU_QUOTA = Path("/sys/fs/cgroup/cpu.max")


@dataclass(frozen=True)
class EngineOptions:
    """Processes of this machine by default; Dask where a scheduler, hosts or Slurm are named.

    `workers` is the number of processes: in all on this machine, for each host over SSH, of jobs
    with Slurm; None is one for each processor, 0 works in this process. `scheduler` is an address
    (tcp://..., tls://...), the path of a scheduler file, or "local" for a cluster of this machine.
    `slurm` holds the options of dask_jobqueue.SLURMCluster: "queue=batch,cores=8,memory=32GB".
    """

    workers: int | None = None
    memory_limit_bytes: int | None = None
    item_limit_s: float | None = None
    scheduler: str = ""
    ssh_hosts: tuple[str, ...] = ()
    ssh_python: str = ""
    slurm: str = ""
    connect_s: float = 10.0
    workers_come_s: float = 120.0

    def __post_init__(self) -> None:
        named = [bool(self.scheduler), bool(self.ssh_hosts), bool(self.slurm)]
        if sum(named) > 1:
            raise UsageError(
                "a scheduler, SSH hosts and Slurm exclude each other", hint="name one of them"
            )
        if self.workers is not None and (self.workers < 0 or (self.workers == 0 and any(named))):
            raise UsageError(f"{self.workers} workers cannot do anything")
        if self.memory_limit_bytes is not None and self.memory_limit_bytes <= 0:
            raise UsageError("the memory limit of a worker must be positive")
        if self.item_limit_s is not None and not self.item_limit_s > 0:
            raise UsageError("the time limit of an item must be positive")

    @property
    def uses_dask(self) -> bool:
        """Whether a Dask cluster does the work."""
        return bool(self.scheduler or self.ssh_hosts or self.slurm)


def engine_name(options: EngineOptions) -> str:
    """Where the work is done, for people."""
    if options.scheduler == LOCAL:
        return f"a Dask cluster of {_processes(process_count(options))}"
    if options.scheduler:
        return f"Dask at {options.scheduler}"
    if options.ssh_hosts:
        return f"Dask on {counted(len(options.ssh_hosts), 'host')} over SSH"
    if options.slurm:
        return f"Dask in {counted(options.workers or 1, 'job')} of Slurm"
    return _processes(process_count(options)) if options.workers != 0 else "this process"


def _processes(count: int) -> str:
    return f"{count:,} process{'' if count == 1 else 'es'}"


def process_count(options: EngineOptions) -> int:
    """How many processes of this machine are wanted."""
    return processor_count() if options.workers is None else options.workers


def processor_count() -> int:
    """The processors that this process may use: a container may be given fewer than there are."""
    count = len(os.sched_getaffinity(0))
    try:
        quota, period = _CPU_QUOTA.read_text().split()
        return max(1, min(count, math.ceil(int(quota) / int(period))))
    except (OSError, ValueError, ZeroDivisionError):  # no such group, or "max"
        return count
