"""What a recording does when a marker closes: it ends, or a slow step leaves a snapshot.

The recorder watches the session from outside; the program does nothing for it.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
from collections import defaultdict, deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from wavescope.arrays import Array
from wavescope.collect.recent_part import RecentPart
from wavescope.collect.record_options import SlowStep
from wavescope.collect.running_sessions import pages_in, set_recording
from wavescope.errors import MachineError
from wavescope.formats.session.folder import process_bases
from wavescope.formats.session.layout import MARKERS, PAGE_BYTES, TEXT_SUFFIX, MarkerRecordKind
from wavescope.formats.session.record_file import RecordFile, Records, Texts
from wavescope.formats.session.spent_records import opened_stream
from wavescope.model.strings import StringTable

_STEPS_IN_MEDIAN = 1000
_FEWEST_STEPS = 10
_MOST_SNAPSHOTS = 10
_BLOCK_BYTES = 3 * PAGE_BYTES
"""What a thread fills at a time."""


@dataclass
class Triggers:
    """Looks at the markers that closed, about twice a second."""

    recent: RecentPart
    until_marker: re.Pattern[str] | None
    slow_step: SlowStep | None
    output: Path
    _steps: dict[str, deque[int]] = field(
        default_factory=lambda: defaultdict(lambda: deque(maxlen=_STEPS_IN_MEDIAN))
    )
    _snapshots: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._markers = ClosedMarkers(self.recent.session)

    def look(self) -> None:
        """See what closed, and do what is to be done about it."""
        with suppress(OSError):
            for marker in self._markers.since_last_look():
                if self.until_marker is not None and self.until_marker.search(marker.text):
                    self.recent.end_at(marker.end_ns)
                self._time_step(marker.text, marker.end_ns - marker.start_ns)
        if self.recent.end_ns is not None:
            self._pause()

    def finish(self) -> None:
        """Wait for the snapshots that are being written."""
        for snapshot in self._snapshots:
            snapshot.wait()

    def _time_step(self, text: str, duration_ns: int) -> None:
        if self.slow_step is None or not self.slow_step.marker.search(text):
            return
        before = self._steps[text]
        is_slow = len(
            before
        ) >= _FEWEST_STEPS and duration_ns > self.slow_step.factor * statistics.median(before)
        before.append(duration_ns)
        if is_slow:
            self._take_snapshot()

    def _take_snapshot(self) -> None:
        """In a process of its own, as it may take long; one at a time."""
        is_busy = bool(self._snapshots) and self._snapshots[-1].poll() is None
        if is_busy or len(self._snapshots) == _MOST_SNAPSHOTS:
            return
        number = len(self._snapshots) + 1
        name = f"{self.output.stem}_slow_{number}{self.output.suffix}"
        output = str(self.output.with_name(name).absolute())
        command = [sys.executable, "-m", "wavescope", "snapshot", str(os.getpid()), "-q", "--force"]
        self._snapshots.append(subprocess.Popen([*command, "-o", output]))

    def _pause(self) -> None:
        for page in pages_in(self.recent.session):
            with suppress(OSError, MachineError):
                set_recording(page, recording=False)


@dataclass(frozen=True)
class ClosedMarker:
    """A range that was closed, or a mark."""

    text: str
    start_ns: int
    end_ns: int


@dataclass
class _Watched:
    """One process: where to look next."""

    unfinished: dict[int, set[int]] = field(default_factory=dict)
    """Blocks that may still tell something, by their first place: ids of those that were told."""
    first_unseen: int = 0
    newest_filled: int = 0
    """The block with the newest records; what is empty behind it may be filled later."""
    texts: Texts | None = None


@dataclass
class ClosedMarkers:
    """The markers of all processes of a session; each is told once."""

    session: Path
    _processes: dict[str, _Watched] = field(default_factory=dict)

    def since_last_look(self) -> Iterator[ClosedMarker]:
        """Those that closed, process by process."""
        for base in process_bases(path.name for path in self.session.iterdir()):
            file = opened_stream(self.session, base, MARKERS)
            if file is not None:
                watched = self._processes.setdefault(base, _Watched())
                yield from self._of_process(base, file, watched)

    def _of_process(self, base: str, file: RecordFile, watched: _Watched) -> Iterator[ClosedMarker]:
        rows = _BLOCK_BYTES // file.record_bytes
        unseen = range(watched.first_unseen, file.slot_count, rows)
        newest_before = watched.newest_filled
        for first in (*watched.unfinished, *unseen):
            records = file.records_at(np.arange(first, min(first + rows, file.slot_count)))
            told = watched.unfinished.pop(first, None)
            yield from self._of_block(base, records, told or set(), watched)
            watched.first_unseen = max(watched.first_unseen, first + rows)
            if records["kind"].any():
                watched.newest_filled = max(watched.newest_filled, first)
            may_be_gone = told is not None and first < newest_before
            if not _is_finished(records, rows, may_be_gone=may_be_gone):
                watched.unfinished[first] = set(records["id"][_are_closed(records)].tolist())

    def _of_block(
        self, base: str, records: Records, told: set[int], watched: _Watched
    ) -> Iterator[ClosedMarker]:
        for record in records[_are_closed(records)]:
            if int(record["id"]) not in told:
                yield self._marker(base, record, watched)

    def _marker(self, base: str, record: np.void, watched: _Watched) -> ClosedMarker:
        identity = int(record["text"])
        if watched.texts is None or not watched.texts.text(identity):
            watched.texts = Texts(self.session / f"{base}.{TEXT_SUFFIX}", StringTable())
        text = watched.texts.text(identity)
        return ClosedMarker(text, int(record["start"]), int(record["end"]))


def _are_closed(records: Records) -> Array:
    return np.isin(records["kind"], (MarkerRecordKind.RANGE, MarkerRecordKind.MARK))


def _is_finished(records: Records, rows: int, *, may_be_gone: bool) -> bool:
    """Whether nothing of a block is to come: one that is empty may have made room for others."""
    is_gone = may_be_gone and not records["kind"].any()
    return len(records) == rows and (is_gone or bool(_are_closed(records).all()))
