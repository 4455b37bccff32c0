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
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from wavescope.collect.recording.running_sessions import pages_in, set_recording
from wavescope.collect.windows.closed_markers import ClosedMarkers
from wavescope.collect.windows.recent_part import RecentPart
from wavescope.errors import MachineError, UsageError

_SLOW_STEP = re.compile(r"(?P<marker>.+?)\s*>\s*(?P<factor>\d{1,6}(\.\d{1,6})?)\s*x\s*median")
_STEPS_IN_MEDIAN = 1000
_FEWEST_STEPS = 10
_MOST_SNAPSHOTS = 10


@dataclass(frozen=True)
class SlowStep:
    """A step that takes longer than so many times the median of those before it."""

    marker: re.Pattern[str]
    factor: float

    @classmethod
    def parse(cls, text: str) -> SlowStep:
        """What `--when 'step > 2x median'` says."""
        found = _SLOW_STEP.fullmatch(text.strip())
        if found is None:
            raise UsageError(
                f"'{text}' is no condition", hint="write for example --when 'step > 2x median'"
            )
        return cls(marker_pattern(found["marker"]), float(found["factor"]))


def marker_pattern(text: str) -> re.Pattern[str]:
    """A regular expression that is looked for in the texts of markers."""
    try:
        return re.compile(text)
    except re.error as error:
        raise UsageError(f"'{text}' is not a regular expression: {error}") from error


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
