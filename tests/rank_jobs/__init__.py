"""Simulated jobs of many ranks with labels: who is late, why, by how much, and what clocks say.

job = simulated(Topology.DDP, [Fault(FaultKind.SLOW_COMPUTE, ranks=(3,), size=0.1)], seed=1)
job.digests()             # through the real code
job.truth.label.places    # (3,)
job.truth.delay_ns        # per step, against the same job without the fault
"""

from tests.rank_jobs.faults import Fault, FaultKind
from tests.rank_jobs.job import SimulatedJob
from tests.rank_jobs.simulate import Settings, Topology, simulated
from tests.rank_jobs.truth import Label, TrueClock, Truth

__all__ = [
    "Fault",
    "FaultKind",
    "Label",
    "Settings",
    "SimulatedJob",
    "Topology",
    "TrueClock",
    "Truth",
    "simulated",
]
