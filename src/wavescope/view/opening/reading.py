"""Reads a trace into lanes, and shows what is there so far about twice a second.

Ops come first, then markers, then calls. The source is that of the analyses, too, because codes of
names are its own: it is held for one batch at a time, so that whoever asks something meanwhile
waits for a few milliseconds, and reading waits for the answer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from wavescope.analyze.ops.coverage import recorded
from wavescope.arrays.intervals import Intervals
from wavescope.errors import WavescopeError
from wavescope.formats.timeline import ProcessKeys
from wavescope.model.columns import CALLS, MARKERS, OPS, Table
from wavescope.model.source import Batch
from wavescope.units import counted
from wavescope.view.lanes import Lane
from wavescope.view.opening.gathered_rows import (
    CALL_COLUMNS,
    MARKER_COLUMNS,
    OP_COLUMNS,
    GatheredHost,
    GatheredOps,
)
from wavescope.view.opening.opening_options import OpeningOptions
from wavescope.view.opening.trace_view import Loaded, TraceView
from wavescope.view.rows import Place, RowTree, Series, queue_depths

_LARGEST_SHARE = 0.99
"""Before the end: counts of rows are upper bounds, or guesses."""
_SHOWN_AT_ONCE = 1 << 23
"""Ranges that are joined until those that they replace are let go."""


class StoppedReadingError(Exception):
    """Nobody looks at the trace any more."""


class Reading:
    """One pass over a trace, for the view `view`."""

    def __init__(
        self, view: TraceView, options: OpeningOptions, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._view = view
        self._source = view.trace.source
        self._options = options
        self._clock = clock
        self._shown_at = float("-inf")
        self._times: tuple[int, int] | None = None
        self._read_count = 0
        with view.turn:
            self._tree = row_tree(view)
            self._row_count = sum(map(self._source.row_count, (OPS, CALLS)))
            self._is_sampled = len(view.trace.slices) > 0
            keys, strings = ProcessKeys(self._source), self._source.strings
        self.ops = GatheredOps(strings)
        self.markers = GatheredHost("markers", keys, strings)
        self.calls = GatheredHost("calls", keys, strings)

    def run(self) -> None:
        """Read everything, or say in `loaded` what went wrong."""
        with suppress(StoppedReadingError):
            try:
                self.read()
            except (WavescopeError, OSError) as error:
                self._fail(str(error))
            except MemoryError:
                self._fail("there is not enough memory to show more of the trace")
            except StoppedReadingError:
                raise
            except Exception as error:  # noqa: BLE001  a thread that ends must say why
                self._fail(f"reading failed: {type(error).__name__}: {error}")

    def read(self) -> None:
        """Read everything."""
        self._look_ahead()
        op_columns = (*OP_COLUMNS, "process") if self._is_sampled else OP_COLUMNS
        self._gather(OPS, op_columns, self.ops.add)
        self.ops.add_graph_runs(partial(self._batches, OPS))
        self._gather(MARKERS, MARKER_COLUMNS, self.markers.add)
        self._gather(CALLS, CALL_COLUMNS, self._add_calls)
        self._join()
        self._show(is_whole=True)

    def lanes(self) -> dict[Place, tuple[Lane, ...]]:
        """What lies on each row so far."""
        return {
            **self.ops.rows.lanes(),
            **self.markers.rows.lanes(),
            **self.calls.rows.lanes(),
        }

    @property
    def times(self) -> tuple[int, int]:
        """The first start and the last end so far."""
        return self._times or (0, 0)

    def _look_ahead(self) -> None:
        """Find where the time axis begins: as a rule with the first ops, markers or calls."""
        for table in (MARKERS, CALLS):
            for batch in self._batches(table, ("start_ns", "end_ns")):
                self._note_times(batch, is_end_known=False)
                break

    def _gather(self, table: Table, columns: Sequence[str], add: Callable[[Batch], None]) -> None:
        for batch in self._batches(table, columns):
            self._note_times(batch)
            add(batch)
            self._read_count += len(batch["start_ns"]) if table is not MARKERS else 0
            if self._clock() - self._shown_at >= self._options.publish_seconds:
                self._show()

    def _add_calls(self, batch: Batch) -> None:
        self._view.call_categories.add(batch["name"], batch["category"])
        self.calls.add(batch)

    def _batches(self, table: Table, columns: Sequence[str]) -> Iterator[Batch]:
        """The rows of a table; the source is held while a batch is read, not between batches."""
        turn = self._view.turn
        with turn:
            batches = iter(self._source.batches(table, columns, self._options.batch_rows))
        try:
            while True:
                self._require_wanted()
                with turn:
                    batch = next(batches, None)
                if batch is None:
                    return
                yield batch
        finally:
            close = getattr(batches, "close", None)
            with turn:
                if close is not None:
                    close()

    def _note_times(self, batch: Batch, *, is_end_known: bool = True) -> None:
        if not len(batch["start_ns"]):
            return
        first = int(batch["start_ns"].min())
        last = int(batch["end_ns"].max()) if is_end_known else first
        if self._times is not None:
            first, last = min(first, self._times[0]), max(last, self._times[1])
        self._times = first, last

    def _join(self) -> None:
        """Make few lanes of many, and let go of these now and then."""
        count = 0
        for rows in (self.ops.rows, self.markers.rows, self.calls.rows):
            for joined in rows.join():
                self._require_wanted()
                count += joined
                if count >= _SHOWN_AT_ONCE:
                    self._show()
                    count = 0

    def _show(self, *, is_whole: bool = False) -> None:
        for rows in (self.ops.rows, self.markers.rows, self.calls.rows):
            rows.flush()
        share = min(_LARGEST_SHARE, self._read_count / max(1, self._row_count))
        first_ns, end_ns = self.times
        with self._view.turn:
            recorded_times = recorded_by_gpu(self._view, self.ops.processes_of_gpu)
            notes = notes_of(self._view, self.left_out_count)
        before = self._view.loaded
        self._view.loaded = Loaded(
            version=before.version + 1,
            rows=self._tree.rows(self.lanes(), recorded_times),
            first_ns=first_ns,
            end_ns=max(end_ns, first_ns + 1),
            share=1.0 if is_whole else max(share, before.share),
            is_whole=is_whole,
            notes=notes,
        )
        self._shown_at = self._clock()

    @property
    def left_out_count(self) -> int:
        """Ranges that found no place on any row."""
        rows = (self.ops.rows, self.markers.rows, self.calls.rows)
        return sum(each.left_out_count for each in rows)

    def _fail(self, problem: str) -> None:
        loaded = self._view.loaded
        self._view.loaded = replace(loaded, version=loaded.version + 1, problem=problem)

    def _require_wanted(self) -> None:
        if self._view.is_closing:
            raise StoppedReadingError


def notes_of(view: TraceView, left_out_count: int) -> tuple[str, ...]:
    """What was skipped or repaired so far, and what is on no row; the turn is held."""
    left_out = (
        f"{counted(left_out_count, 'range')} could not be drawn: too deep, or on too many rows"
    )
    return (*view.trace.notes.sentences(), *([left_out] if left_out_count else []))


def recorded_by_gpu(
    view: TraceView, processes_of_gpu: Mapping[int, set[int]]
) -> dict[int, Intervals]:
    """Of a sampled trace for each GPU when every kernel was recorded; the turn is held."""
    found = recorded(view.trace) if processes_of_gpu else None
    if found is None:
        return {}
    windows = {
        gpu: found.window_of_processes(sorted(processes))
        for gpu, processes in processes_of_gpu.items()
    }
    return {gpu: window for gpu, window in windows.items() if window is not None}


def row_tree(view: TraceView) -> RowTree:
    """What makes rows of the lanes of a trace; the turn is held."""
    return RowTree(view.trace.source, partial(_depths, view))


def _depths(view: TraceView) -> dict[tuple[int, int], Series]:
    return view.derived(_queue_depths)


def _queue_depths(view: TraceView) -> dict[tuple[int, int], Series]:
    return queue_depths(view.trace.source)
