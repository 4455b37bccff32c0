"""Mixture of experts: tokens go to the ranks of their experts and back, not evenly."""

from __future__ import annotations

from dataclasses import replace

from tests.rank_jobs.layout import Layouts
from tests.rank_jobs.machine import Kernel, Machine, all_reduce, all_to_all, norm_reduce
from tests.rank_jobs.noise import Values
from tests.rank_jobs.programs.kernels import (
    ATTENTION_BLOCK,
    EXPERTS,
    OPTIMIZER,
    ROUTER,
    backward,
)

_LAYERS = 4
_TOKEN_BYTES = 8 << 20
_GRADIENT_BYTES = 24 << 20
_EXPERT_QUEUE, _DATA_QUEUE = 20, 24
_IMBALANCE = 0.03
"""How uneven tokens are, differently each time."""


class Experts:
    """A step: attention of the rank's own tokens, experts of whatever tokens come."""

    def __init__(self, layouts: Layouts, rank_count: int, size: int, reads_back_every: int) -> None:
        self._reads_back_every = reads_back_every
        self._experts = layouts.rows("expert_parallel", size)
        self._world = layouts.world
        self._exchange = all_to_all(_TOKEN_BYTES, size)
        self._gradients = all_reduce(_GRADIENT_BYTES, rank_count)
        # Only experts get more work when tokens are uneven.
        self._attention = tuple(
            replace(kernel, grows=False) for kernel in (*ATTENTION_BLOCK, ROUTER)
        )
        self._experts_back = replace(
            EXPERTS, nominal_ns=2 * EXPERTS.nominal_ns, work_items=2 * EXPERTS.work_items
        )

    def step(self, machine: Machine, number: int) -> None:
        machine.begin_step()
        shares = [machine.noise.imbalance(_IMBALANCE, machine.rank_count) for _ in range(_LAYERS)]
        for share in shares:
            for kernel in self._attention:
                machine.kernel(kernel)
            self._routed(machine, EXPERTS, share)
        reduced = None
        for layer, share in enumerate(reversed(shares)):
            self._routed(machine, self._experts_back, share)
            for kernel in backward(self._attention):
                machine.kernel(kernel)
            if layer % 2 == 1:
                reduced = machine.collective(self._world, self._gradients, _DATA_QUEUE)
        if reduced is not None:
            machine.compute_waits_for(reduced)
        norm = norm_reduce(self._world.size)
        machine.compute_waits_for(machine.collective(self._world, norm, _DATA_QUEUE))
        for _ in range(2):
            machine.kernel(OPTIMIZER)
        machine.end_step(waits_for_gpu=(number + 1) % self._reads_back_every == 0)

    def _routed(self, machine: Machine, experts: Kernel, share: Values) -> None:
        """Tokens to their experts, the experts' work, and back."""
        even = share**0
        received = share * machine.work
        there = machine.collective(
            self._experts, self._exchange, _EXPERT_QUEUE, in_share=even, out_share=received
        )
        machine.compute_waits_for(there)
        machine.kernel(experts, work=share)
        back = machine.collective(
            self._experts, self._exchange, _EXPERT_QUEUE, in_share=received, out_share=even
        )
        machine.compute_waits_for(back)
