"""How a Dask cluster is reached, or made: by address, scheduler file, locally, over SSH, by Slurm.

Clusters that are made here end with the run; those of others are left as they were.
"""

from __future__ import annotations

import contextlib
import json
import logging
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib import import_module
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

from wavescope.errors import (
    MachineError,
    UnreadableInputError,
    UsageError,
    WavescopeError,
)
from wavescope.process import interrupts_wait
from wavescope.whole_files import whole_file
from wavescope.workers.engine_options import LOCAL, EngineOptions, process_count
from wavescope.workers.scheduler_contact import require_scheduler

_ADDRESS = re.compile(r"(?:tcp|tls|ucx|wss?)://.+", re.ASCII)
_HOST_AND_PORT = re.compile(r"[^/\s]+:\d{1,5}", re.ASCII)
_SSH_HOST = re.compile(r"(?:(?P<user>[^@\s]+)@)?(?P<host>[^@\s:]+|\[[^\]]+\])(?::(?P<port>\d+))?")
_CLOSE_S = 10.0
_MOST_FILE_BYTES = 1 << 20
# SSH servers do not end what they started when this process is killed: it ends itself.
_FORGOTTEN_WORKER_S, _FORGOTTEN_SCHEDULER_S = 30, 300
_DASK_ITSELF_BYTES = 1 << 29
_SELDOM = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.worker.memory.monitor-interval": "1s",
    "distributed.scheduler.work-stealing-interval": "1s",
}
"""Dask looks after itself ten to a hundred times a second, which costs a cluster of seconds more
than it is of use. docs/cluster.md has the same for clusters that others start."""
_LISTS = ("env_extra", "job_directives_skip", "job_extra_directives", "job_script_prologue")

Client = Any
Cluster = Any


@contextmanager
def connected(options: EngineOptions, item_count: int) -> Iterator[Client]:
    """A client of the cluster that `options` name; both are closed in the end."""
    distributed = needed("distributed", "cluster")
    with ExitStack() as stack:
        if options.scheduler == LOCAL:
            folder = stack.enter_context(_own_folder())
            make = partial(_local_cluster, options, item_count, folder)
            cluster = stack.enter_context(_made(make, "on this machine"))
        elif options.ssh_hosts:
            cluster = stack.enter_context(_made(partial(_ssh_cluster, options), "over SSH"))
        elif options.slurm:
            stack.enter_context(_own_folder())
            cluster = stack.enter_context(_made(partial(_slurm_cluster, options), "with Slurm"))
        else:
            cluster = scheduler_address(options.scheduler)
        client = _client(distributed, cluster, options)
        stack.callback(_closed, client)
        yield client


def needed(module: str, extra: str) -> Any:
    """The module, or an error that says how to get it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MachineError(
            f"this needs {module.partition('.')[0]}, which cannot be imported: {error}",
            hint=f"pip install 'wavescope[{extra}]'",
        ) from error


def scheduler_address(scheduler: str) -> str:
    """The address that `scheduler` is, or that is in the scheduler file of this name."""
    if _ADDRESS.fullmatch(scheduler):
        return scheduler
    if "://" in scheduler:
        raise UsageError(
            f"'{scheduler}' is not the address of a Dask scheduler", hint="tcp://HOST:PORT is one"
        )
    path = Path(scheduler)
    if _HOST_AND_PORT.fullmatch(scheduler) and not path.exists():
        return f"tcp://{scheduler}"
    try:
        address = json.loads(whole_file(path, _MOST_FILE_BYTES, "a scheduler file"))["address"]
    except UnreadableInputError as error:
        raise UnreadableInputError(
            path, error.reason, hint="a scheduler is tcp://HOST:PORT, or a file"
        ) from error
    except (ValueError, LookupError, TypeError) as error:
        raise UnreadableInputError(path, "this is not a scheduler file of Dask") from error
    if not isinstance(address, str) or not _ADDRESS.fullmatch(address):
        raise UnreadableInputError(path, "there is no address of a scheduler in it")
    return address


def _client(distributed: Any, cluster: Cluster, options: EngineOptions) -> Client:
    address = cluster if isinstance(cluster, str) else str(cluster.scheduler_address)
    require_scheduler(address, options.connect_s)
    return distributed.Client(cluster, timeout=options.connect_s, set_as_default=False)


def _closed(client: Client) -> None:
    with contextlib.suppress(OSError, TimeoutError):
        client.close(timeout=_CLOSE_S)


@contextmanager
def _made(make: Callable[[], Cluster], how: str) -> Iterator[Cluster]:
    try:
        cluster = make()
    except WavescopeError:
        raise
    except Exception as error:
        # Dask wraps what a remote shell, a job or a library said in errors of many kinds.
        reason = " ".join(str(error).split())
        raise MachineError(
            f"a Dask cluster cannot be started {how}: {type(error).__name__}: {reason}",
            hint="docs/cluster.md has complete examples, and what they need",
        ) from error
    try:
        yield cluster
    finally:
        # Dask asserts that all jobs were begun; some may have been refused.
        with contextlib.suppress(OSError, TimeoutError, AssertionError):
            cluster.close(timeout=_CLOSE_S)


@contextmanager
def _own_folder() -> Iterator[str]:
    """A folder for what Dask writes; on shared storage workers would wait for its locks."""
    config = needed("dask.config", "cluster")
    with (
        tempfile.TemporaryDirectory(prefix="wavescope-dask-") as folder,
        config.set({"temporary-directory": folder, **_SELDOM}),
    ):
        yield folder


def _local_cluster(options: EngineOptions, item_count: int, folder: str) -> Cluster:
    distributed = needed("distributed", "cluster")
    with ExitStack() as stack:
        with _interrupts_wait():
            cluster = distributed.LocalCluster(
                # Each thread has a process for the work: more interpreters with Dask are of no use.
                n_workers=1,
                threads_per_worker=max(1, min(process_count(options), item_count)),
                processes=True,
                host="127.0.0.1",
                dashboard_address=None,
                worker_dashboard_address=None,
                memory_limit=_dask_memory(options) or "auto",
                local_directory=folder,
                silence_logs=logging.CRITICAL,
            )
            stack.callback(cluster.close)
        # An interrupt that had to wait comes before this.
        stack.pop_all()
    return cluster


@contextmanager
def _interrupts_wait() -> Iterator[None]:
    """What is started inside never sees Ctrl-C; this thread does afterwards.

    A terminal sends it to all processes of a command, and workers of Dask would talk about it.
    """
    resource_tracker.ensure_running()  # starting it later would let interrupts in again
    with interrupts_wait():
        yield


def _dask_memory(options: EngineOptions) -> int | None:
    """What a worker of Dask itself may take; items are limited in processes of their own."""
    limit_bytes = options.memory_limit_bytes
    return None if limit_bytes is None else max(limit_bytes, _DASK_ITSELF_BYTES)


def _ssh_cluster(options: EngineOptions) -> Cluster:
    distributed = needed("distributed", "cluster")
    needed("asyncssh", "cluster-ssh")
    hosts = [ssh_host(host) for host in options.ssh_hosts]
    worker_options: dict[str, Any] = {"death_timeout": _FORGOTTEN_WORKER_S}
    if options.workers is not None:
        worker_options["nthreads"] = options.workers
    if options.memory_limit_bytes is not None:
        worker_options["memory_limit"] = _dask_memory(options)
    # The first host has the scheduler, and a worker like all others.
    return distributed.SSHCluster(
        [host for host, _ in (hosts[0], *hosts)],
        connect_options=[connect for _, connect in (hosts[0], *hosts)],
        worker_options=worker_options,
        scheduler_options={
            "port": 0,
            "dashboard_address": None,
            "idle_timeout": _FORGOTTEN_SCHEDULER_S,
        },
        remote_python=options.ssh_python or None,
    )


def ssh_host(spelled: str) -> tuple[str, Mapping[str, Any]]:
    """The host of `user@host:port`, and how it is connected to."""
    match = _SSH_HOST.fullmatch(spelled)
    if match is None:
        raise UsageError(f"'{spelled}' is not a host", hint="hosts are [USER@]HOST[:PORT]")
    connect: dict[str, Any] = {}
    if match["user"]:
        connect["username"] = match["user"]
    if match["port"]:
        connect["port"] = int(match["port"])
    return match["host"].strip("[]"), connect


def _slurm_cluster(options: EngineOptions) -> Cluster:
    jobqueue = needed("dask_jobqueue", "cluster-slurm")
    named = slurm_options(options.slurm)
    if shutil.which("sbatch") is None:
        raise MachineError(
            "there is no sbatch here, by which Slurm is given jobs",
            hint="run this on a machine that Slurm's jobs are sent from",
        )
    # No web pages: they would listen on all networks of the machine that jobs are sent from.
    scheduler_options = {"dashboard_address": None}
    cluster = jobqueue.SLURMCluster(**{"scheduler_options": scheduler_options, **named})
    with contextlib.ExitStack() as stack:
        stack.callback(cluster.close)
        cluster.scale(jobs=options.workers or 1)
        stack.pop_all()
    return cluster


def slurm_options(spelled: str) -> dict[str, Any]:
    """The options of SLURMCluster that "name=value,name=value" means.

    Values of which there may be several, such as job_extra_directives, are parted by semicolons.
    """
    found: dict[str, Any] = {}
    for part in filter(None, (part.strip() for part in spelled.split(","))):
        name, equals, value = (text.strip() for text in part.partition("="))
        name = name.replace("-", "_")
        if not equals or not name.isidentifier():
            raise UsageError(f"'{part}' is not an option of Slurm's", hint="queue=batch,cores=8")
        if name in _LISTS:
            found[name] = [each.strip() for each in value.split(";") if each.strip()]
        else:
            found[name] = int(value) if value.isdecimal() else value
    return found
