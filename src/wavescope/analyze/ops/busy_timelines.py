"""What kept each GPU busy: all of its ops, also those that a selection leaves out.

A filter chooses what is listed, it does not make a GPU idle. Of a selected part of a trace busy and
idle time are therefore those of the whole GPU, over the time that the selection is about: from the
first to the last of its ops, and where markers or times select, only inside these. Of a trace that
was recorded in slices they are those of the slices.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ops.coverage import recorded
from wavescope.analyze.ops.gpu_timelines import (
    NO_OPS,
    ClassTimes,
    GpuTimeline,
    SampledTime,
    gpu_timelines,
    timelines_of,
)
from wavescope.arrays.intervals import Intervals, Times
from wavescope.model.op_kinds import OpKind
from wavescope.model.result import Value
from wavescope.model.trace import Surroundings, Trace

if TYPE_CHECKING:
    from wavescope.analyze.ops.recorded import Recorded


Rows = npt.NDArray[np.intp]


def busy_timelines(trace: Trace) -> list[GpuTimeline]:
    """The timelines of the GPUs that ran any of the trace's ops, in order of GPU number."""
    found = recorded(trace)
    if found is not None:
        return [_in_slices(found, own) for own in trace.derived(gpu_timelines)]
    if trace.part_of is None:
        return trace.derived(gpu_timelines)
    return [_whole_gpu(trace.part_of, own) for own in trace.derived(gpu_timelines)]


def busy_basis(trace: Trace) -> dict[str, Value]:
    """The fact that says what busy and idle times are of, where it is not simply the GPU."""
    if trace.lacks_ops:
        return {"busy_and_idle_of": "the ops that a filter left in the file"}
    if recorded(trace) is not None:
        return {"busy_and_idle_of": "the GPU in slices, which begin with a launch"}
    if trace.part_of is not None:
        return {"busy_and_idle_of": "the whole GPU, over the selected time"}
    return {}


def _in_slices(found: Recorded, own: GpuTimeline) -> GpuTimeline:
    """What all ops of a GPU that began in slices did; a process without slices was seen whole."""
    slices = found.window_of_gpu(own.gpu)
    if slices is None:
        return own if found.trace.part_of is None else _whole_gpu(found.trace.part_of, own)
    whole = found.trace.whole
    here = (whole.ops["gpu"] == own.gpu) & (whole.op_kind != OpKind.BARRIER)
    runs = here & (whole.op_kind == OpKind.GRAPH_RUN)
    begun = np.flatnonzero(here & slices.contains_points(whole.ops["start_ns"]))
    gpus, queues, starts, ends = (
        whole.ops[name][begun] for name in ("gpu", "queue", "start_ns", "end_ns")
    )
    made = timelines_of(gpus, queues, starts, ends, whole.op_class[begun])
    timeline = made[0] if made else GpuTimeline(own.gpu, (), NO_OPS, ClassTimes(0, 0, 0, 0))
    graph_runs = Intervals.from_pairs(whole.ops["start_ns"][runs], whole.ops["end_ns"][runs])
    return replace(timeline, sampled=SampledTime(slices, graph_runs))


def _whole_gpu(part_of: Surroundings, own: GpuTimeline) -> GpuTimeline:
    window = _window(own, part_of.window)
    if window.span is None:
        return own
    whole = part_of.whole
    rows = np.flatnonzero((whole.ops["gpu"] == own.gpu) & (whole.op_kind != OpKind.BARRIER))
    starts, ends, places = clipped(whole.ops["start_ns"][rows], whole.ops["end_ns"][rows], window)
    rows = rows[places]
    gpus, queues, classes = whole.ops["gpu"][rows], whole.ops["queue"][rows], whole.op_class[rows]
    made = timelines_of(gpus, queues, starts, ends, classes)
    # Ops that took no time fill none of the window.
    return replace(made[0] if made else own, window=window)


def _window(own: GpuTimeline, chosen: Intervals | None) -> Intervals:
    """The time that the ops of a GPU are about: between them, or what was chosen of that."""
    first, last = int(own.busy.starts[0]), int(own.busy.ends[-1])
    if chosen is None:
        return Intervals.from_pairs([first], [last])
    inside = chosen.clip(first, last)
    return Intervals.from_pairs(
        np.concatenate((inside.starts, own.busy.starts)),
        np.concatenate((inside.ends, own.busy.ends)),
    )


def clipped(starts: Times, ends: Times, window: Intervals) -> tuple[Times, Times, Rows]:
    """The pieces of [start, end) that lie in the window, each with the place it came from."""
    first = np.searchsorted(window.ends, starts, side="right")
    stop = np.searchsorted(window.starts, ends, side="left")
    counts = np.maximum(stop - first, 0)
    places = np.repeat(np.arange(len(starts)), counts)
    # Within each row the pieces count up from its first.
    pieces = np.arange(len(places)) - np.repeat(np.cumsum(counts) - counts, counts)
    pieces += np.repeat(first, counts)
    return (
        np.maximum(starts[places], window.starts[pieces]),
        np.minimum(ends[places], window.ends[pieces]),
        places,
    )
