"""Merges several streams of batches that are each in time order into one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from wavescope.model.source import Batch


class _Stream:
    """A stream of batches with the rows of it that were read but not yet passed on."""

    def __init__(self, batches: Iterator[Batch]) -> None:
        self._batches = batches
        self.rows: Batch = {}
        self.exhausted = False
        self.read_more()

    def __len__(self) -> int:
        return len(self.rows["start_ns"]) if self.rows else 0

    @property
    def last_ns(self) -> int:
        return int(self.rows["start_ns"][-1])

    def read_more(self) -> None:
        """Append the next batch that has rows, or find that there is none."""
        for batch in self._batches:
            if len(batch["start_ns"]):
                self.rows = (
                    {name: np.concatenate((self.rows[name], batch[name])) for name in batch}
                    if len(self)
                    else batch
                )
                return
        self.exhausted = True

    def take_before(self, bound_ns: int | None) -> Batch:
        """Remove and return the rows that start before `bound_ns`, or all rows."""
        if not self.rows:
            return {}
        count = (
            len(self)
            if bound_ns is None
            else int(np.searchsorted(self.rows["start_ns"], bound_ns, side="left"))
        )
        taken = {name: column[:count] for name, column in self.rows.items()}
        self.rows = {name: column[count:] for name, column in self.rows.items()}
        return taken


def merged_in_time_order(streams: Sequence[Iterator[Batch]]) -> Iterator[Batch]:
    """The rows of all streams by start, of equal starts the longest first, then as streams come."""
    opened = [_Stream(stream) for stream in streams]
    while True:
        for stream in opened:
            if not len(stream) and not stream.exhausted:
                stream.read_more()
        running = [stream for stream in opened if not stream.exhausted]
        bound_ns = min((stream.last_ns for stream in running), default=None)
        taken = [stream.take_before(bound_ns) for stream in opened]
        filled = [batch for batch in taken if batch and len(batch["start_ns"])]
        if filled:
            yield _sorted_together(filled)
        elif not running:
            return
        else:
            for stream in running:
                if stream.last_ns == bound_ns:
                    stream.read_more()


def _sorted_together(batches: list[Batch]) -> Batch:
    if len(batches) == 1:
        return batches[0]
    joined = {name: np.concatenate([batch[name] for batch in batches]) for name in batches[0]}
    # ~end instead of -end: the same order, without an overflow at the smallest number.
    order = np.lexsort((~joined["end_ns"], joined["start_ns"]))
    return {name: column[order] for name, column in joined.items()}
