"""Decoding with a tensor parallel model: a graph of small kernels for each token."""

from __future__ import annotations

from tests.rank_jobs.layout import Layouts
from tests.rank_jobs.machine import Kernel, Machine, all_reduce
from tests.rank_jobs.programs.kernels import (
    ATTENTION_BLOCK,
    LOGITS,
    MLP_BLOCK,
    scaled,
)

_LAYERS = 8
_ACTIVATION_BYTES = 256 << 10
_QUEUE = 20
_SCHEDULING_NS = 120_000.0
_INPUTS = Kernel("prepare_inputs_kernel", 6_000, 1 << 12, clock_share=0.3)
_SAMPLE = Kernel("topk_topp_sampling_kernel", 30_000, 1 << 16)


class Decode:
    """A step: the inputs, one graph, and the sampled tokens that the host waits for."""

    def __init__(self, layouts: Layouts, size: int) -> None:
        self._tensor = layouts.rows("tensor_parallel", size)
        self._activation = all_reduce(_ACTIVATION_BYTES, size)
        self._blocks = (scaled(ATTENTION_BLOCK, 0.2), scaled(MLP_BLOCK, 0.2))
        self._logits = scaled((LOGITS,), 0.3)[0]

    def step(self, machine: Machine, number: int) -> None:
        machine.begin_step(_SCHEDULING_NS)
        for _ in range(3):
            machine.kernel(_INPUTS)
        machine.begin_graph()
        for _ in range(_LAYERS):
            for block in self._blocks:
                for kernel in block:
                    machine.kernel(kernel)
                machine.compute_waits_for(
                    machine.collective(self._tensor, self._activation, _QUEUE)
                )
        machine.kernel(self._logits)
        machine.end_graph()
        machine.kernel(_SAMPLE)
        machine.end_step(waits_for_gpu=True)
