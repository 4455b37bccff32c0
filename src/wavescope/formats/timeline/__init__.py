"""Traces as timelines: what the writers of Chrome JSON and of Perfetto, and the viewer, share.

More than six names go out: both writers and the viewer put their own slices together from the same
parts.
"""

from wavescope.formats.timeline.counter_series import Samples, Span, StepSeries
from wavescope.formats.timeline.slices import EventBody, Pieces, SliceColumns
from wavescope.formats.timeline.survey import ProcessKeys
from wavescope.formats.timeline.timeline import write_timeline
from wavescope.formats.timeline.tracks import Track, TrackKind, TrackLabels, table_rows

__all__ = [
    "EventBody",
    "Pieces",
    "ProcessKeys",
    "Samples",
    "SliceColumns",
    "Span",
    "StepSeries",
    "Track",
    "TrackKind",
    "TrackLabels",
    "table_rows",
    "write_timeline",
]
