"""What captures and counter folders hold; of traces `info` tells it."""

from __future__ import annotations

from collections.abc import Sequence

from wavescope.analyze.capture.capture_overview import capture_overview
from wavescope.analyze.counters.joined_results import joined_results
from wavescope.analyze.counters.report import stats_result
from wavescope.api.opened import PathLike, paths_of
from wavescope.errors import UnreadableInputError
from wavescope.formats.captures import ReadOptions, find_captures, load_thread_trace
from wavescope.formats.counters.workload import read_workload
from wavescope.model.progress import Progress, no_progress
from wavescope.model.result import Result


def capture_info(
    captures: PathLike | Sequence[PathLike], *, progress: Progress = no_progress
) -> Result:
    """The captures at the paths, one row each: kernel, dispatch, stall, waves."""
    found = find_captures(paths_of(captures))
    traces, unreadable = [], []
    for done, capture in enumerate(found):
        progress(done, len(found))
        try:
            traces.append(load_thread_trace(capture, ReadOptions(reads_waves=False)))
        except UnreadableInputError as error:
            if len(found) == 1:
                raise
            unreadable.append(str(error))
    return capture_overview(traces, unreadable)


def counters_info(folders: PathLike | Sequence[PathLike]) -> Result:
    """The kernels and dispatches of counter folders, with the ids that filters take."""
    return joined_results([stats_result(read_workload(path)) for path in paths_of(folders)])
