"""Tensor parallel groups that wait for each all-reduce, times data parallel ones."""

from __future__ import annotations

from tests.rank_jobs.layout import Layouts
from tests.rank_jobs.machine import Kernel, Machine, all_reduce, norm_reduce
from tests.rank_jobs.programs.kernels import (
    ATTENTION_BLOCK,
    MLP_BLOCK,
    OPTIMIZER,
    backward,
    scaled,
)

_LAYERS = 5
_ACTIVATION_BYTES = 8 << 20
_GRADIENT_BYTES = 24 << 20
_TENSOR_QUEUE, _DATA_QUEUE, _WORLD_QUEUE = 20, 24, 28


class TensorParallel:
    """A step: blocks that end in all-reduces, then gradients over the data parallel ranks."""

    def __init__(self, layouts: Layouts, rank_count: int, size: int, reads_back_every: int) -> None:
        self._reads_back_every = reads_back_every
        self._world = layouts.world
        self._tensor = layouts.rows("tensor_parallel", size)
        self._data = layouts.columns("data_parallel", size) if rank_count > size else None
        self._activation = all_reduce(_ACTIVATION_BYTES, size)
        self._blocks = (scaled(ATTENTION_BLOCK, 0.5), scaled(MLP_BLOCK, 0.5))

    def step(self, machine: Machine, number: int) -> None:
        machine.begin_step()
        for _ in range(_LAYERS):
            for block in self._blocks:
                self._block(machine, block)
        reduced = None
        for layer in range(_LAYERS):
            for block in reversed(self._blocks):
                self._block(machine, backward(block))
            if self._data is not None and layer % 2 == 1:
                gradients = all_reduce(_GRADIENT_BYTES, self._data.size)
                reduced = machine.collective(self._data, gradients, _DATA_QUEUE)
        if reduced is not None:
            machine.compute_waits_for(reduced)
        norm = norm_reduce(self._world.size)
        machine.compute_waits_for(machine.collective(self._world, norm, _WORLD_QUEUE))
        for _ in range(2):
            machine.kernel(OPTIMIZER)
        machine.end_step(waits_for_gpu=(number + 1) % self._reads_back_every == 0)

    def _block(self, machine: Machine, kernels: tuple[Kernel, ...]) -> None:
        for kernel in kernels:
            machine.kernel(kernel)
        machine.compute_waits_for(machine.collective(self._tensor, self._activation, _TENSOR_QUEUE))
