"""A session folder as a trace: what collectors wrote, without a database in between.

Ops, calls, markers and links are read from the files batch by batch, as often as they are asked
for; memory does not grow with their number, except for 16 bytes per marker. What is not whole (torn
tails, damaged headers, records of unknown kinds) is left out and noted.

Call and op carry the same correlation. Links look calls up in parts by their correlation, so that
memory stays bounded; each part is a pass over the records.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt

from wavescope.arrays import Array
from wavescope.closing import Closing, on_error
from wavescope.errors import UsageError
from wavescope.formats.session.copying import copy_session
from wavescope.formats.session.folder import (
    KEPT_NEWEST,
    KERNEL_FILTER,
    read_session_facts,
    recorded_bases,
    still_runs,
)
from wavescope.formats.session.reading.call_rows import CallRows, CallSurvey, survey_calls
from wavescope.formats.session.reading.call_values import CallValues
from wavescope.formats.session.reading.coverage_rows import add_coverage
from wavescope.formats.session.reading.facts import address, integer
from wavescope.formats.session.reading.graph_names import GraphNames
from wavescope.formats.session.reading.kernels import KernelNames
from wavescope.formats.session.reading.marker_rows import MarkerIndex, MarkerRows, index_markers
from wavescope.formats.session.reading.numbering import Numbering, number
from wavescope.formats.session.reading.op_rows import OpRows, OpSurvey, survey_ops
from wavescope.formats.session.reading.process import ProcessChunks, Window, recent_windows
from wavescope.formats.session.reading.small_tables import (
    add_agents,
    add_metadata,
    add_processes,
    add_queues,
    add_slices,
)
from wavescope.formats.session.record_file import Lookup
from wavescope.formats.session.stillness import boottime_ns, kept_still
from wavescope.model.builder import TraceBuilder
from wavescope.model.columns import (
    CALLS,
    COPIES,
    LAUNCHES,
    LINKS,
    MARKERS,
    OPS,
    TABLES,
    UNKNOWN,
    Table,
)
from wavescope.model.progress import Notes
from wavescope.model.source import BATCH_ROWS, Batch, full_batch
from wavescope.model.strings import StringTable
from wavescope.patterns import compiled

CALLS_IN_MEMORY = 1 << 22


def link_batches(
    calls: CallRows, ops: OpRows, call_count: int, rows: int, calls_in_memory: int = CALLS_IN_MEMORY
) -> Iterator[Batch]:
    """Pairs of call id and op id of one process."""
    parts = -(-call_count // calls_in_memory)
    for part in range(parts):
        keys, ids = _calls_of_part(calls, part, parts, rows)
        if not len(keys):
            continue
        for batch in ops.batches(("id", "correlation"), rows):
            wanted = batch["correlation"]
            places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            found = (keys[places] == wanted) & (wanted > 0)
            if found.any():
                yield {"call": ids[places[found]], "op": batch["id"][found]}


def _calls_of_part(calls: CallRows, part: int, parts: int, rows: int) -> tuple[Array, Array]:
    """Correlations in increasing order, and the ids of their calls."""
    keys, ids = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for block in calls.blocks(rows):
        correlations = block.records["correlation"].astype(np.int64)
        chosen = (correlations > 0) & (correlations % parts == part)
        keys.append(correlations[chosen])
        ids.append(block.places[chosen] + calls.first_id)
    all_keys, all_ids = np.concatenate(keys), np.concatenate(ids)
    order = np.argsort(all_keys, kind="stable")
    return all_keys[order], all_ids[order]


FORMAT = "wavescope session"
_STREAMED = (OPS, MARKERS, CALLS, LINKS, LAUNCHES, COPIES)


def open_session(
    folder: Path,
    windows: Mapping[str, Window] | None = None,
    facts: Mapping[str, str] | None = None,
) -> ChunkSource:
    """The trace of the processes that left their records in `folder`.

    With `windows` (by `<pid>-<start>`) a trace of these parts of these processes alone; without,
    of the newest part where the recorder keeps only that. `facts` are metadata beside what the
    recorder left, or instead of it.
    """
    bases = recorded_bases(folder)
    if windows is None:
        windows = recent_windows(folder, bases)
    if windows is not None:
        bases = [base for base in bases if base in windows]
    session = {**read_session_facts(folder), **(facts or {})}
    return ChunkSource(folder, bases, windows or {}, session)


def open_steady_session(folder: Path, copies_in: Path | None = None) -> ChunkSource:
    """As `open_session`, of copies where records may be dropped while they are read.

    They lie in the folder `copies_in`; without, where temporary files do.
    """
    if not _may_change(folder):
        return open_session(folder)
    copies, left_out = _copied(folder, copies_in)
    with on_error(copies.cleanup):
        told = {} if "output" in read_session_facts(folder) else {"output": str(folder)}
        source = open_session(Path(copies.name), facts=told)
        source.path = str(folder)
        source.copies = copies
        for sentence, count in left_out:
            source.notes.add(sentence, count)
    return source


def _may_change(folder: Path) -> bool:
    """Whether records are dropped just now: by the processes, or by their recorder."""
    bases = recorded_bases(folder)
    is_dropped = KEPT_NEWEST in read_session_facts(folder) or _recorder_drops(folder, bases)
    return is_dropped and any(map(still_runs, bases))


def _recorder_drops(folder: Path, bases: Sequence[str]) -> bool:
    """Whether only a newest part is kept, whose end has not come."""
    now_ns = boottime_ns()
    windows = (recent_windows(folder, bases) or {}).values()
    return any(window.start_ns != 0 and window.end_ns > now_ns for window in windows)


def _copied(
    folder: Path, copies_in: Path | None
) -> tuple[TemporaryDirectory[str], list[tuple[str, int]]]:
    """Copies of a session, and what is to be noted of them."""
    with kept_still(folder) as moved:
        # Made when there is no more waiting: who is killed while waiting leaves nothing behind.
        copies = TemporaryDirectory(prefix="wavescope-records-", dir=copies_in)
        with on_error(copies.cleanup):
            left_out = copy_session(folder, Path(copies.name))
    return copies, [*moved, *left_out]


class _ProcessRows:
    """The rows of one process, numbered for the session."""

    def __init__(self, ops: OpRows, calls: CallRows, markers: MarkerRows, linked: int) -> None:
        self.ops = ops
        self.calls = calls
        self.markers = markers
        self._linked = linked

    def batches(self, table: Table, columns: Sequence[str] | None, rows: int) -> Iterator[Batch]:
        """Rows of a table that is read from the files."""
        if table is LINKS:
            for pairs in link_batches(self.calls, self.ops, self._linked, rows):
                yield full_batch(LINKS, pairs, columns)
            return
        makers = {
            OPS.name: self.ops.batches,
            CALLS.name: self.calls.batches,
            MARKERS.name: self.markers.batches,
            LAUNCHES.name: self.calls.launches,
            COPIES.name: self.calls.copies,
        }
        yield from makers[table.name](columns, rows)


class ChunkSource(Closing):
    """The trace of a session folder."""

    def __init__(
        self,
        folder: Path,
        bases: Sequence[str],
        windows: Mapping[str, Window],
        session: dict[str, str],
    ) -> None:
        self.path = str(folder)
        self.format = FORMAT
        self.copies: TemporaryDirectory[str] | None = None
        """What is read, where that is not the session itself; it goes with the source."""
        self._small = TraceBuilder(self.path, FORMAT)
        self.strings: StringTable = self._small.strings
        self.notes: Notes = self._small.notes
        pattern = _kernel_pattern(session.get(KERNEL_FILTER, ""), self.notes)
        processes = [
            ProcessChunks(
                folder, base, self.notes, self.strings, windows.get(base), kernel_pattern=pattern
            )
            for base in bases
        ]
        surveys = [survey_ops(process) for process in processes]
        for survey in surveys:
            for sentence, count in survey.left_out.items():
                self.notes.add(sentence, count)
        numbering = number(processes, surveys)
        self._counts = dict.fromkeys((table.name for table in _STREAMED), 0)
        self._marker_count = 0
        self._processes = [
            self._rows_of(index, process, survey, numbering)
            for index, (process, survey) in enumerate(zip(processes, surveys, strict=True))
        ]
        origin = PurePath(session.pop("output", self.path)).name
        add_processes(self._small, processes, origin)
        add_agents(self._small, processes, numbering)
        add_queues(self._small, processes, numbering)
        add_coverage(self._small, processes, surveys, numbering)
        add_slices(self._small, processes)
        add_metadata(self._small, processes, numbering, session)

    def row_count(self, table: Table) -> int:
        """Rows of `table` or more: room for records that were never completed counts."""
        if table in _STREAMED:
            return self._counts[table.name]
        return self._small.row_count(table)

    @property
    def most_rows(self) -> int:
        """No table has more rows, whatever ids markers have."""
        streamed = (self._counts[table.name] for table in _STREAMED if table is not MARKERS)
        small = (self._small.row_count(table) for table in TABLES if table not in _STREAMED)
        return max(self._marker_count, *streamed, *small)

    def batches(
        self, table: Table, columns: Sequence[str] | None = None, rows: int = BATCH_ROWS
    ) -> Iterator[Batch]:
        """The rows of `table`, process by process."""
        if table not in _STREAMED:
            yield from self._small.batches(table, columns, rows)
            return
        for process in self._processes:
            yield from process.batches(table, columns, rows)

    def texts(self, handles: npt.NDArray[np.int64]) -> list[str]:
        """The arguments of calls; a handle is the id of its call."""
        found = np.full(len(handles), "", object)
        firsts = np.array([process.calls.first_id for process in self._processes])
        owners = np.searchsorted(firsts, handles, side="right") - 1
        for owner in np.unique(owners[handles > 0]).tolist():
            mine = np.flatnonzero((owners == owner) & (handles > 0))
            found[mine] = self._processes[owner].calls.argument_texts(handles[mine])
        texts: list[str] = found.tolist()
        return texts

    def close(self) -> None:
        """Nothing stays open between passes but the small tables."""
        self._small.close()
        if self.copies is not None:
            self.copies.cleanup()

    def _rows_of(
        self, index: int, process: ProcessChunks, survey: OpSurvey, numbering: Numbering
    ) -> _ProcessRows:
        calls = survey_calls(process, self.notes)
        marker_index = index_markers(process, self.notes)
        last_event_ns = _last_event_ns(process, survey, calls, marker_index)
        markers = MarkerRows(
            index, process, self.strings, marker_index, self._counts[MARKERS.name], last_event_ns
        )
        call_rows = CallRows(
            index, process, self.strings, self._counts[CALLS.name] + 1, last_event_ns
        )
        queues = process.facts.queues.items()
        ops = OpRows(
            process_index=index,
            process=process,
            strings=self.strings,
            kernels=KernelNames(self._small, index, process.facts.kernels),
            gpus=Lookup(numbering.gpus[index]),
            queue_numbers=numbering.queue_numbers[index],
            queue_addresses=Lookup(
                {queue: _signed(address(fact, "address")) for queue, fact in queues}
            ),
            queue_streams=Lookup(
                {queue: max(UNKNOWN, integer(fact, "stream")) for queue, fact in queues}
            ),
            marker_ids=markers.row_ids,
            streams=CallValues(call_rows, calls.linked_count, call_rows.streams).of,
            graphs=CallValues(call_rows, calls.linked_count, call_rows.graphs).of,
            graph_names=GraphNames(self.strings),
            first_id=self._counts[OPS.name] + 1,
        )
        slots = process.calls.slot_count if process.calls else 0
        self._counts[OPS.name] += process.ops.slot_count
        self._counts[MARKERS.name] += marker_index.largest_id
        self._marker_count += len(marker_index.ids)
        for table in (CALLS, LAUNCHES, COPIES):
            self._counts[table.name] += slots
        self._counts[LINKS.name] = self._counts[OPS.name]
        return _ProcessRows(ops, call_rows, markers, calls.linked_count)


def _kernel_pattern(text: str, notes: Notes) -> re.Pattern[str] | None:
    """The kernels that the recording was asked for; None for all."""
    if not text:
        return None
    try:
        return compiled(text)
    except UsageError:
        notes.add("the pattern of kernels is not a regular expression: all are shown")
        return None


def _last_event_ns(
    process: ProcessChunks, survey: OpSurvey, calls: CallSurvey, markers: MarkerIndex
) -> int:
    """When the process was last seen to do anything."""
    end = integer(process.facts.end, "ns") if process.facts.end else -1
    seen = (survey.last_event_ns, calls.last_event_ns, markers.last_event_ns)
    return max(*seen, end, process.start_ns)


def _signed(value: int) -> int:
    return value if value < 1 << 63 else -1
