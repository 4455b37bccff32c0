"""Imports Chrome trace event JSON: PyTorch's profiler (Kineto) and other tools' exports.

What becomes what:
- `kernel`, `gpu_memcpy` and `gpu_memset` events are ops, on the GPU and stream that args state;
- runtime, driver, operator and Python events are calls with their args; correlation ids link them,
  where there are none the profiler's external ids;
- `user_annotation` and `gpu_user_annotation` are markers; instants are marks when they are a user's
  (an annotation, or without a category) and zero-length calls otherwise;
- begin and end events are paired per thread, then read like complete ones;
- in files of other tools an event is an op when its category is an op type or its process is named
  as a GPU, else a call; JAX and TensorFlow write kinds, sizes and correlation ids as texts in args,
  and repeat the work of streams on further lanes, which are passed over;
- counters and asynchronous events are counted in the notes, not imported; the profiler's own span,
  which only says when it was on, is passed over.

Times are kept as written; a file's `baseTimeNanoseconds`, from which they count, is in the metadata
as `chrome.baseTimeNanoseconds`, with all other top-level members. Our own exports get back the
times they had. Grids are in work-items: Kineto writes blocks, which are multiplied by the block
size, except for the HIP calls that take work-items.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.arrays import Array
from wavescope.closing import Closing, on_error
from wavescope.errors import UnreadableInputError
from wavescope.formats.chrome.categories import (
    DROPPED_ARGS,
    OP_CATEGORIES,
    PROFILER_SPAN,
    Role,
)
from wavescope.formats.chrome.event_batch import (
    BEGIN_PHASE,
    END_PHASE,
    EventBatch,
    EventRows,
    OpenSlices,
    batch_rows,
    closed_rows,
    note_missing_durations,
    timed,
)
from wavescope.formats.chrome.events import EventFile, is_own_export
from wavescope.formats.chrome.links import (
    FLOW_END,
    FLOW_START,
    ExternalIds,
    FlowArrows,
    KeyedLinks,
    Links,
    SliceTable,
)
from wavescope.formats.chrome.processes import METADATA_PHASE, Reading, Writer
from wavescope.formats.chrome.run_facts import add_run_facts
from wavescope.formats.chrome.trace_rows import HostRows, OpRows
from wavescope.model.builder import TraceBuilder
from wavescope.model.columns import CALLS, MARKER_INSTANT, OPS, UNKNOWN
from wavescope.model.source import TraceSource

if TYPE_CHECKING:
    from wavescope.formats.chrome.own_export import SliceArrows
    from wavescope.formats.chrome.process_links import ProcessOfOps

FORMAT = "Chrome JSON"
_COMPLETE_PHASE = ord("X")
_COUNTER_PHASE = ord("C")
_INSTANT_PHASES = tuple(map(ord, "iIR"))
_FLOW_PHASES = (FLOW_START, FLOW_END, ord("t"))
_READ_PHASES = (
    _COMPLETE_PHASE,
    BEGIN_PHASE,
    END_PHASE,
    METADATA_PHASE,
    *_INSTANT_PHASES,
    *_FLOW_PHASES,
)


def open_chrome_json(path: Path) -> TraceSource:
    """The trace in `path`; UnreadableInputError when it is no such JSON."""
    builder = TraceBuilder(str(path), FORMAT)
    with on_error(builder.close), _Import(path, builder) as importing:
        importing.run()
    return builder


class _Slices(NamedTuple):
    """Events of a batch that became calls and ops: where they are in it, and their ids."""

    call_places: npt.NDArray[np.intp]
    call_ids: range
    op_places: npt.NDArray[np.intp]
    op_ids: range

    def ids(self, rows: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The call and the op that each event of the batch became, UNKNOWN for neither."""
        call, op = np.full(rows, UNKNOWN, np.int64), np.full(rows, UNKNOWN, np.int64)
        call[self.call_places] = self.call_ids
        op[self.op_places] = self.op_ids
        return call, op


class _Import(Closing):
    """One pass over a file into a builder."""

    def __init__(self, path: Path, builder: TraceBuilder) -> None:
        self.path = path
        self.file = EventFile(path, OP_CATEGORIES if is_own_export(path) else DROPPED_ARGS)
        self.reading = Reading(path, self.file.tables, builder)
        self.notes = builder.notes
        self.correlations = KeyedLinks()
        self.external_ids = ExternalIds()
        self.at_slices = KeyedLinks()
        self.slice_arrows: SliceArrows | None = None
        self.arrows = FlowArrows()
        self.slices = OpenSlices()
        self.ops = OpRows(path, self.reading, self.correlations, self.external_ids)
        self.host = HostRows(self.reading, self.correlations, self.external_ids)

    def close(self) -> None:
        """Give back what only the import needs."""
        self.ops.close()
        self.arrows.close()
        self.correlations.close()
        self.external_ids.close()
        self.at_slices.close()

    def run(self) -> None:
        for batch in self.file.batches():
            self.reading.update()
            self.reading.learn(batch)
            self._add_batch(batch)
        self.reading.update()
        self._finish()

    def _add_batch(self, batch: EventBatch) -> None:
        phase = np.asarray(batch["phase"])
        roles = self.reading.roles(batch)
        self._note_unread(batch, phase, roles)
        rows = batch_rows(batch, self.reading.builder)
        complete = timed(
            rows.where((phase == _COMPLETE_PHASE) & (roles != Role.SKIPPED)), self.notes
        )
        note_missing_durations(complete, self.notes)
        slices = self._add_slices(complete)
        closed = self.slices.take(rows)
        if closed:
            self._add_slices(closed_rows(closed))
        instants = np.isin(phase, _INSTANT_PHASES)
        if instants.any():
            self._add_instants(timed(rows.where(instants), self.notes))
        self._add_arrows(batch, phase, roles, slices)

    def _note_unread(self, batch: EventBatch, phase: Array, roles: Array) -> None:
        # Counters of our own exports only show what ops and calls tell.
        known = (*_READ_PHASES, _COUNTER_PHASE) if self.reading.own else _READ_PHASES
        other = np.bincount(phase[~np.isin(phase, known)], minlength=1)
        for letter in np.flatnonzero(other).tolist():
            spelled = f"of phase {chr(letter)!r}" if letter else "without a phase"
            self.notes.add(f"events {spelled} were not imported", other[letter])
        self._note_skipped(batch["category"][(roles == Role.SKIPPED) & (phase == _COMPLETE_PHASE)])

    def _note_skipped(self, categories: Array) -> None:
        for code, count in zip(*np.unique(categories, return_counts=True), strict=True):
            if code >= 0 and self.file.tables.texts[code] == PROFILER_SPAN:
                continue
            shown = f"of category {self.file.tables.texts[code]!r}" if code >= 0 else "on a GPU"
            self.notes.add(f"events {shown} were not imported", count)

    def _add_slices(self, rows: EventRows) -> _Slices:
        """Rows with a start and an end, each into its table."""
        roles = self.reading.roles(rows)
        by_process = roles == Role.BY_PROCESS
        is_op = (roles == Role.OP) | (roles == Role.TYPED_OP)
        is_call = (roles == Role.CALL) | (roles == Role.LAUNCH_CALL)
        if by_process.any():
            on_gpu = by_process & (self.reading.gpus[rows["process"]] >= 0)
            is_call |= by_process & ~on_gpu
            if self.reading.writer is Writer.KINETO:
                # Its GPU work is known; what else it draws there repeats or waits for that work.
                self._note_skipped(rows["category"][on_gpu])
            else:
                is_op |= on_gpu
        xla = self.reading.xla
        if xla is not None:
            is_op &= ~xla.on_repeated_lanes(rows)
        ops, calls = rows.where(is_op), rows.where(is_call)
        if xla is not None:
            calls = self.host.add_steps(calls, xla.step_numbers(calls))
        op_ids, call_ids = self.ops.add(ops, roles[is_op]), self.host.add_calls(calls)
        self.host.add_markers(rows.where(_is_marker(roles)), flags=0)
        return _Slices(calls.places, call_ids, ops.places, op_ids)

    def _add_instants(self, rows: EventRows) -> None:
        roles = self.reading.roles(rows)
        is_mark = _is_marker(roles) | (rows["category"] < 0)
        self.host.add_markers(rows.where(is_mark), flags=MARKER_INSTANT)
        self.host.add_calls(rows.where(~is_mark & (roles != Role.SKIPPED)))

    def _add_arrows(self, batch: EventBatch, phase: Array, roles: Array, slices: _Slices) -> None:
        """Kineto's arrows only repeat the correlation ids."""
        is_flow = np.isin(phase, _FLOW_PHASES)
        if self.reading.writer is Writer.WAVESCOPE:
            if self.slice_arrows is None:
                self.slice_arrows = _slice_arrows(self.at_slices)
            is_flow &= ~self.slice_arrows.add(batch, *slices.ids(batch.rows))
        else:
            is_flow &= roles != Role.SKIPPED
        if is_flow.any():
            self.arrows.add(batch, is_flow, self.reading.numbers, self.reading.base_ns)

    def _finish(self) -> None:
        counts = self.file.tables.counts
        if not counts.has_events:
            if counts.truncated:
                hint = "was it copied completely, and had the program ended?"
                raise UnreadableInputError(self.path, "it ends before events", hint=hint)
            raise UnreadableInputError(self.path, 'it has no "traceEvents" list with events')
        open_slices = self.slices.close_all()
        if open_slices:
            self.notes.add("events never ended: their end is the last time seen", len(open_slices))
            self._add_slices(closed_rows(open_slices))
        with Links() as links:
            self._link(links)
            self.ops.add_linked(links)
        self.host.finish()
        add_run_facts(self.reading)
        self._note_repairs()

    def _link(self, links: Links) -> None:
        reading = self.reading
        meanings = (
            reading.texts.strings,
            reading.processes.by_code(reading.tables.keys),
            reading.numbers,
        )
        self.at_slices.join(links, *meanings)
        if not len(links) and self.arrows.found:
            wanted, numbers = ("id", "name", "process", "thread"), reading.numbers
            calls = SliceTable(reading.builder, CALLS, wanted, "pid", lambda pids: pids)
            ops = SliceTable(self.ops.waiting, OPS, wanted, "process", lambda keys: numbers[keys])
            self.arrows.join(links, calls, ops)
        if not len(links) and reading.own is None:
            self.correlations.join(links, *meanings, self._process_of_ops())
            self.external_ids.join(links, *meanings)

    def _process_of_ops(self) -> ProcessOfOps | None:
        """Which process launched which ops, where several launch."""
        if self.host.launching_process_count < 2:
            return None
        # Few files hold several processes.
        from wavescope.formats.chrome.process_links import (  # noqa: PLC0415
            SHARED_NUMBERS,
            ProcessOfOps,
        )

        found = ProcessOfOps(self.reading.builder, self.ops.waiting)
        self.notes.add(SHARED_NUMBERS, found.shared_count)
        return found

    def _note_repairs(self) -> None:
        counts = self.file.tables.counts
        sentences = (
            ("ends of events had no begin", self.slices.unmatched_ends),
            ("elements of the event list are not objects", counts.not_objects),
            ("texts held invalid UTF-8, which was replaced", counts.replaced_texts),
            ("times could not be read as numbers", counts.unusable_times),
            ("top-level members were too large to keep", counts.dropped_metadata),
            ("file is cut short: the events up to there were read", int(counts.truncated)),
        )
        for sentence, count in sentences:
            self.notes.add(sentence, count)


def _slice_arrows(links: KeyedLinks) -> SliceArrows:
    # Only our own exports have such arrows.
    from wavescope.formats.chrome.own_export import SliceArrows  # noqa: PLC0415

    return SliceArrows(links)


def _is_marker(roles: Array) -> npt.NDArray[np.bool_]:
    is_marker: npt.NDArray[np.bool_] = (roles == Role.MARKER) | (roles == Role.GPU_MARKER)
    return is_marker
