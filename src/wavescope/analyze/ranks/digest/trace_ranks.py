"""The ranks in a trace: who each is, and which ops are its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from wavescope.analyze.ranks.digest.rank_digest import UNKNOWN, RankIdentity
from wavescope.analyze.ranks.digest.rank_ops import Rows
from wavescope.arrays import Array
from wavescope.arrays.coded_columns import distinct
from wavescope.model import columns as declared
from wavescope.model.op_kinds import OpKind
from wavescope.model.trace import Trace

_OTHER_TABLES = (
    declared.MARKERS,
    declared.CALLS,
    declared.LINKS,
    declared.PROCESSES,
    declared.AGENTS,
    declared.KERNELS,
    declared.COVERAGE,
    declared.SLICES,
)


class TraceRank(NamedTuple):
    """One rank, the trace of its ops, and what could not be told of it."""

    identity: RankIdentity
    trace: Trace
    rows: Rows | None
    """The rows of its ops among those of the whole trace; None: all of them."""
    processes: frozenset[int]
    """The rows of its processes in the trace."""
    notes: tuple[str, ...] = ()


class _Process(NamedTuple):
    id: int
    pid: int
    rank: int
    world_size: int
    host: str


def trace_ranks(trace: Trace) -> list[TraceRank]:
    """The ranks of a trace, by rank number, then in the order of processes and GPUs.

    Processes that have a rank are ranks; without any, each process with ops is one, and each GPU of
    a process that is alone. A trace without ops is one rank.
    """
    trace.ops.load("process", "gpu")
    used = _used(trace.ops["process"])
    processes = _processes(trace)
    by_key: dict[tuple[int, int], list[int]] = {}
    for number in used:
        if number == UNKNOWN:
            continue
        process = processes.get(number)
        rank = UNKNOWN if process is None else process.rank
        by_key.setdefault((rank, UNKNOWN if rank >= 0 else number), []).append(number)
    if len(by_key) <= 1:
        members = next(iter(by_key.values()), list(processes) if len(processes) == 1 else [])
        return _of_one(trace, _known(processes, members))
    # Ranks first, then processes that have none; each in order.
    keys = sorted(by_key, key=lambda key: (key[0] < 0, key))
    number_of = {process: place for place, key in enumerate(keys) for process in by_key[key]}
    table = np.array([number_of.get(process, UNKNOWN) for process in used], np.int32)
    _, process_of_op = distinct(trace.ops["process"])
    owner, unowned_count = _with_owners_by_gpu(trace, table[process_of_op])
    shared = _sharing(trace)
    found = []
    for place, key in enumerate(keys):
        rows = np.flatnonzero(owner == place)
        part = shared.with_tables((trace.ops.take(rows),))
        notes = _several_gpus(part)
        if place == 0 and unowned_count:
            notes += (f"{unowned_count:,} ops of no known process are left out",)
        identity = _identity(part, _known(processes, by_key[key]))
        found.append(TraceRank(identity, part, rows, frozenset(by_key[key]), notes))
    return found


def _of_one(trace: Trace, members: Sequence[_Process]) -> list[TraceRank]:
    """The rank that has all ops, or one for each GPU of a process that has no rank."""
    own = frozenset(process.id for process in members)
    has_rank = any(process.rank >= 0 for process in members)
    gpus = [] if has_rank else _gpus_with_kernels(trace)
    if len(gpus) < 2:
        notes = _several_gpus(trace) if has_rank else ()
        return [TraceRank(_identity(trace, members), trace, None, own, notes)]
    shared = _sharing(trace)
    note = f"one process without a rank used {len(gpus)} GPUs: each GPU counts as a rank"
    found = []
    for gpu in gpus:
        rows = np.flatnonzero(trace.ops["gpu"] == gpu)
        part = shared.with_tables((trace.ops.take(rows),))
        found.append(TraceRank(_identity(part, members), part, rows, own, (note,)))
    return found


def _sharing(trace: Trace) -> Trace:
    """The trace with all small tables opened, so that its parts read them once together."""
    for table in _OTHER_TABLES:
        trace.table(table)
    return trace


def _processes(trace: Trace) -> dict[int, _Process]:
    table = trace.processes
    table.load("id", "pid", "rank", "world_size", "host")
    columns = (table[name].tolist() for name in ("id", "pid", "rank", "world_size"))
    rows = zip(*columns, table.strings("host"), strict=True)
    return {row[0]: _Process(*row) for row in rows}


def _known(processes: dict[int, _Process], numbers: Iterable[int]) -> list[_Process]:
    return [processes[number] for number in numbers if number in processes]


def _with_owners_by_gpu(
    trace: Trace, owner: np.ndarray[tuple[int], np.dtype[np.int32]]
) -> tuple[np.ndarray[tuple[int], np.dtype[np.int32]], int]:
    """Ops of no known process as those of the rank that has their GPU alone; how many are left."""
    lost = np.flatnonzero(owner == UNKNOWN)
    if not len(lost):
        return owner, 0
    gpus = trace.ops["gpu"]
    owner = owner.copy()
    for gpu in np.unique(gpus[lost]).tolist():
        owners = np.unique(owner[(gpus == gpu) & (owner != UNKNOWN)])
        if len(owners) == 1:
            mine = lost[gpus[lost] == gpu]
            owner[mine] = owners[0]
    return owner, int(np.count_nonzero(owner == UNKNOWN))


def _gpus_with_kernels(trace: Trace) -> list[int]:
    """The GPUs that ran kernels: copies between GPUs may be noted on one that ran nothing else."""
    used = _used(trace.ops["gpu"])
    if len(used) < 2:
        return used
    _, gpu_of_op = distinct(trace.ops["gpu"])
    counts = np.bincount(gpu_of_op[trace.op_kind == OpKind.KERNEL], minlength=len(used))
    return [gpu for gpu, count in zip(used, counts.tolist(), strict=True) if count]


def _several_gpus(trace: Trace) -> tuple[str, ...]:
    gpus = _gpus_with_kernels(trace)
    if len(gpus) < 2:
        return ()
    return (f"it used {len(gpus)} GPUs, whose work counts together",)


def _identity(trace: Trace, members: Sequence[_Process]) -> RankIdentity:
    """Who a rank is: by its processes, the GPU with most of its ops, and the run's facts."""
    gpu = _most_used(trace.ops["gpu"])
    agent = _agent(trace, gpu, frozenset(process.id for process in members))
    rank = next((process.rank for process in members if process.rank >= 0), None)
    world_size = next((process.world_size for process in members if process.world_size > 0), None)
    hosts = [process.host for process in members if process.host]
    pid = next((process.pid for process in members if process.pid >= 0), UNKNOWN)
    host = hosts[0] if hosts else agent.host or trace.metadata.get("host", "")
    return RankIdentity(
        rank=rank,
        world_size=world_size,
        host=host,
        pid=pid,
        gpu=gpu,
        gpu_uuid=agent.uuid,
        gpu_model=agent.model,
        chip=agent.chip,
        clock_mhz=agent.clock_mhz,
        compute_units=agent.compute_units,
    )


def _used(numbers: Array) -> list[int]:
    """The different numbers in ascending order: mostly one, which is seen without sorting."""
    if not len(numbers) or numbers.min() == numbers.max():
        return [int(number) for number in numbers[:1]]
    return distinct(numbers)[0]


def _most_used(numbers: Array) -> int:
    """The most frequent number, -1 without any."""
    used = _used(numbers)
    if len(used) < 2:
        return used[0] if used else UNKNOWN
    return used[int(np.argmax(np.bincount(distinct(numbers)[1])))]


class _Agent(NamedTuple):
    host: str = ""
    uuid: str = ""
    chip: str = ""
    model: str = ""
    compute_units: int = UNKNOWN
    clock_mhz: int = UNKNOWN


def _agent(trace: Trace, gpu: int, processes: frozenset[int]) -> _Agent:
    """What is known of a GPU: what the rank's own processes say of it before what others do."""
    agents = trace.agents
    agents.load("gpu", "process", "host", "uuid", "chip", "model", "cu_count", "clock_mhz")
    rows = np.flatnonzero(agents["gpu"] == gpu).tolist()
    if gpu == UNKNOWN or not rows:
        return _Agent()
    own = [row for row in rows if int(agents["process"][row]) in processes]
    row = (own or rows)[0]
    host, uuid, chip, model = (
        agents.string_table[int(agents[name][row])] for name in ("host", "uuid", "chip", "model")
    )
    numbers = (int(agents[name][row]) for name in ("cu_count", "clock_mhz"))
    units, clock_mhz = (number if number > 0 else UNKNOWN for number in numbers)
    return _Agent(host, uuid, chip, model, units, clock_mhz)
