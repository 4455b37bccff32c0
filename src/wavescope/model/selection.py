"""Which rows of a trace are meant: by time, GPU, process or rank, name and marker; and a source
that gives only those."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wavescope.arrays import Array
from wavescope.arrays.intervals import Intervals
from wavescope.closing import Closing
from wavescope.errors import UsageError
from wavescope.model.columns import (
    CALLS,
    COPIES,
    COUNTERS,
    LAUNCHES,
    LINKS,
    MARKERS,
    METADATA,
    OPS,
    SLICES,
    UNKNOWN,
    Table,
)
from wavescope.model.progress import Notes
from wavescope.model.source import BATCH_ROWS, Batch, TraceSource
from wavescope.model.strings import StringTable
from wavescope.model.trace import Surroundings, Trace, TraceTable
from wavescope.patterns import compiled
from wavescope.units import parse_offset_ns


@dataclass(frozen=True)
class Selection:
    """Conditions that all must hold; the empty selection is everything.

    A row belongs to a time window when it starts inside it: start <= start_ns < end. A row
    belongs to a marker when it starts inside a range of that name on any thread.
    """

    start: str | None = None
    """As `timestamp_ns` reads it: '25%', '10ms' or a timestamp."""
    end: str | None = None
    gpus: tuple[int, ...] = ()
    processes: tuple[int, ...] = ()
    """As the operating system numbers them."""
    ranks: tuple[int, ...] = ()
    kernel: str = ""
    """A regular expression that is found in the op's name."""
    marker: str = ""
    """A regular expression that is found in the marker's text."""

    @property
    def is_everything(self) -> bool:
        return self == Selection()

    @property
    def facts(self) -> dict[str, str]:
        """What a result of the selected part says of it."""
        return {} if self.is_everything else {"selection": str(self)}

    def __str__(self) -> str:
        """The conditions in words, such as 'gpu 0,1; marker decode'."""
        parts = {
            "from": self.start or "",
            "until": self.end or "",
            "gpu": ",".join(map(str, self.gpus)),
            "pid": ",".join(map(str, self.processes)),
            "rank": ",".join(map(str, self.ranks)),
            "kernel": self.kernel,
            "marker": self.marker,
        }
        return "; ".join(f"{name} {value}" for name, value in parts.items() if value)


def select(trace: Trace, selection: Selection) -> Trace:
    """`trace` with the ops, calls, markers and links that `selection` keeps.

    Conditions on GPU and kernel name apply to ops; calls and markers are kept by time, process and
    marker, a marker also when it matches itself. Links are kept when both their ends are.
    """
    if selection.is_everything:
        return trace
    window = time_window(trace, selection)
    ranges = marker_ranges(trace, selection.marker) if selection.marker else None
    processes = _wanted_processes(trace, selection)
    ops = trace.ops.take(op_mask(trace, selection, window, ranges, processes))
    calls = trace.calls.take(
        _host_mask(trace.calls["start_ns"], window, ranges) & _process_mask(trace.calls, processes)
    )
    starts = trace.markers["start_ns"]
    inside = _host_mask(starts, window, ranges)
    if selection.marker:
        # A mark without duration holds nothing, not even itself.
        inside |= _host_mask(starts, window, None) & _matching(trace.markers, selection.marker)
    markers = trace.markers.take(inside & _process_mask(trace.markers, processes))
    kept = np.isin(trace.links["op"], ops["id"]) & np.isin(trace.links["call"], calls["id"])
    hides_ops = bool(selection.kernel) or processes is not None
    if trace.part_of is not None:
        hides_ops |= trace.part_of.hides_ops
    part_of = Surroundings(trace.whole, _window_of(trace, window, ranges), hides_ops)
    tables = [ops, calls, markers, trace.links.take(kept)]
    if len(trace.slices):
        from wavescope.model.slices import cut_slices  # noqa: PLC0415  few traces have any

        slices = trace.slices.take(_process_mask(trace.slices, processes))
        tables.append(cut_slices(slices, window, ranges))
    return trace.with_tables(tables, part_of)


def _window_of(trace: Trace, window: tuple[int, int], ranges: Intervals | None) -> Intervals | None:
    """The times that a selection is about; None where it leaves none out."""
    low, high = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    chosen = ranges
    if window != (low, high):
        times = Intervals.from_pairs([window[0]], [window[1]])
        chosen = times if ranges is None else ranges.intersect(times)
    earlier = None if trace.part_of is None else trace.part_of.window
    if chosen is None or earlier is None:
        return earlier if chosen is None else chosen
    return chosen.intersect(earlier)


def op_mask(
    trace: Trace,
    selection: Selection,
    window: tuple[int, int],
    ranges: Intervals | None,
    processes: npt.NDArray[np.int64] | None,
) -> npt.NDArray[np.bool_]:
    """Which ops the selection keeps."""
    ops = trace.ops
    mask = _host_mask(ops["start_ns"], window, ranges) & _process_mask(ops, processes)
    if selection.gpus:
        mask &= np.isin(ops["gpu"], selection.gpus)
    if selection.kernel:
        mask &= np.isin(ops["name"], matching_codes(trace.strings, ops["name"], selection.kernel))
    return mask


def matching_codes(strings: StringTable, codes: Array, pattern: str) -> npt.NDArray[np.int32]:
    """The codes among `codes` whose string matches the regular expression `pattern`."""
    expression = compiled(pattern)
    used = np.unique(codes)
    return np.array([c for c in used.tolist() if expression.search(strings[c])], np.int32)


_SPELLINGS = "write 25%, 10ms (from the first event on) or a timestamp in ns"


def time_window(trace: Trace, selection: Selection) -> tuple[int, int]:
    """The half-open window [start, end) that the selection's bounds mean in this trace."""
    low, high = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    if selection.start is None and selection.end is None:
        return int(low), int(high)
    first, last = trace_span(trace)
    start = int(low) if selection.start is None else timestamp_ns(selection.start, first, last)
    end = int(high) if selection.end is None else timestamp_ns(selection.end, first, last)
    if start >= end:
        raise UsageError(
            f"the window is empty: it would start at {start} ns and end at {end} ns",
            hint=f"the trace has events from {first} ns to {last} ns; {_SPELLINGS}",
        )
    return start, end


def timestamp_ns(text: str, first_ns: int, last_ns: int) -> int:
    """The point in time that `text` means in a trace that spans [first_ns, last_ns).

    '25%' is a share of the trace's span, '10ms' an offset from its first event, and a bare
    number an absolute timestamp in ns as the trace file shows it.
    """
    text = text.strip()
    if text.endswith("%"):
        try:
            share = float(text[:-1])
        except ValueError:
            raise UsageError(f"'{text}' is not a percentage", hint=_SPELLINGS) from None
        if not 0 <= share <= 100:
            raise UsageError(f"'{text}' is not between 0% and 100%", hint=_SPELLINGS)
        return first_ns + round((last_ns - first_ns) * share / 100)
    is_absolute = re.fullmatch(r"[+-]?\d{1,20}", text) is not None
    time_ns = int(text) if is_absolute else first_ns + parse_offset_ns(text)
    return min(max(time_ns, -(2**63)), 2**63 - 1)  # no trace has times beyond


def trace_span(trace: Trace) -> tuple[int, int]:
    """First start and last end over ops, calls and markers; (0, 0) for an empty trace."""
    bounds = [
        (int(table["start_ns"].min()), int(table["end_ns"].max()))
        for table in (trace.ops, trace.calls, trace.markers)
        if len(table)
    ]
    if not bounds:
        return 0, 0
    return min(start for start, _ in bounds), max(end for _, end in bounds)


def marker_ranges(trace: Trace, pattern: str) -> Intervals:
    """The union of all ranges whose text matches `pattern`."""
    markers = trace.markers
    mask = _matching(markers, pattern)
    if not mask.any():
        raise UsageError(
            f"no marker matches '{pattern}'",
            hint=f"`wavescope info --markers {trace.path}` lists the markers",
        )
    return Intervals.from_pairs(markers["start_ns"][mask], markers["end_ns"][mask])


def _matching(table: TraceTable, pattern: str) -> npt.NDArray[np.bool_]:
    names = table["name"]
    return np.isin(names, matching_codes(table.string_table, names, pattern))


def _wanted_processes(trace: Trace, selection: Selection) -> npt.NDArray[np.int64] | None:
    if not selection.processes and not selection.ranks:
        return None
    table = trace.processes
    mask = np.zeros(len(table), bool)
    mask |= np.isin(table["pid"], selection.processes)
    mask |= np.isin(table["rank"], selection.ranks)
    return table["id"][mask].astype(np.int64)


def _process_mask(table: TraceTable, processes: npt.NDArray[np.int64] | None) -> Array:
    if processes is None:
        return np.ones(len(table), bool)
    mask: Array = np.isin(table["process"], processes) & (table["process"] != UNKNOWN)
    return mask


def _host_mask(
    starts: Array, window: tuple[int, int], ranges: Intervals | None
) -> npt.NDArray[np.bool_]:
    mask: npt.NDArray[np.bool_] = (starts >= window[0]) & (starts < window[1])
    if ranges is not None:
        mask &= ranges.contains_points(starts)
    return mask


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
        self._slices = chosen.slices

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

    @property
    def most_rows(self) -> int | None:
        """See `rows_of_room`."""
        most_rows: int | None = getattr(self._source, "most_rows", None)
        return most_rows

    def row_count(self, table: Table) -> int:
        return len(self._slices) if table is SLICES else self._source.row_count(table)

    def batches(
        self, table: Table, columns: Sequence[str] | None = None, rows: int = BATCH_ROWS
    ) -> Iterator[Batch]:
        """The kept rows; rows that refer to ops or calls are kept with what they refer to."""
        conditions = (("id", table),) if table in self._ids else _REFERS_TO.get(table, ())
        wanted = table.column_names if columns is None else tuple(columns)
        if table is SLICES:
            yield {name: self._slices[name] for name in wanted}
            return
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
