"""Coverage: what of the dispatches of each queue was seen, timed, skipped and lost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from wavescope.formats.session.layout import (
    ALL_QUEUES,
    ANY_GPU,
    COPY_QUEUE,
    COUNTER_KIND,
    LOSS_REASONS,
    SKIP_FILTER,
    SKIP_REASONS,
    SKIP_REASONS_OF_CUDA,
    SKIP_SHARED_SIGNAL,
)
from wavescope.formats.session.reading.numbering import Numbering
from wavescope.formats.session.reading.op_rows import OpSurvey
from wavescope.formats.session.reading.process import (
    DROPPED_REASON,
    FALLEN_OUT_REASON,
    ProcessChunks,
    not_in_the_trace,
)
from wavescope.formats.session.record_file import RecordedQueue, queue_key
from wavescope.model.builder import TraceBuilder
from wavescope.model.columns import COVERAGE, UNKNOWN

_LITE = "lite"
_CUT_OFF_REASON = "not finished when the process was killed"
_RUNNING_REASON = "not finished yet"
_UNANSWERED_REASON = "not noted before the process ended: its machine was too busy"
_MOST_COUNT = (1 << 62) - 1


def add_coverage(
    builder: TraceBuilder,
    processes: Sequence[ProcessChunks],
    surveys: Sequence[OpSurvey],
    numbering: Numbering,
) -> None:
    """What each queue's counters say; further reasons of one queue have rows of their own.

    Coverage is about dispatches: what is missing of copies becomes notes.
    """
    for index, (process, survey) in enumerate(zip(processes, surveys, strict=True)):
        queues = list(_counted_queues(builder, process, survey))
        if not process.is_settled:
            _take_back_skipped(queues)
        for queue, unfinished in zip(queues, _unfinished(queues), strict=True):
            local, key = int(queue.record["gpu"]), queue.key
            place: Place = {
                "process": index,
                "gpu": numbering.gpus[index].get(local, local),
                "queue": numbering.queue_numbers[index].get(key, UNKNOWN),
                "mode": process.mode,
            }
            _add_counter(builder, queue.record, _missing(process, queue, unfinished), place)
        _add_dropped_elsewhere(builder, process, index)
        timed = sum(_count(queue.record["timed"]) for queue in queues)
        if timed > survey.dispatches:
            builder.notes.add(
                "dispatches that were timed, but whose records are not in the files",
                timed - survey.dispatches,
            )


class _CountedQueue(NamedTuple):
    """What was counted of a queue, or of all queues of a GPU, as far as the trace is about it."""

    record: np.void
    key: int
    older: Sequence[tuple[int, str]] = ()

    @property
    def is_of_cuda(self) -> bool:
        return int(self.record["queue"]) == ALL_QUEUES

    @property
    def excess(self) -> int:
        """How many more are accounted for than were seen."""
        record = self.record
        counts = [record["timed"], *record["skipped"], *record["lost"]]
        accounted = sum(map(_count, counts)) + sum(count for count, _ in self.older)
        return accounted - _count(record["seen"])


def _counted_queues(
    builder: TraceBuilder, process: ProcessChunks, survey: OpSurvey
) -> Iterator[_CountedQueue]:
    for record in counter_records(process):
        if int(record["queue"]) == COPY_QUEUE:
            _note_copies(builder, process, record)
            continue
        key = queue_key(int(record["gpu"]), int(record["queue"]))
        filtered = _counted_at(survey.filtered, key)
        if not process.is_whole:
            # Counters are brought up to date after the records, and know of no window and of
            # nothing that was dropped.
            record["timed"] = _counted_at(survey.timed, key)
        else:
            record["timed"] -= min(filtered, int(record["timed"]))
        record["skipped"][SKIP_FILTER] += filtered
        record["seen"] = max(0, int(record["seen"]) - _counted_at(survey.beyond, key))
        yield _CountedQueue(record, key, _older(process, survey, record, key))


def _take_back_skipped(queues: Sequence[_CountedQueue]) -> None:
    """Kernels whose records came although they had been counted as skipped are timed.

    With CUDA each launch outside the slices counts as skipped at once, and as timed when its
    record comes after all. A process that is killed in between, or still runs, has counted both,
    perhaps on two GPUs.
    """
    of_cuda = [queue for queue in queues if queue.is_of_cuda]
    excess = sum(queue.excess for queue in of_cuda)
    for queue in of_cuda:
        excess -= _taken_of_skipped(queue.record, min(excess, queue.excess))
    for queue in of_cuda:
        excess -= _taken_of_skipped(queue.record, excess)


def _taken_of_skipped(record: np.void, wanted: int) -> int:
    """Make so many fewer skipped; how many they were, as what a filter left out stays."""
    skipped, left = record["skipped"], max(wanted, 0)
    for reason in range(len(skipped)):
        if reason != SKIP_FILTER:
            taken = min(left, int(skipped[reason]))
            skipped[reason] -= taken
            left -= taken
    return max(wanted, 0) - left


def _unfinished(queues: Sequence[_CountedQueue]) -> Iterator[int]:
    """How many of each queue are not accounted for.

    With CUDA a kernel may be counted as seen on one GPU and run on another, so that no more can
    be missing of one than are of all.
    """
    left = max(0, -sum(queue.excess for queue in queues if queue.is_of_cuda))
    for queue in queues:
        unfinished = max(0, -queue.excess)
        if queue.is_of_cuda:
            unfinished = min(left, unfinished)
            left -= unfinished
        yield unfinished


def _counted_at(totals: Mapping[int, int], key: int) -> int:
    """What `totals`, by queue key, say of one queue, or of all queues of its GPU."""
    wanted = RecordedQueue.from_key(key)
    if wanted.is_copy or wanted.index != ALL_QUEUES:
        return totals.get(key, 0)
    return sum(
        count for each, count in totals.items() if RecordedQueue.from_key(each).gpu == wanted.gpu
    )


def counter_records(process: ProcessChunks) -> Iterator[np.void]:
    """The counters of the window of a process, or of all of it, as they are at the end."""
    window = process.window
    if window is not None and window.counters is not None:
        yield from window.counters[window.counters["kind"] == COUNTER_KIND].copy()
        return
    for block in process.counters.blocks() if process.counters else ():
        yield from block.records[block.records["kind"] == COUNTER_KIND].copy()


def _fallen_out(process: ProcessChunks, survey: OpSurvey, key: int) -> int:
    """Dispatches of a queue that were counted and recorded, but before the window."""
    if process.window is None or not process.window.is_newest_part:
        return 0
    return _counted_at(survey.before, key) + _counted_at(process.window.fallen_out, key)


def _note_copies(builder: TraceBuilder, process: ProcessChunks, record: np.void) -> None:
    copies = _CountedQueue(record, queue_key(int(record["gpu"]), COPY_QUEUE))
    (unfinished,) = _unfinished([copies])
    for skipped, lost, reason in _missing(process, copies, unfinished):
        builder.notes.add(not_in_the_trace("copies", reason), skipped + lost)


def _older(
    process: ProcessChunks, survey: OpSurvey, record: np.void, key: int
) -> list[tuple[int, str]]:
    """How many dispatches of a queue are too old to be in the trace, by reason."""
    dropped = _counted_at(process.dropped_dispatches, key)
    if process.window is not None and not process.window.is_newest_part:
        # Some were of the time before the window, which did not count them.
        accounted = sum(int(record[name].sum()) for name in ("timed", "skipped", "lost"))
        dropped = min(dropped, max(0, int(record["seen"]) - accounted))
    older = [
        (_fallen_out(process, survey, key), FALLEN_OUT_REASON),
        (dropped, DROPPED_REASON),
    ]
    return [(count, reason) for count, reason in older if count]


def _add_dropped_elsewhere(builder: TraceBuilder, process: ProcessChunks, index: int) -> None:
    """Dispatches of more queues than the collector counts one by one what it drops."""
    count = process.dropped_dispatches.get(queue_key(ANY_GPU, ALL_QUEUES), 0)
    if count:
        builder.add_row(
            COVERAGE, process=index, mode=process.mode, skipped=count, reason=DROPPED_REASON
        )


def _missing(
    process: ProcessChunks, queue: _CountedQueue, unfinished: int
) -> list[tuple[int, int, str]]:
    """How many were skipped and lost, by reason."""
    rows = [(count, 0, reason) for count, reason in queue.older]
    reasons = SKIP_REASONS_OF_CUDA if queue.is_of_cuda else SKIP_REASONS
    if process.mode not in ("", _LITE):
        reasons = (SKIP_SHARED_SIGNAL, *reasons[1:])
    rows += [(count, 0, reason) for count, reason in _counts(queue.record, "skipped", reasons)]
    rows += [(0, count, reason) for count, reason in _counts(queue.record, "lost", LOSS_REASONS)]
    if not process.is_settled and unfinished:
        rows.append((0, unfinished, _unfinished_reason(process)))
    return rows


def _unfinished_reason(process: ProcessChunks) -> str:
    if process.is_running:
        return _RUNNING_REASON
    return _CUT_OFF_REASON if process.is_cut_off else _UNANSWERED_REASON


def _count(value: np.uint64) -> int:
    return min(int(value), _MOST_COUNT)


Place = dict[str, int | str]
"""Process, GPU and queue of a row, and how it was recorded."""


def _add_counter(
    builder: TraceBuilder,
    record: np.void,
    missing: Sequence[tuple[int, int, str]],
    place: Place,
) -> None:
    first, *more = missing or [(0, 0, "")]
    builder.add_row(
        COVERAGE,
        **place,
        seen=_count(record["seen"]),
        timed=_count(record["timed"]),
        skipped=first[0],
        lost=first[1],
        reason=first[2],
    )
    for skipped, lost, reason in more:
        builder.add_row(
            COVERAGE, **place, seen=0, timed=0, skipped=skipped, lost=lost, reason=reason
        )


def _counts(record: np.void, member: str, reasons: Sequence[str]) -> list[tuple[int, str]]:
    counts = [_count(count) for count in record[member]]
    return [(count, reason) for count, reason in zip(counts, reasons, strict=True) if count]
