"""What faults do to the run, for each step and rank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tests.rank_jobs.faults import Fault, FaultKind
from tests.rank_jobs.layout import Hosts, Layout
from tests.rank_jobs.noise import Values

_SLOW = frozenset({FaultKind.SLOW_COMPUTE, FaultKind.OTHER_GPU_MODEL, FaultKind.SLOW_HOST})
PYTHON_STALLS = (0.25,)
"""At which of the launches of a step the host stalls."""


@dataclass(frozen=True)
class Conditions:
    """[step, rank] each; without faults ones and zeros."""

    slowdown: Values
    """How much longer kernels take that the clock bounds."""
    work: Values
    """How much larger launches are."""
    data_stall_ns: Values
    python_stall_ns: Values
    link_faults: tuple[Fault, ...]
    hosts: Hosts

    def transfer_factors(self, step: int, layout: Layout) -> Values:
        """How much longer the transfers of each group take in this step."""
        factors = np.ones(len(layout.members))
        for fault in self.link_faults:
            if fault.is_active(step):
                factors[self._is_slowed(fault, step, layout)] *= 1 + fault.size
        return factors

    def pair_factors(self, step: int, senders: np.ndarray, receivers: np.ndarray) -> Values:
        """The same for transfers between pairs of ranks."""
        layout = Layout("", np.stack((senders, receivers), axis=1), ())
        return self.transfer_factors(step, layout)

    def _is_slowed(self, fault: Fault, step: int, layout: Layout) -> np.ndarray:
        if fault.hosts:
            of = self.hosts.of_rank[layout.members]
            return np.all([(of == host).any(axis=1) for host in fault.hosts], axis=0)
        return np.isin(layout.members, fault.active_ranks(step)).any(axis=1)


def conditions_of(
    faults: Sequence[Fault], hosts: Hosts, step_count: int, clean_step_ns: float
) -> Conditions:
    """What these faults do; stalls are told as a share of `clean_step_ns`."""
    shape = (step_count, hosts.rank_count)
    slowdown, work = np.ones(shape), np.ones(shape)
    data_stall_ns, python_stall_ns = np.zeros(shape), np.zeros(shape)
    for fault in faults:
        for step in range(step_count):
            ranks = list(ranks_of(fault, hosts, step))
            if fault.kind in _SLOW:
                slowdown[step, ranks] *= 1 + fault.size
            elif fault.kind is FaultKind.MORE_WORK:
                work[step, ranks] *= 1 + fault.size
            elif fault.kind is FaultKind.LATE_DATA:
                data_stall_ns[step, ranks] += fault.size * clean_step_ns
            elif fault.kind is FaultKind.LATE_PYTHON:
                python_stall_ns[step, ranks] += fault.size * clean_step_ns
    links = tuple(fault for fault in faults if fault.kind is FaultKind.SLOW_LINK)
    return Conditions(slowdown, work, data_stall_ns, python_stall_ns, links, hosts)


def ranks_of(fault: Fault, hosts: Hosts, step: int) -> tuple[int, ...]:
    """The ranks that have a fault in a step, of hosts too."""
    if fault.hosts and fault.is_active(step):
        return tuple(rank for host in fault.hosts for rank in hosts.ranks_of(host))
    return fault.active_ranks(step)
