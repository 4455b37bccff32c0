"""What one recorded process left: its files opened, its facts read, its clocks ready."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import orjson

from wavescope.arrays import Array
from wavescope.formats.session import layout
from wavescope.formats.session.folder import RECENT_PART, is_running
from wavescope.formats.session.layout import (
    BASE_NAME,
    FACTS_SUFFIX,
    NOTED_OPS,
    NOTED_STREAMS,
    TEXT_SUFFIX,
    OpRecordKind,
    Stream,
)
from wavescope.formats.session.pending import OpRecords, completed_records, pending_path
from wavescope.formats.session.plain_file import DamagedStreamError, plain_bytes
from wavescope.formats.session.reading.facts import Facts, TickClock, integer, read_facts, text
from wavescope.formats.session.reading.kernels import kernel_filter
from wavescope.formats.session.record_file import RecordFile, Records, Texts, queue_key
from wavescope.model.columns import OLDER_THAN_KEPT
from wavescope.model.progress import Notes
from wavescope.model.strings import StringTable

_LARGEST_STATE_BYTES = 64 << 20
DROPPED_REASON = OLDER_THAN_KEPT["--max-size"]
FALLEN_OUT_REASON = OLDER_THAN_KEPT["--last"]
_MOST_FALLEN = 1 << 53
"""No process lives that long: more is damage."""


@dataclass(frozen=True)
class Window:
    """What of a process is wanted: ops that start in it, markers and calls that overlap it."""

    start_ns: int
    end_ns: int
    counters: Records | None = None
    """What was counted in the window, by place in the counters stream; None for all that was."""
    fallen_out: Mapping[int, int] = field(default_factory=dict)
    """Dispatches by queue (see `queue_keys`) that were recorded and are in the files no more."""
    fallen_others: Mapping[str, int] = field(default_factory=dict)
    """What else was, by what it is called in notes (`NOTED_OPS`, `NOTED_STREAMS`)."""

    @property
    def is_newest_part(self) -> bool:
        """Whether it ends with the recording, so that what came before it is missing."""
        return self.counters is None

    def starts_before(self, starts: Array) -> Array:
        """Which of `starts` are too early."""
        early: Array = starts < self.start_ns
        return early

    def starts_beyond(self, starts: Array) -> Array:
        """Which of `starts` are too late."""
        late: Array = starts >= self.end_ns
        return late

    def over_before(self, records: Records, is_open: Array) -> Array:
        """Which markers or calls ended before it."""
        over: Array = ~is_open & (records["end"].astype(np.int64) < self.start_ns)
        return over

    def overlapping(self, records: Records, is_open: Array) -> Array:
        """Which markers or calls the window touches; open ones have no end yet."""
        starts, ends = records["start"].astype(np.int64), records["end"].astype(np.int64)
        touched: Array = (starts < self.end_ns) & (is_open | (ends >= self.start_ns))
        return touched


def not_in_the_trace(what: str, reason: str) -> str:
    """The note that some of `what` are missing, which are not counted as coverage."""
    return f"{what} that are not in the trace: {reason}"


class ProcessChunks:
    """The files of one process."""

    def __init__(
        self,
        folder: Path,
        base: str,
        notes: Notes,
        strings: StringTable,
        window: Window | None = None,
        *,
        kernel_pattern: re.Pattern[str] | None = None,
    ) -> None:
        found = BASE_NAME.fullmatch(base)
        assert found is not None
        self.pid, self.start_ns = int(found.group(1)), min(int(found.group(2)), (1 << 63) - 1)
        self._folder = folder
        self._base = base
        self._notes = notes
        self.window = window
        """The part of it that is wanted; None for all."""
        self.facts: Facts = self._read_facts()
        self.kernel_filter = kernel_filter(kernel_pattern, self.facts.kernels, notes)
        """Whose dispatches are rows; None for all."""
        self.texts = self._read_texts(strings)
        self.is_running = self.facts.end is None and is_running(
            self.pid, self.start_ns, f"{base}.{FACTS_SUFFIX}"
        )
        """Whether its recording goes on while it is read."""
        self._pending = None if self.is_running else pending_path(folder, base)
        self.ops = self._op_records()
        self.calls = self._stream(layout.CALLS)
        self.markers = self._stream(layout.MARKERS)
        self.counters = self._stream(layout.COUNTERS)
        self.clocks = {
            gpu: TickClock(pairs, self.facts.clock_rates.get(gpu, 0))
            for gpu, pairs in self.facts.clocks.items()
        }
        self._note_damage()

    @property
    def host(self) -> str:
        """Name of the machine."""
        return text(self.facts.process, "hostname")

    @property
    def mode(self) -> str:
        """How it was recorded: lite, standard, full or hip."""
        return text(self.facts.process, "mode")

    @property
    def is_cut_off(self) -> bool:
        """Whether the process is gone and did not come to an orderly end."""
        return self.facts.end is None and not self.is_running

    @property
    def is_settled(self) -> bool:
        """Whether the collector said its last: then its counters hold.

        A process that exits waits for its collector only so long; what was in flight is then left
        where that of a killed process is.
        """
        return self.facts.end is not None and self._pending is None

    @property
    def is_whole(self) -> bool:
        """Whether all that its collector counted as timed is to be rows."""
        return self.is_settled and self.window is None and not self.dropped_dispatches

    @cached_property
    def dropped_dispatches(self) -> Mapping[int, int]:
        """Dispatches by queue (see `queue_keys`) that made room for newer records."""
        totals: Counter[int] = Counter()
        for dropped in self.ops.file.dropped.ops if self.ops.file else ():
            if dropped.kind == OpRecordKind.DISPATCH:
                totals[queue_key(dropped.gpu, dropped.queue)] += dropped.count
        return totals

    @property
    def end_ns(self) -> int:
        """When recording ended, or -1."""
        return integer(self.facts.end, "ns") if self.facts.end else -1

    @cached_property
    def clock_works(self) -> Array:
        """By GPU number: whether its ticks can be converted."""
        works = np.zeros(1 << 16, bool)
        works[[gpu for gpu, clock in self.clocks.items() if clock.works and gpu < len(works)]] = (
            True
        )
        return works

    def _path(self, suffix: str) -> Path:
        return self._folder / f"{self._base}.{suffix}"

    def _read_facts(self) -> Facts:
        path = self._path(FACTS_SUFFIX)
        try:
            return read_facts(path)
        except (DamagedStreamError, OSError) as error:
            self._note_unreadable(path, error)
            return Facts()

    def _read_texts(self, strings: StringTable) -> Texts:
        path = self._path(TEXT_SUFFIX)
        try:
            return Texts(path, strings)
        except (DamagedStreamError, OSError) as error:
            self._note_unreadable(path, error)
            return Texts(None, strings)

    def _stream(self, stream: Stream) -> RecordFile | None:
        path = self._path(stream.suffix)
        if not os.path.lexists(path):
            return None
        try:
            file = RecordFile(path, stream)
        except (DamagedStreamError, OSError) as error:
            self._note_unreadable(path, error)
            return None
        if file.is_torn:
            self._notes.add("records that were cut off at the end of a file, left out")
        return file

    def _note_unreadable(self, path: Path, error: Exception) -> None:
        reason = error.strerror if isinstance(error, OSError) else error
        self._notes.add(f"file {path.name} is {reason}: left out")

    def _op_records(self) -> OpRecords:
        """All that was written, and of a process that is gone also what was not."""
        written = OpRecords(self._stream(layout.OPS))
        if self._pending is None:
            return written
        try:
            rescued = completed_records(self._pending, self._base, written.written)
        except (DamagedStreamError, OSError) as error:
            self._note_unreadable(self._pending, error)
            return written
        return OpRecords(written.file, rescued)

    def _note_damage(self) -> None:
        notes, facts = self._notes, self.facts
        notes.add("facts that cannot be read, left out", facts.damaged_lines + facts.torn)
        notes.add("texts that were cut off at the end of a file", int(self.texts.torn_bytes > 0))
        dropped = sum(clock.dropped for clock in self.clocks.values())
        notes.add("clock readings that went backwards, left out", dropped)
        for sentence, count in facts.notes:
            notes.add(sentence, count)
        for what, count in self._dropped_others().items():
            notes.add(not_in_the_trace(what, DROPPED_REASON), count)
        if self.window is not None:
            for what in (*NOTED_OPS.values(), *NOTED_STREAMS):
                self.note_fallen_out(what, self.window.fallen_others.get(what, 0))

    def note_fallen_out(self, what: str, count: int) -> None:
        """Note that so many of `what` came before the newest part, where that is all of a trace."""
        if self.window is not None and self.window.is_newest_part:
            self._notes.add(not_in_the_trace(what, FALLEN_OUT_REASON), count)

    def _dropped_others(self) -> dict[str, int]:
        """What made room for newer records and is not counted as coverage."""
        ops = self.ops.file.dropped.ops if self.ops.file else ()
        return {
            **{
                name: sum(each.count for each in ops if each.kind == kind)
                for kind, name in NOTED_OPS.items()
            },
            "calls": self.calls.dropped.records if self.calls else 0,
            "markers": self.markers.dropped.records if self.markers else 0,
        }


def recent_windows(
    session: Path, bases: Sequence[str], until_ns: int | None = None
) -> Mapping[str, Window] | None:
    """What a trace of the session is to hold; None for all of it.

    It is the newest part before `until_ns`, or before the recorder last looked.
    """
    try:
        state = orjson.loads(plain_bytes(session / RECENT_PART, _LARGEST_STATE_BYTES))
        end_ns = int(state["end_ns"])
        until_ns = min(end_ns, int(state["until_ns"]) if until_ns is None else until_ns)
        start_ns = 0 if state["last_ns"] is None else until_ns - int(state["last_ns"])
        fallen_out = {
            base: {int(key): _checked_count(count) for key, count in counts.items()}
            for base, counts in state["fallen_out"].items()
        }
        fallen_others = {
            base: {what: _checked_count(count) for what, count in counts.items()}
            for base, counts in state.get("fallen_others", {}).items()
        }
    except (DamagedStreamError, OSError, KeyError, TypeError, ValueError, AttributeError):
        return None
    return {
        base: Window(
            start_ns,
            end_ns,
            fallen_out=fallen_out.get(base, {}),
            fallen_others=fallen_others.get(base, {}),
        )
        for base in bases
    }


def _checked_count(count: str | float) -> int:
    return min(max(0, int(count)), _MOST_FALLEN)
