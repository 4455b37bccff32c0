"""A pipeline of stages, one forward and one backward in turn, times data parallel ranks."""

from __future__ import annotations

import numpy as np

from tests.rank_jobs.layout import Layouts
from tests.rank_jobs.machine import Machine, PendingSend, all_reduce, norm_reduce
from tests.rank_jobs.programs.kernels import (
    ATTENTION_BLOCK,
    MLP_BLOCK,
    OPTIMIZER,
    backward,
    scaled,
)

_MICROBATCHES = 8
_ACTIVATION_BYTES = 2 << 20
_GRADIENT_BYTES = 24 << 20
_DATA_QUEUE, _WORLD_QUEUE = 20, 24
_FORWARD_QUEUES = (30, 31)
"""Where a stage sends to the next, and receives from the one before."""
_BACKWARD_QUEUES = (32, 33)

Task = tuple[bool, int]
"""Whether it is a forward pass, and of which microbatch."""


class Pipeline:
    """A step: microbatches through all stages and back, then gradients and the optimizer."""

    def __init__(
        self, layouts: Layouts, rank_count: int, stage_count: int, reads_back_every: int
    ) -> None:
        self._reads_back_every = reads_back_every
        width = rank_count // stage_count
        self._world = layouts.world
        self._stages = np.arange(rank_count).reshape(stage_count, width)
        self._pipeline = layouts.columns("pipeline_parallel", width)
        self._data = layouts.rows("data_parallel", width) if width > 1 else None
        self._forward = scaled((*ATTENTION_BLOCK, *MLP_BLOCK), 0.5)
        self._backward = backward(self._forward)

    def step(self, machine: Machine, number: int) -> None:
        machine.begin_step()
        sent: dict[tuple[int, Task], PendingSend] = {}
        tasks = [schedule(stage, len(self._stages)) for stage in range(len(self._stages))]
        while any(tasks):
            for stage, waiting in enumerate(tasks):
                if waiting and self._is_ready(stage, waiting[0], sent):
                    self._run(machine, stage, waiting.pop(0), sent)
        for ranks in self._stages:
            if self._data is not None:
                gradients = all_reduce(_GRADIENT_BYTES, self._data.size)
                reduced = machine.collective(self._data, gradients, _DATA_QUEUE, who=ranks)
                machine.compute_waits_for(reduced, ranks)
        norm = norm_reduce(self._world.size)
        machine.compute_waits_for(machine.collective(self._world, norm, _WORLD_QUEUE))
        for _ in range(2):
            machine.kernel(OPTIMIZER)
        machine.end_step(waits_for_gpu=(number + 1) % self._reads_back_every == 0)

    def _source(self, stage: int, task: Task) -> int | None:
        """The stage that a task gets its input from, None if from nobody."""
        source = stage - 1 if task[0] else stage + 1
        return source if 0 <= source < len(self._stages) else None

    def _is_ready(self, stage: int, task: Task, sent: dict[tuple[int, Task], PendingSend]) -> bool:
        source = self._source(stage, task)
        return source is None or (source, task) in sent

    def _run(
        self, machine: Machine, stage: int, task: Task, sent: dict[tuple[int, Task], PendingSend]
    ) -> None:
        ranks, source = self._stages[stage], self._source(stage, task)
        queues = _FORWARD_QUEUES if task[0] else _BACKWARD_QUEUES
        if source is not None:
            got = machine.receive(
                self._pipeline, _ACTIVATION_BYTES, sent[source, task], ranks, queues
            )
            machine.compute_waits_for(got, ranks)
        for kernel in self._forward if task[0] else self._backward:
            machine.kernel(kernel, ranks)
        target = stage + 1 if task[0] else stage - 1
        if 0 <= target < len(self._stages):
            sent[stage, task] = machine.send(ranks)


def schedule(stage: int, stage_count: int) -> list[Task]:
    """The order of a stage's passes: forwards until the first comes back, then in turn."""
    ahead = min(stage_count - 1 - stage, _MICROBATCHES)
    order: list[Task] = [(True, number) for number in range(ahead)]
    for number in range(_MICROBATCHES):
        if number + ahead < _MICROBATCHES:
            order.append((True, number + ahead))
        order.append((False, number))
    return order
