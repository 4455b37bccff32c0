"""Writes a trace as a timeline: what the Perfetto and the Chrome JSON exporters have in common.

The source is read in batches in order of time. Each batch becomes columns of slices on tracks (see
`tracks`), with lanes for what overlaps; a `TimelineWriter` turns them into its format.
"""

from __future__ import annotations

from collections.abc import Callable

from wavescope.formats.left_out import FURTHER_LINKS
from wavescope.formats.timeline.counter_series import GpuBusy, StepSeries
from wavescope.formats.timeline.host_slices import HostSlices
from wavescope.formats.timeline.launches import Launches
from wavescope.formats.timeline.op_slices import OpSlices
from wavescope.formats.timeline.slices import TimelineWriter
from wavescope.formats.timeline.survey import Survey
from wavescope.formats.timeline.tracks import TrackLayout
from wavescope.model.columns import LINKS
from wavescope.model.progress import Progress
from wavescope.model.source import TraceSource

SHARED_TRACKS = "queues and threads share a track with others in this file: there are too many"


def write_timeline(
    source: TraceSource,
    writer: TimelineWriter,
    shown_name: Callable[[str], str],
    progress: Progress,
) -> None:
    """Write all of `source` to `writer`; kernels are shown under `shown_name` of their name."""
    survey = Survey(source)
    layout = TrackLayout(source, survey)
    launches = Launches(source, unique=writer.unique_flows) if source.row_count(LINKS) > 0 else None
    if launches is not None:
        source.notes.add(FURTHER_LINKS, launches.further_links)
    source.notes.add(SHARED_TRACKS, layout.without_track)
    writer.begin(source, survey.span)
    for track in layout.tracks:
        writer.track(track)
    done, total = 0, survey.row_count
    busy = GpuBusy(len(layout.busy_tracks), survey.span)
    depth = StepSeries(len(layout.depth_tracks), survey.span)
    ops = OpSlices(source, survey, layout, launches, busy=busy, depth=depth)
    for rows in ops.write(writer, shown_name):
        done += rows
        progress(done, total)
    for rows in HostSlices(source, survey, layout, launches, depth).write(writer):
        done += rows
        progress(done, total)
    for index, track in enumerate(layout.busy_tracks):
        writer.counter(track, busy.percent(index))
    for index, samples in depth.all_samples():
        writer.counter(layout.depth_tracks[index], samples)
    writer.end(source.notes)
    if launches is not None:
        launches.close()
