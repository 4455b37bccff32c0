"""Items are worked on by the workers of a Dask cluster."""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from wavescope.closing import Closing, on_error
from wavescope.workers.answers import Answer, shortened
from wavescope.workers.dask_clusters import connected, needed
from wavescope.workers.engine_options import EngineOptions
from wavescope.workers.on_dask_worker import RemoteAnswer, RunPlan, answer_on_worker, end_run
from wavescope.workers.tasks import Task
from wavescope.workers.undisturbed import undisturbed
from wavescope.workers.worker_watch import WorkerWatch, connection_lost

_LOOK_S = 0.5
_END_S = 5.0
_RETRIES = 2


class DaskEngine(Closing):
    """A client of one cluster, for one run."""

    def __init__(self, task: Task, items: Sequence[str], options: EngineOptions) -> None:
        self._items = items
        self._options = options
        self._plan = RunPlan(
            f"wavescope-{uuid.uuid4().hex}",
            task,
            options.memory_limit_bytes,
            options.item_limit_s,
        )
        self._futures: dict[str, Any] = {}
        self._asked_count = 0
        self._stack = ExitStack()
        with on_error(self._stack.close):
            needed("distributed", "cluster")
            self._stack.enter_context(undisturbed())
            self._client = self._stack.enter_context(connected(options, len(items)))
            self._watch = WorkerWatch(self._client, options)
            self._stack.callback(self._end)

    def answers(self, indices: Iterable[int]) -> Iterator[tuple[int, Answer]]:
        """Each of `indices` with the answer to its item, as they come."""
        import distributed  # noqa: PLC0415  it need not be there

        index_of = self._asked(list(indices))
        finished = distributed.as_completed(
            list(self._futures.values()),
            loop=self._client.loop,
            with_results=True,
            raise_errors=False,
        )
        while self._futures:
            batch = finished.next_batch(block=False)
            if not batch:
                self._watch.look()
                with finished.thread_condition:
                    if not finished.has_ready():
                        finished.thread_condition.wait(_LOOK_S)
            for future, result in batch:
                del self._futures[future.key]
                yield index_of[future.key], self._answer(index_of[future.key], future, result)
                future.release()

    def answer_alone(self, index: int) -> Answer:
        """The answer to one item, while this run has no other."""
        return next(answer for _, answer in list(self.answers([index])))

    def close(self) -> None:
        """Cancel what is left of this run, and close what was opened for it."""
        self._stack.close()

    def _asked(self, indices: list[int]) -> dict[str, int]:
        """The index of each key; its future is among `_futures`."""
        self._asked_count += 1
        keys = [f"{self._plan.name}-{self._asked_count}-{index}" for index in indices]
        futures = self._client.map(
            answer_on_worker,
            [self._items[index] for index in indices],
            plan=self._plan,
            key=keys,
            pure=False,
            retries=_RETRIES,
        )
        self._futures = dict(zip(keys, futures, strict=True))
        return dict(zip(keys, indices, strict=True))

    def _answer(self, index: int, future: Any, result: Any) -> Answer:
        if future.status == "finished":
            return _told(result, self._items[index])
        if future.status == "error":
            return _failed(result[1])
        raise connection_lost(self._options)

    def _end(self) -> None:
        """Leave nothing of this run on the cluster, as far as it still answers."""
        with contextlib.suppress(OSError, TimeoutError, RuntimeError):
            if self._futures:
                self._client.cancel(list(self._futures.values()), force=True)
            self._client.sync(
                self._client._run,
                end_run,
                self._plan.name,
                on_error="ignore",
                callback_timeout=_END_S,
            )
        self._futures.clear()


def _told(remote: RemoteAnswer, item: str) -> Answer:
    """The answer; a file that is here and not there is a matter of the machine."""
    answer = remote.answer
    if answer.problem and not remote.has_item and os.path.lexists(item):
        problem = f"{answer.problem}; it is on this machine, but not on {remote.host}"
        return replace(answer, problem=problem, hint="")
    return answer


def _failed(error: BaseException) -> Answer:
    """What Dask says of an item that came to no answer, after tries of its own."""
    if type(error).__name__ == "KilledWorker":
        count = getattr(error, "allowed_failures", 0) + 1
        # Dask blames all items that a lost worker had; only a try alone shows which one it was.
        return Answer(problem=f"{count} Dask workers were lost that worked on it", is_lost=True)
    return Answer(problem=shortened(f"no Dask worker could do it: {type(error).__name__}: {error}"))
