"""What a file or folder is, told by its content, and what one that is no trace says of itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from wavescope.analyze.capture import capture_overview
from wavescope.analyze.counters.comparison import side_by_side
from wavescope.analyze.counters.report import stats_result
from wavescope.api.opened import PathLike, paths_of
from wavescope.errors import UnknownFormatError, UnreadableInputError
from wavescope.formats import importers
from wavescope.formats.captures import ReadOptions, find_captures, holds_captures, load_capture
from wavescope.formats.counters.workload import is_workload, read_workload
from wavescope.formats.sniff import Probe, probe
from wavescope.model.input_kind import InputKind
from wavescope.model.progress import Progress, no_progress
from wavescope.model.result import Result


def kind_of(path: PathLike) -> InputKind:
    """What is at `path`; an error when it cannot be read or is nothing that is known.

    A folder can be several things at once, as rocprofv3 writes kernel traces beside captures and
    counters: it is a counter folder before it is a capture, and a trace only if it is neither.
    """
    seen = probe(Path(path))
    kind = _kind_of_folder(seen) if seen.is_folder else _kind_of_file(seen)
    if kind is None:
        raise UnknownFormatError(
            path,
            "it is no trace, no capture and no counter folder",
            hint="`wavescope info --formats` lists what can be read",
        )
    return kind


def _kind_of_file(seen: Probe) -> InputKind | None:
    if _is_trace(seen):
        return InputKind.TRACE
    return InputKind.CAPTURE if holds_captures(seen.path) else None


def _kind_of_folder(seen: Probe) -> InputKind | None:
    if is_workload(seen.path):
        return InputKind.COUNTERS
    if holds_captures(seen.path):
        return InputKind.CAPTURE
    return InputKind.TRACE if _is_trace(seen) else None


def _is_trace(seen: Probe) -> bool:
    return any(importer.matches(seen) for importer in importers(seen))


def capture_info(
    captures: PathLike | Sequence[PathLike], *, progress: Progress = no_progress
) -> Result:
    """The captures at the paths, one row each: kernel, dispatch, stall, waves."""
    found = find_captures(paths_of(captures))
    traces, unreadable = [], []
    for done, capture in enumerate(found):
        progress(done, len(found))
        try:
            traces.append(load_capture(capture, ReadOptions(reads_waves=False)))
        except UnreadableInputError as error:
            if len(found) == 1:
                raise
            unreadable.append(str(error))
    return capture_overview(traces, unreadable)


def counters_info(folders: PathLike | Sequence[PathLike]) -> Result:
    """The kernels and dispatches of counter folders, with the ids that filters take."""
    return side_by_side([stats_result(read_workload(path)) for path in paths_of(folders)])
