"""Runs a program twice, with and without faults, and records it."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from tests.rank_jobs.conditions import conditions_of
from tests.rank_jobs.faults import FILE_FAULTS, Fault, FaultKind
from tests.rank_jobs.job import SimulatedJob
from tests.rank_jobs.layout import Hosts, Layouts
from tests.rank_jobs.machine import Machine, Run
from tests.rank_jobs.noise import Noise, NoiseSize
from tests.rank_jobs.programs.data_parallel import DataParallel
from tests.rank_jobs.programs.decode import Decode
from tests.rank_jobs.programs.experts import Experts
from tests.rank_jobs.programs.pipeline import Pipeline
from tests.rank_jobs.programs.sharded_data_parallel import ShardedDataParallel
from tests.rank_jobs.programs.tensor_parallel import TensorParallel
from tests.rank_jobs.recording import SLOWER_GPU, Detail, Gpu, Recorder, RunColumns, rank_rows
from tests.rank_jobs.truth import Integers, TrueClock, TrueExchanges, Truth, label_of


class Topology(enum.Enum):
    """How the work is shared among ranks."""

    DDP = "data parallel"
    FSDP = "sharded data parallel"
    TENSOR = "tensor times data parallel"
    PIPELINE = "pipeline times data parallel"
    EXPERTS = "experts"
    DECODE = "decode of a tensor parallel model"


@dataclass(frozen=True)
class Settings:
    """Everything about a job beside its size and its faults."""

    gpus_per_host: int = 8
    group_size: int | None = None
    """Ranks of a tensor parallel group, or stages of a pipeline."""
    has_own_group_names: bool = True
    """Whether each group has a name of its own, or all that share the ranks have one."""
    noise: NoiseSize = field(default_factory=NoiseSize)
    offset_ns: int = 5_000_000
    """Clocks are off by up to so much."""
    drift_ppm: float = 20.0
    """And by so much faster or slower."""
    recording_spread: float = 0.4
    """Ranks begin and end recording within so many steps of each other."""
    reads_back_every: int = 1
    """Each so many steps the host waits for a value from the GPU, such as the loss."""
    detail: Detail = field(default_factory=Detail)


class Program(Protocol):
    """What the ranks do."""

    def step(self, machine: Machine, number: int) -> None:
        """Run one step on all ranks."""


def simulated(
    topology: Topology,
    faults: Sequence[Fault] = (),
    *,
    seed: int,
    ranks: int = 8,
    steps: int = 20,
    settings: Settings | None = None,
    **changes: object,
) -> SimulatedJob:
    """A job with these faults; `changes` are fields of `Settings`, or of its `detail`."""
    settings = _changed(settings or Settings(), changes)
    hosts = Hosts(ranks, settings.gpus_per_host)
    clean = _run(topology, (), hosts, settings, steps=steps, seed=seed)
    running = [fault for fault in faults if fault.kind not in FILE_FAULTS]
    run = clean
    if running:
        run = _run(topology, running, hosts, settings, steps=steps, seed=seed, clean=clean)
    columns = RunColumns(run)
    recorders = _recorders(columns, faults, hosts, settings, seed)
    step_ns, clean_step_ns = _step_ns(run), _step_ns(clean)
    truth = Truth(
        label_of(faults, hosts, steps),
        step_ns - clean_step_ns,
        step_ns,
        clean_step_ns,
        {recorder.rank: recorder.clock for recorder in recorders},
        {recorder.rank: _true_exchanges(columns, recorder) for recorder in recorders},
        _ranks_with(faults, FaultKind.MISSING_FILE),
        _ranks_with(faults, FaultKind.HALF_FILE),
        _ranks_with(faults, FaultKind.MISSING_COLLECTIVES),
        _ranks_with(faults, FaultKind.CLOCK_JUMP),
    )
    given = tuple(each for each in recorders if each.rank not in truth.missing_ranks)
    return SimulatedJob(columns, given, settings.detail, hosts, truth)


def _changed(settings: Settings, changes: dict[str, object]) -> Settings:
    own = {name: value for name, value in changes.items() if hasattr(settings, name)}
    detail = {name: value for name, value in changes.items() if name not in own}
    settings = replace(settings, **own)  # type: ignore[arg-type]
    return replace(settings, detail=replace(settings.detail, **detail))  # type: ignore[arg-type]


def _program(topology: Topology, ranks: int, settings: Settings) -> Program:
    layouts = Layouts(ranks, has_own_names=settings.has_own_group_names)
    every, size = settings.reads_back_every, settings.group_size
    if topology is Topology.DDP:
        return DataParallel(layouts, every)
    if topology is Topology.FSDP:
        return ShardedDataParallel(layouts, every)
    if topology is Topology.TENSOR:
        return TensorParallel(layouts, ranks, size or min(8, max(2, ranks // 2)), every)
    if topology is Topology.PIPELINE:
        return Pipeline(layouts, ranks, size or min(4, ranks), every)
    if topology is Topology.EXPERTS:
        return Experts(layouts, ranks, size or min(8, ranks), every)
    return Decode(layouts, size or min(8, ranks))


def _run(
    topology: Topology,
    faults: Sequence[Fault],
    hosts: Hosts,
    settings: Settings,
    *,
    steps: int,
    seed: int,
    clean: Run | None = None,
) -> Run:
    """What happens; `clean` is the same without faults, by which they are measured."""
    step_ns = 0.0 if clean is None else clean.step_done[-1] / steps
    launches = None
    if clean is not None:
        eager = [~np.isnan(each.start) for each in clean.issued if not each.is_graph]
        launches = (sum(eager) + len(clean.graph_calls)) / steps
    noise = Noise(hosts.rank_count, settings.noise, seed)
    machine = Machine(hosts, conditions_of(faults, hosts, steps, step_ns), noise, launches)
    program = _program(topology, hosts.rank_count, settings)
    for number in range(steps):
        program.step(machine, number)
    return machine.run


def _step_ns(run: Run) -> Integers:
    return np.diff(np.rint([0.0, *run.step_done]).astype(np.int64))


def _recorders(
    columns: RunColumns, faults: Sequence[Fault], hosts: Hosts, settings: Settings, seed: int
) -> list[Recorder]:
    rng = np.random.default_rng([seed, 202])
    count = hosts.rank_count
    last_ns = max(columns.last_ns, float(columns.run.step_ends[-1].max())) + 1
    offsets = rng.integers(-settings.offset_ns, settings.offset_ns + 1, count)
    drifts = rng.uniform(-settings.drift_ppm, settings.drift_ppm, count)
    spread_ns = settings.recording_spread * last_ns / len(columns.run.step_done)
    begins = rng.uniform(0, spread_ns, count)
    ends = last_ns - rng.uniform(0, spread_ns, count)
    slower = {
        rank
        for fault in faults
        if fault.kind is FaultKind.OTHER_GPU_MODEL
        for rank in (*fault.ranks, *(each for host in fault.hosts for each in hosts.ranks_of(host)))
    }
    recorders = [
        Recorder(
            rank,
            TrueClock(int(offsets[rank]), float(drifts[rank])),
            float(begins[rank]),
            float(ends[rank]),
            SLOWER_GPU if rank in slower else Gpu(),
        )
        for rank in range(count)
    ]
    for fault in faults:
        for rank in fault.ranks:
            recorders[rank] = _spoiled(recorders[rank], fault, columns, settings, rng)
    return recorders


def _spoiled(
    recorder: Recorder,
    fault: Fault,
    columns: RunColumns,
    settings: Settings,
    rng: np.random.Generator,
) -> Recorder:
    """The recorder of a rank with a fault of files."""
    clock, last_ns = recorder.clock, columns.last_ns
    if fault.kind is FaultKind.HALF_FILE:
        return replace(recorder, end_ns=(1 - fault.size) * last_ns)
    if fault.kind is FaultKind.RESTART:
        offset_ns = int(rng.integers(-settings.offset_ns, settings.offset_ns + 1))
        restarted = TrueClock(offset_ns, clock.drift_ppm)
        return replace(recorder, begin_ns=fault.size * last_ns, clock=restarted)
    if fault.kind is FaultKind.CLOCK_JUMP:
        jump_ns = max(1_000_000, settings.offset_ns // 2)
        jumped = replace(clock, jump_at_ns=int(0.5 * last_ns), jump_ns=jump_ns)
        return replace(recorder, clock=jumped)
    if fault.kind is FaultKind.MISSING_COLLECTIVES:
        exchanges = _true_exchanges(columns, recorder).exchange
        count = max(1, round(fault.size * len(exchanges)))
        first = len(exchanges) // 3
        return replace(
            recorder, lost_exchanges=frozenset(exchanges[first : first + count].tolist())
        )
    return recorder


def _true_exchanges(columns: RunColumns, recorder: Recorder) -> TrueExchanges:
    rows = rank_rows(columns, recorder)
    exchange = columns.exchange[rows.op, recorder.rank].astype(np.int64)
    is_collective = exchange >= 0
    return TrueExchanges(recorder.clock.own(rows.start[is_collective]), exchange[is_collective])


def _ranks_with(faults: Sequence[Fault], kind: FaultKind) -> tuple[int, ...]:
    return tuple(rank for fault in faults if fault.kind is kind for rank in fault.ranks)
