"""Traces as timelines: what the writers of Chrome JSON and of Perfetto have in common."""

from wavescope.formats.timeline.counter_series import Samples, Span
from wavescope.formats.timeline.slices import EventBody, Pieces, SliceColumns
from wavescope.formats.timeline.timeline import write_timeline
from wavescope.formats.timeline.tracks import Track, TrackKind, table_rows

__all__ = [
    "EventBody",
    "Pieces",
    "Samples",
    "SliceColumns",
    "Span",
    "Track",
    "TrackKind",
    "table_rows",
    "write_timeline",
]
