"""A trace of few rows of another: ops with their launches, and what encloses these.

What analyses say of an op depends on the op, the call that launched it and the calls that were
open then on that thread. With these rows they say the same as with the whole trace.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from wavescope.analyze.calls.outermost import OPERATOR_CATEGORIES, working_operators
from wavescope.arrays import Array
from wavescope.model.columns import CALLS, COUNTERS, LINKS, MARKERS, OPS, Table
from wavescope.model.source import Derivation, TraceSource
from wavescope.model.trace import Trace, TraceTable
from wavescope.view.opening import TraceView
from wavescope.view.parts.stored_table import (
    Moments,
    Numbers,
    StoredTable,
    ZonePass,
    among,
    united,
)

_ZONED = {
    OPS: ("id", "start_ns", "end_ns"),
    CALLS: ("id", "start_ns", "end_ns"),
    MARKERS: ("id", "start_ns", "end_ns"),
    LINKS: ("call", "op"),
    COUNTERS: ("op",),
}
_NOTHING = np.empty(0, np.int64)
_FIRST_PICTURES_S = 2.0
"""What the page draws at first would come later for these passes."""
_PIECE_ZONES = 32
_REST = 2
"""Times as long as a piece takes nothing is done."""
_DONE = object()


@dataclass
class TraceParts:
    """The tables of a source as far as they are asked for; to be used by one at a time."""

    source: TraceSource
    _tables: dict[str, StoredTable] = field(default_factory=dict)
    _operator: Numbers | None = None

    def table(self, spec: Table) -> StoredTable:
        """The rows of a table; one pass over it at the first time."""
        if spec.name not in self._tables:
            whole = ZonePass(self.source, spec, _ZONED[spec])
            whole.go_on()
            self._tables[spec.name] = StoredTable(self.source, spec, whole.zones())
        return self._tables[spec.name]

    def prepared(self, spec: Table) -> Iterator[None]:
        """Make the pass over a table in pieces, unless somebody needs it meanwhile."""
        if not self.source.row_count(spec):
            return
        pieces = ZonePass(self.source, spec, _ZONED[spec])
        while spec.name not in self._tables and pieces.go_on(_PIECE_ZONES):
            yield
        if spec.name not in self._tables:
            self._tables[spec.name] = StoredTable(self.source, spec, pieces.zones())

    def trace(self, rows: Mapping[Table, Numbers]) -> Trace:
        """The trace with these rows of some tables, which increase, and all rows of others."""
        tables = {spec.name: self._some(spec, numbers) for spec, numbers in rows.items()}
        return Trace(self.source, tables)

    def links_of(self, name: str, ids: Numbers) -> Numbers:
        """The rows of `links` whose column `name` (`op` or `call`) is one of `ids`."""
        if not len(ids) or not self.source.row_count(LINKS):
            return _NOTHING
        return self.table(LINKS).with_values(name, ids, (name,))[0]

    def calls_around(self, calls: Numbers) -> Numbers:
        """The rows `calls`, and those of all calls that were open when one of these began.

        What those began in is there, too: of nested calls nothing else, but of calls that overlap
        without nesting.
        """
        table, added = self.table(CALLS), calls
        while len(added):
            begun = table.at(added, ("start_ns", *Moments.names))
            moments = Moments(begun["start_ns"], *(begun[name] for name in Moments.names))
            rows, _ = table.open_at(moments, ())
            added = rows[~among(rows, calls)]
            calls = united(calls, added)
        return calls

    def an_operator(self) -> Numbers:
        """The row of a call that is an operator; no row where there is none in the trace."""
        if self._operator is None:
            self._operator = self._first_operator()
        return self._operator

    def _first_operator(self) -> Numbers:
        found_codes = map(self.source.strings.find, OPERATOR_CATEGORIES)
        codes = np.array(sorted(code for code in found_codes if code >= 0), np.int64)
        if not len(codes):
            return _NOTHING
        for rows in self.table(CALLS).rows_where("category", codes):
            found = working_operators(self.trace({CALLS: rows}))
            if len(found):
                return rows[found[:1]]
        return _NOTHING

    def _some(self, spec: Table, rows: Numbers) -> TraceTable:
        def load(names: Sequence[str], derive: Derivation | None) -> dict[str, Array]:
            read = self.table(spec).at(rows, names)
            return read if derive is None else derive(read)

        return TraceTable(spec, load, self.source.strings, self.source.texts)


def parts_of(view: TraceView) -> TraceParts:
    """The parts of an opened trace: `view.derived(parts_of)`."""
    return TraceParts(view.trace.source)


def prepare_parts(
    views: Sequence[TraceView], after_s: float = _FIRST_PICTURES_S
) -> threading.Thread:
    """Make the passes over tables a while after traces are read, before anybody waits for them."""
    arguments = (views, after_s)
    thread = threading.Thread(target=_prepare, args=arguments, name="preparing", daemon=True)
    thread.start()
    return thread


def _prepare(views: Sequence[TraceView], after_s: float) -> None:
    for view in views:
        view.wait()
        if view.closes_within(after_s):
            continue
        for spec in _ZONED:
            if not _prepare_table(view, spec):
                break


def _prepare_table(view: TraceView, spec: Table) -> bool:
    """Whether that was done; questions come in between, and have most of the machine."""
    pieces = view.derived(parts_of).prepared(spec)
    while True:
        began = time.monotonic()
        with view.turn:
            if view.is_closing or view.loaded.problem:
                return False
            if next(pieces, _DONE) is _DONE:
                return True
        if view.closes_within(_REST * (time.monotonic() - began)):
            return False
