"""Labelled jobs to score verdicts by: every kind of fault in every way of sharing work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from tests.rank_jobs.faults import Fault, FaultKind
from tests.rank_jobs.job import SimulatedJob
from tests.rank_jobs.simulate import Topology, simulated

STEPS = 20


@dataclass(frozen=True)
class Case:
    """One job to look at."""

    name: str
    """What is wrong and how much, without topology and seed."""
    topology: Topology
    faults: tuple[Fault, ...]
    seed: int
    ranks: int = 8
    steps: int = STEPS
    settings: dict[str, object] = field(default_factory=dict)

    def job(self) -> SimulatedJob:
        """The simulated job."""
        return simulated(
            self.topology,
            self.faults,
            seed=self.seed,
            ranks=self.ranks,
            steps=self.steps,
            **self.settings,
        )

    @property
    def title(self) -> str:
        return f"{self.topology.name} {self.name} seed {self.seed}"


_RANK_FAULTS = (
    ("lower clock 2 %", FaultKind.SLOW_COMPUTE, 0.02),
    ("lower clock 5 %", FaultKind.SLOW_COMPUTE, 0.05),
    ("lower clock 10 %", FaultKind.SLOW_COMPUTE, 0.10),
    ("lower clock 30 %", FaultKind.SLOW_COMPUTE, 0.30),
    ("more work 10 %", FaultKind.MORE_WORK, 0.10),
    ("more work 40 %", FaultKind.MORE_WORK, 0.40),
    ("late data 5 %", FaultKind.LATE_DATA, 0.05),
    ("late data 20 %", FaultKind.LATE_DATA, 0.20),
    ("late python 30 %", FaultKind.LATE_PYTHON, 0.30),
    ("late python 60 %", FaultKind.LATE_PYTHON, 0.60),
)
_PASSING_FAULTS = (
    ("lower clock 20 %", FaultKind.SLOW_COMPUTE, 0.20),
    ("more work 40 %", FaultKind.MORE_WORK, 0.40),
    ("late data 20 %", FaultKind.LATE_DATA, 0.20),
)
_LINK_SETTINGS: dict[str, object] = {"gpus_per_host": 4, "group_size": 4}
"""With several groups there are arguments, too: kernels' names do not tell who sends to whom."""
_GROUPED = (Topology.TENSOR, Topology.PIPELINE, Topology.EXPERTS)
_WHOLE = (Topology.DDP, Topology.FSDP)
_HOSTED = (Topology.DDP, Topology.FSDP, Topology.TENSOR, Topology.PIPELINE, Topology.EXPERTS)


def labelled_cases(repeats: int, seed: int) -> Iterator[Case]:
    """All kinds of faults that have a culprit, `repeats` jobs of each."""
    for repeat in range(repeats):
        for topology in Topology:
            yield from _rank_cases(topology, _Draw(seed, repeat, topology))
        for topology in _HOSTED:
            yield from _host_cases(topology, _Draw(seed + 1, repeat, topology))
        for topology in (*_GROUPED, *_WHOLE):
            yield from _link_cases(topology, _Draw(seed + 2, repeat, topology))


def clean_cases(count: int, seed: int) -> Iterator[Case]:
    """Jobs with nothing wrong, of all topologies and sizes."""
    topologies = list(Topology)
    for number in range(count):
        topology = topologies[number % len(topologies)]
        draw = _Draw(seed + 3, number, topology)
        ranks = draw.ranks(topology)
        yield Case("clean", topology, (), draw.seed(), ranks, settings=draw.settings())


def spoiled_cases(repeats: int, seed: int) -> Iterator[Case]:
    """A slow rank in jobs of which the file of another one is spoiled."""
    for repeat in range(repeats):
        for topology in Topology:
            draw = _Draw(seed + 4, repeat, topology)
            for kind, size in (
                (FaultKind.MISSING_FILE, 1.0),
                (FaultKind.HALF_FILE, 0.5),
                (FaultKind.RESTART, 0.4),
                (FaultKind.CLOCK_JUMP, 1.0),
                (FaultKind.MISSING_COLLECTIVES, 0.05),
            ):
                ranks = draw.ranks(topology)
                slow, spoiled = draw.rng.choice(ranks, 2, replace=False).tolist()
                faults = (
                    Fault(FaultKind.SLOW_COMPUTE, (slow,), size=0.2),
                    Fault(kind, (spoiled,), size=size),
                )
                name = kind.name.lower().replace("_", " ")
                yield Case(name, topology, faults, draw.seed(), ranks, settings=draw.settings())


class _Draw:
    """What is different from case to case, by seed."""

    def __init__(self, seed: int, repeat: int, topology: Topology) -> None:
        self.rng = np.random.default_rng([seed, repeat, list(Topology).index(topology)])

    def seed(self) -> int:
        return int(self.rng.integers(1 << 30))

    def ranks(self, topology: Topology) -> int:
        # Replicas that decode on their own share nothing by which they could be compared.
        sizes = (4, 8) if topology is Topology.DECODE else (8, 8, 16, 32)
        return int(self.rng.choice(sizes))

    def rank(self, count: int) -> int:
        return int(self.rng.integers(count))

    def settings(self) -> dict[str, object]:
        return {
            "arguments": bool(self.rng.random() < 0.7),
            "has_own_group_names": bool(self.rng.random() < 0.5),
            "offset_ns": int(self.rng.choice([5_000_000, 5_000_000, 3_000_000_000])),
            "reads_back_every": int(self.rng.choice([1, 1, 4])),
        }


def _rank_cases(topology: Topology, draw: _Draw) -> Iterator[Case]:
    for name, kind, size in _RANK_FAULTS:
        ranks = draw.ranks(topology)
        fault = Fault(kind, (draw.rank(ranks),), size=size)
        yield Case(name, topology, (fault,), draw.seed(), ranks, settings=draw.settings())
    for name, kind, size in _PASSING_FAULTS:
        # A host that runs ahead over several steps would hide most of a late one's few steps.
        always = {"reads_back_every": 1} if kind is FaultKind.LATE_DATA else {}
        ranks = draw.ranks(topology)
        fault = Fault(kind, (draw.rank(ranks),), size=size, steps=(8, 14))
        settings = draw.settings() | always
        passing = f"{name}, 6 of {STEPS} steps"
        yield Case(passing, topology, (fault,), draw.seed(), ranks, settings=settings)
        ranks = draw.ranks(topology)
        chosen = tuple(draw.rng.choice(ranks, 4, replace=False).tolist())
        fault = Fault(kind, chosen, size=size, rotate_every=2)
        settings = draw.settings() | always
        rotating = f"{name}, rotating"
        yield Case(rotating, topology, (fault,), draw.seed(), ranks, settings=settings)


def _host_cases(topology: Topology, draw: _Draw) -> Iterator[Case]:
    for name, kind, size in (
        ("slow host 10 %", FaultKind.SLOW_HOST, 0.10),
        ("other GPU model 25 %", FaultKind.OTHER_GPU_MODEL, 0.25),
    ):
        ranks = int(draw.rng.choice([16, 32]))
        fault = Fault(kind, hosts=(int(draw.rng.integers(ranks // 4)),), size=size)
        settings = draw.settings() | {"gpus_per_host": 4}
        yield Case(name, topology, (fault,), draw.seed(), ranks, settings=settings)


def _link_cases(topology: Topology, draw: _Draw) -> Iterator[Case]:
    whole = topology in _WHOLE
    for size in (1.0, 3.0):
        # One group of all ranks has no other to be compared with, only other steps.
        steps = (8, 14) if whole else None
        name = f"slow link x{1 + size:.0f}" + (f", 6 of {STEPS} steps" if whole else "")
        rank = int(draw.rng.integers(16))
        settings = draw.settings() | _LINK_SETTINGS | ({} if whole else {"arguments": True})
        fault = Fault(FaultKind.SLOW_LINK, (rank,), size=size, steps=steps)
        yield Case(name, topology, (fault,), draw.seed(), 16, settings=settings)
    if topology is Topology.PIPELINE:
        fault = Fault(FaultKind.SLOW_LINK, hosts=(1, 2), size=3.0)
        settings = draw.settings() | _LINK_SETTINGS | {"arguments": True}
        name = "slow link x4 between two hosts"
        yield Case(name, topology, (fault,), draw.seed(), 16, settings=settings)
