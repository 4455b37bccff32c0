"""Numbers that are unique in a session, from numbers that are unique in a process.

Two processes may call different GPUs by the same number (visible-device variables do that) or the
same GPU by different ones; the device's uuid tells, else its place in the machine. Queues of
different processes on one GPU are different queues.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from wavescope.formats.session.reading.facts import integer, text
from wavescope.formats.session.reading.op_rows import OpSurvey
from wavescope.formats.session.reading.process import ProcessChunks
from wavescope.formats.session.record_file import Lookup, RecordedQueue, queue_key

_NO_UUID = {"", "GPU-XX", "GPU-0000000000000000"}


@dataclass(frozen=True)
class NumberedQueue:
    """A queue of the trace."""

    process: int
    gpu: int
    queue: int
    recorded: RecordedQueue


@dataclass
class Numbering:
    """GPU and queue numbers of a session."""

    gpus: list[dict[int, int]] = field(default_factory=list)
    """By process: local GPU number -> number in the trace."""
    queues: list[NumberedQueue] = field(default_factory=list)
    queue_numbers: list[Lookup] = field(default_factory=list)
    """By process: queue key -> queue number within its GPU."""
    seen_by: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    """By GPU of the trace: the processes that know it."""


def number(processes: Sequence[ProcessChunks], surveys: Sequence[OpSurvey]) -> Numbering:
    """Numbers for the GPUs and queues that `processes` name or that their ops ran on."""
    numbering = Numbering()
    by_identity: dict[tuple[str, str], int] = {}
    next_queue: dict[int, int] = defaultdict(int)
    for index, (process, survey) in enumerate(zip(processes, surveys, strict=True)):
        keys = _queue_keys(process, survey)
        local = set(process.facts.agents) | {RecordedQueue.from_key(key).gpu for key in keys}
        gpus = {gpu: _gpu_number(by_identity, process, gpu) for gpu in sorted(local)}
        numbering.gpus.append(gpus)
        for gpu in gpus.values():
            numbering.seen_by[gpu].add(index)
        queues: dict[int, int] = {}
        for key in keys:
            recorded = RecordedQueue.from_key(key)
            gpu = gpus[recorded.gpu]
            queues[key] = next_queue[gpu]
            numbering.queues.append(NumberedQueue(index, gpu, queues[key], recorded))
            next_queue[gpu] += 1
        numbering.queue_numbers.append(Lookup(queues))
    return numbering


def _queue_keys(process: ProcessChunks, survey: OpSurvey) -> list[int]:
    """Queues first, in the order of their creation, then copy engines."""
    stated = {
        queue_key(integer(fact, "gpu"), queue)
        for queue, fact in process.facts.queues.items()
        if 0 <= integer(fact, "gpu") < 1 << 16 and queue < 1 << 16
    }
    found = stated | survey.queue_keys
    return sorted(found, key=_creation_order)


def _creation_order(key: int) -> tuple[bool, int, int]:
    queue = RecordedQueue.from_key(key)
    return queue.is_copy, queue.index, key


def _gpu_number(by_identity: dict[tuple[str, str], int], process: ProcessChunks, gpu: int) -> int:
    identity = (process.host, _device_identity(process, gpu))
    if identity not in by_identity:
        taken = set(by_identity.values())
        free = gpu if gpu not in taken and gpu < 1 << 16 else _first_free(taken)
        by_identity[identity] = free
    return by_identity[identity]


def _device_identity(process: ProcessChunks, gpu: int) -> str:
    agent = process.facts.agents.get(gpu, {})
    uuid, node = text(agent, "uuid"), integer(agent, "driver_node")
    if uuid not in _NO_UUID:
        return uuid
    return f"node {node}" if node >= 0 else f"number {gpu}"


def _first_free(taken: set[int]) -> int:
    number = 0
    while number in taken:
        number += 1
    return number
