"""Arguments of calls in a rocpd file, as JSON text, found when somebody asks for them.

The file has no index on them. They are written event by event, so it is enough to remember where
every few thousandth row stands; a file in another order is searched from end to end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from wavescope.formats.rocpd.part import ALLOCATIONS, ARGUMENTS, REGIONS, Part, text
from wavescope.formats.sqlite.rows import Field, Reading
from wavescope.formats.sqlite.sqlite_open import quoted
from wavescope.formats.sqlite.strings import RowsById

_STRIDE = 4096


class Arguments:
    """The argument texts of one process."""

    def __init__(self, part: Part) -> None:
        self._part = part
        self._source = part.source

    def of_calls(self, ids: npt.NDArray[np.int64]) -> dict[int, str]:
        """The arguments of API calls by their id in the file; `ids` increase."""
        table = self._part.table(REGIONS)
        if not self._source.has_column(table, "event_id"):
            return {}
        rows = RowsById(self._source.connection, table)
        event_of = {
            own_id: event
            for own_id, event in rows.fetch(ids, ("event_id",))
            if isinstance(event, int)
        }
        by_event = self._of_events(np.unique(np.array(list(event_of.values()), np.int64)))
        return {own_id: by_event[event] for own_id, event in event_of.items() if event in by_event}

    def of_allocations(self, ids: npt.NDArray[np.int64]) -> dict[int, str]:
        """What allocations say of themselves by their id in the file; `ids` increase."""
        table = self._part.table(ALLOCATIONS)
        columns = [name for name in ("size", "address") if self._source.has_column(table, name)]
        if not columns:
            return {}
        rows = RowsById(self._source.connection, table)
        return {
            own_id: _json(zip(columns, values, strict=True))
            for own_id, *values in rows.fetch(ids, columns)
        }

    def _of_events(self, events: npt.NDArray[np.int64]) -> dict[int, str]:
        wanted = set(events.tolist())
        return {
            event: _json((name, value) for _, name, value in rows)
            for event, rows in groupby(self._rows_near(events), itemgetter(0))
            if event in wanted
        }

    def _rows_near(self, events: npt.NDArray[np.int64]) -> Iterator[tuple[Any, ...]]:
        """(event, name, value) by event and position, among others all those of `events`."""
        table = self._part.table(ARGUMENTS)
        if not len(events) or not self._source.has_column(table, "event_id"):
            return
        rowids, first_events = self._marks
        statement = self._statement(table)
        if not len(rowids):
            yield from self._source.connection.execute(statement, (-(2**63), 2**63 - 1))
            return
        # From the last mark before an event's first row to the first mark after its last one.
        begins = np.maximum(np.searchsorted(first_events, events, side="left") - 1, 0)
        ends = np.searchsorted(first_events, events, side="right")
        for begin, end in _joined(begins, ends):
            bounds = (int(rowids[begin]), int(rowids[end]) - 1 if end < len(rowids) else 2**63 - 1)
            yield from self._source.connection.execute(statement, bounds)

    def _statement(self, table: str) -> str:
        layout = self._source.layout(table)
        name, value, position = (
            quoted(column) if layout.column(column) else "NULL"
            for column in ("name", "value", "position")
        )
        return (
            f"SELECT event_id, CAST({name} AS TEXT), {value} FROM main.{quoted(table)}"  # noqa: S608
            f" WHERE {layout.rowid_expression()} BETWEEN ? AND ? ORDER BY event_id, {position}"
        )

    @cached_property
    def _marks(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Rowid and event of every so many rows; none when the events are not in order."""
        rowids: list[int] = []
        first_events: list[int] = []
        last = -1
        fields = {"event": Field("event_id")}
        for given in self._source.read_rows(
            self._part.table(ARGUMENTS), fields, Reading(rows=_STRIDE)
        ):
            events = given["event"]
            if events[0] < last or (events[1:] < events[:-1]).any():
                return np.empty(0, np.int64), np.empty(0, np.int64)
            rowids.append(int(given["rowid"][0]))
            first_events.append(int(events[0]))
            last = int(events[-1])
        return np.array(rowids, np.int64), np.array(first_events, np.int64)


def _joined(
    begins: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]
) -> Iterator[tuple[int, int]]:
    """Increasing ranges without overlap that cover the given ones."""
    begin, end = int(begins[0]), int(ends[0])
    for next_begin, next_end in zip(begins[1:].tolist(), ends[1:].tolist(), strict=True):
        if next_begin > end:
            yield begin, end
            begin = next_begin
        end = max(end, next_end)
    yield begin, end


def _json(pairs: Iterable[tuple[str | None, Any]]) -> str:
    return orjson.dumps(dict(pairs), default=text, option=orjson.OPT_NON_STR_KEYS).decode()
