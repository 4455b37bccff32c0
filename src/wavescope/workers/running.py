"""Runs a task over all items, and once more over those whose worker was lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from wavescope.workers.answers import Answer
from wavescope.workers.engine_options import EngineOptions
from wavescope.workers.local_pool import InThisProcess, LocalPool
from wavescope.workers.remaining_time import RemainingTime, RunProgress, tell_no_progress
from wavescope.workers.tasks import Outcome, Task


class Engine(Protocol):
    """Whatever can work on the items of one run."""

    def answers(self, indices: Iterable[int]) -> Iterator[tuple[int, Answer]]:
        """Each of `indices` with the answer to its item, as they come."""

    def answer_alone(self, index: int) -> Answer:
        """The answer to one item, while no other is worked on."""

    def close(self) -> None:
        """End all work."""


def run_all(
    task: Task,
    items: Sequence[str],
    options: EngineOptions,
    progress: RunProgress = tell_no_progress,
    *,
    weights: Sequence[int] = (),
) -> list[Outcome]:
    """What came of each item, in the order of `items`.

    `weights` (the bytes of each file) let the largest begin first and make the time that is left a
    better guess. Ctrl-C, or any other exception in here, ends all work before it goes on.
    """
    if weights and len(weights) != len(items):
        raise ValueError("there must be a weight for each item")
    if not items:
        return []
    engine = _engine(task, items, options)
    try:
        return _outcomes(engine, items, weights, progress)
    finally:
        engine.close()


def _engine(task: Task, items: Sequence[str], options: EngineOptions) -> Engine:
    if options.uses_dask:
        # Dask takes 0.7 s to import, and need not be there.
        from wavescope.workers.dask_engine import DaskEngine  # noqa: PLC0415

        return DaskEngine(task, items, options)
    return InThisProcess(task, items) if options.workers == 0 else LocalPool(task, items, options)


def _outcomes(
    engine: Engine, items: Sequence[str], weights: Sequence[int], progress: RunProgress
) -> list[Outcome]:
    remaining = RemainingTime(len(items), weights)
    outcomes: dict[int, Outcome] = {}

    def finish(index: int, answer: Answer, attempts: int) -> None:
        outcomes[index] = Outcome(
            index,
            items[index],
            answer.value,
            answer.problem,
            attempts,
            answer.details,
            answer.hint,
        )
        progress(len(outcomes), len(items), remaining.finish(index))

    order = sorted(range(len(items)), key=lambda index: -weights[index] if weights else 0)
    suspects = []
    for index, answer in engine.answers(order):
        if answer.is_lost:
            # Perhaps another item was what took the memory: this one gets a second try, alone.
            suspects.append(index)
        else:
            finish(index, answer, attempts=1)
    for index in suspects:
        finish(index, engine.answer_alone(index), attempts=2)
    return [outcomes[index] for index in range(len(items))]
