"""DDP: all-reduces of gradients in buckets while the backward pass goes on."""

from __future__ import annotations

from tests.rank_jobs.layout import Layouts
from tests.rank_jobs.machine import Machine, all_reduce
from tests.rank_jobs.programs.kernels import (
    ATTENTION_BLOCK,
    LOGITS,
    MLP_BLOCK,
    OPTIMIZER,
    backward,
)

_LAYERS = 6
_LAYERS_PER_BUCKET = 2
_FIRST_BUCKET_BYTES = 1 << 20
"""PyTorch makes the first one small, so that communication begins early."""
_BUCKET_BYTES = 32 << 20
_QUEUE = 20


class DataParallel:
    """A step: forward, backward with buckets, optimizer."""

    def __init__(self, layouts: Layouts, reads_back_every: int) -> None:
        self._reads_back_every = reads_back_every
        self._world = layouts.world
        self._bucket = all_reduce(_BUCKET_BYTES, self._world.size)
        self._first_bucket = all_reduce(_FIRST_BUCKET_BYTES, self._world.size)

    def step(self, machine: Machine, number: int) -> None:
        machine.begin_step()
        for _ in range(_LAYERS):
            for kernel in (*ATTENTION_BLOCK, *MLP_BLOCK):
                machine.kernel(kernel)
        machine.kernel(LOGITS)
        reduced = machine.collective(self._world, self._first_bucket, _QUEUE)
        for layer in range(_LAYERS):
            for kernel in (*backward(MLP_BLOCK), *backward(ATTENTION_BLOCK)):
                machine.kernel(kernel)
            if (layer + 1) % _LAYERS_PER_BUCKET == 0:
                reduced = machine.collective(self._world, self._bucket, _QUEUE)
        machine.compute_waits_for(reduced)
        for _ in range(4):
            machine.kernel(OPTIMIZER)
        machine.end_step(waits_for_gpu=(number + 1) % self._reads_back_every == 0)
