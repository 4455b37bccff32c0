"""How far the rows of a trace are that somebody writes, table by table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from wavescope.model.columns import CALLS, MARKERS, OPS, Table
from wavescope.model.progress import Progress
from wavescope.model.source import Batch, TraceSource, rows_of_room

NUMBERED = (OPS, CALLS, MARKERS)
"""Tables whose ids tell the place of a row; most rows of a trace are in them."""


class RowProgress:
    """Tells `progress` of each batch when it has been used.

    A source says how large its ids become, not how many rows there are: those that made room for
    newer ones, or are not selected, are missing. By the ids of the rows that come fewer are left,
    and so there are fewer in all.
    """

    def __init__(
        self,
        progress: Progress,
        sources: Sequence[TraceSource],
        tables: Sequence[Table] = NUMBERED,
    ) -> None:
        self._progress = progress
        self._done = 0
        self._left = sum(rows_of_room(source, table) for source in sources for table in tables)

    def followed(
        self, source: TraceSource, table: Table, batches: Iterable[Batch]
    ) -> Iterator[Batch]:
        """The batches of one of the tables, as they are and to their end."""
        largest_id, left = source.row_count(table), rows_of_room(source, table)
        for batch in batches:
            yield batch
            rows = _row_count(batch)
            if rows:
                before, left = left, max(0, left - rows)
                if table in NUMBERED:
                    left = min(left, max(0, largest_id - int(batch["id"][-1])))
                self._tell(rows, before - left)
        if left:
            self._tell(0, left)

    def _tell(self, done: int, no_longer_left: int) -> None:
        self._done += done
        self._left = max(0, self._left - no_longer_left)
        self._progress(self._done, self._done + self._left)


def _row_count(batch: Batch) -> int:
    return len(next(iter(batch.values())))
