"""A source that gives only the rows a selection keeps, batch by batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from wavescope.closing import Closing
from wavescope.model.columns import (
    CALLS,
    COPIES,
    COUNTERS,
    LAUNCHES,
    LINKS,
    MARKERS,
    METADATA,
    OPS,
    Table,
)
from wavescope.model.notes import Notes
from wavescope.model.selection import Selection, select
from wavescope.model.source import BATCH_ROWS, Batch, TraceSource
from wavescope.model.strings import StringTable
from wavescope.model.trace import Trace

_REFERS_TO = {
    LINKS: (("op", OPS), ("call", CALLS)),
    LAUNCHES: (("call", CALLS),),
    COPIES: (("call", CALLS),),
    COUNTERS: (("op", OPS),),
}


class SelectedSource(Closing):
    """The rows of `source` that `selection` keeps; ids stay as they were."""

    def __init__(self, source: TraceSource, selection: Selection) -> None:
        self._source = source
        self._words = str(selection)
        chosen = select(Trace(source), selection)
        self._ids: dict[Table, npt.NDArray[np.int64]] = {
            OPS: chosen.ops["id"],
            CALLS: chosen.calls["id"],
            MARKERS: chosen.markers["id"],
        }

    @property
    def path(self) -> str:
        return self._source.path

    @property
    def format(self) -> str:
        return self._source.format

    @property
    def strings(self) -> StringTable:
        return self._source.strings

    @property
    def notes(self) -> Notes:
        return self._source.notes

    def row_count(self, table: Table) -> int:
        return self._source.row_count(table)

    def batches(
        self, table: Table, columns: Sequence[str] | None = None, rows: int = BATCH_ROWS
    ) -> Iterator[Batch]:
        """The kept rows; rows that refer to ops or calls are kept with what they refer to."""
        conditions = (("id", table),) if table in self._ids else _REFERS_TO.get(table, ())
        wanted = table.column_names if columns is None else tuple(columns)
        needed = tuple(dict.fromkeys((*wanted, *(name for name, _ in conditions))))
        for batch in self._source.batches(table, needed, rows):
            kept = np.ones(len(batch[needed[0]]), bool)
            for name, referred in conditions:
                kept &= _among(batch[name], self._ids[referred])
            yield {name: batch[name][kept] for name in wanted}
        if table is METADATA:
            # What recorders and readers counted is true of the whole trace, not of this part.
            fact = {"tag": "selection", "value": self._words}
            yield {name: self.strings.codes([fact[name]]) for name in wanted}

    @property
    def has_ops(self) -> bool:
        """Whether any op is left."""
        return len(self._ids[OPS]) > 0

    def texts(self, handles: npt.NDArray[np.int64]) -> list[str]:
        return self._source.texts(handles)

    def close(self) -> None:
        self._source.close()


def _among(ids: npt.NDArray[np.int64], kept: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Which ids are in `kept`, which is increasing."""
    if not len(kept):
        return np.zeros(len(ids), bool)
    places = np.minimum(np.searchsorted(kept, ids), len(kept) - 1)
    found: npt.NDArray[np.bool_] = kept[places] == ids
    return found


def selected_source(source: TraceSource, selection: Selection) -> TraceSource:
    """`source` itself when the selection is everything, else only the rows it keeps."""
    return source if selection.is_everything else SelectedSource(source, selection)
