"""What a timeline format must offer; see `timeline` for who calls it."""

from __future__ import annotations

from typing import Protocol

from wavescope.formats.timeline.bodies import EventBody
from wavescope.formats.timeline.counter_series import Samples, Span
from wavescope.formats.timeline.slice_columns import SliceColumns
from wavescope.formats.timeline.tracks import Track
from wavescope.model.source import TraceSource


class TimelineWriter(Protocol):
    """A timeline format. Tracks are numbered by `Track.index`, also in `SliceColumns.track`."""

    @property
    def unique_flows(self) -> bool:
        """Whether each flow id may have only one beginning."""

    @property
    def op_place(self) -> tuple[str, ...]:
        """Columns of `ops` that tell where an op ran and shall be arguments of it."""

    def begin(self, source: TraceSource, span: Span) -> None:
        """Write what comes first."""

    def track(self, track: Track) -> None:
        """Declare a track; done before anything is written to it."""

    def body(self, event: EventBody) -> bytes:
        """The encoded repeating part of an event."""

    def label(self, name: str) -> bytes:
        """The encoded name of an argument that has one value per row."""

    def forget(self) -> None:
        """Bodies and labels made so far will not be used again."""

    def slices(self, columns: SliceColumns) -> None:
        """Write slices, which are in order on each track."""

    def counter(self, track: Track, samples: Samples) -> None:
        """Write the values of a counter track."""

    def end(self) -> None:
        """Write what comes last."""
