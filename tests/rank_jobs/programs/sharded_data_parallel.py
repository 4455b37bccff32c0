"""FSDP: parameters are gathered before each layer, gradients scattered after it."""

from __future__ import annotations

from collections.abc import Sequence

from tests.rank_jobs.layout import Layouts
from tests.rank_jobs.machine import Kernel, Machine, all_gather, norm_reduce, reduce_scatter
from tests.rank_jobs.programs.kernels import (
    ATTENTION_BLOCK,
    LOGITS,
    MLP_BLOCK,
    OPTIMIZER,
    backward,
)

_LAYERS = 5
_LAYER_BYTES = 24 << 20
_QUEUE = 20


class ShardedDataParallel:
    """A step: the parameters of the next layer are fetched while one is computed."""

    def __init__(self, layouts: Layouts, reads_back_every: int) -> None:
        self._reads_back_every = reads_back_every
        self._world = layouts.world
        self._gather = all_gather(_LAYER_BYTES, self._world.size)
        self._scatter = reduce_scatter(_LAYER_BYTES, self._world.size)

    def step(self, machine: Machine, number: int) -> None:
        machine.begin_step()
        forward = (*ATTENTION_BLOCK, *MLP_BLOCK)
        self._pass(machine, forward, scatters=False)
        machine.kernel(LOGITS)
        self._pass(machine, backward(forward), scatters=True)
        norm = norm_reduce(self._world.size)
        machine.compute_waits_for(machine.collective(self._world, norm, _QUEUE))
        for _ in range(2):
            machine.kernel(OPTIMIZER)
        machine.end_step(waits_for_gpu=(number + 1) % self._reads_back_every == 0)

    def _pass(self, machine: Machine, kernels: Sequence[Kernel], *, scatters: bool) -> None:
        before = machine.compute_done()
        gathered = machine.collective(self._world, self._gather, _QUEUE)
        for layer in range(_LAYERS):
            following = None
            if layer + 1 < _LAYERS:
                # Its memory is that of the layer before this one.
                following = machine.collective(self._world, self._gather, _QUEUE, after=before)
            machine.compute_waits_for(gathered)
            for kernel in kernels:
                machine.kernel(kernel)
            before = machine.compute_done()
            if scatters:
                scattered = machine.collective(self._world, self._scatter, _QUEUE)
            if following is not None:
                gathered = following
        if scatters:
            machine.compute_waits_for(scattered)
