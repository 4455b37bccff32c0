"""How kernels use L2 and memory, from hardware counters in files of any kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path

from wavescope.analyze.traffic import (
    TRAFFIC_COUNTERS,
    TrafficOptions,
    chosen_dispatches,
    counters_of_trace,
    traffic_result,
)
from wavescope.api.opened import paths_of
from wavescope.errors import UnknownFormatError, UnreadableInputError
from wavescope.formats import open_trace
from wavescope.formats.counters import read_counter_files
from wavescope.model.chips.chip_table import chip_named
from wavescope.model.counters import MEMORY_COUNTERS_HINT, CounterTable
from wavescope.model.paths import PathLike
from wavescope.model.progress import Tell, tell_nobody
from wavescope.model.result import Result

Watched = Callable[[Path], AbstractContextManager[object]]


def traffic(
    files: PathLike | Sequence[PathLike],
    options: TrafficOptions | None = None,
    *,
    chip: str = "",
    kernel: str = "",
    dispatches: Sequence[int] = (),
    watched: Watched = nullcontext,
    warn: Tell = tell_nobody,
) -> Result:
    """How kernels use L2 and memory, from counter CSVs, folders of them, or traces.

    `chip` is such as gfx942, where files do not say it; `kernel` is found somewhere in names of
    kernels; `watched` surrounds the reading of each file, `warn` hears what had to be left out.
    """
    used = options or TrafficOptions()
    if chip:
        used = replace(used, chip=chip_named(chip))
    chosen = chosen_dispatches(memory_counters(files, watched), kernel, dispatches)
    for table in chosen:
        for sentence in table.notes.sentences():
            warn(sentence)
    return traffic_result(chosen, used)


def memory_counters(
    files: PathLike | Sequence[PathLike],
    watched: Watched = nullcontext,
) -> list[CounterTable]:
    """The dispatches of all files with the counters that memory traffic needs."""
    return read_counter_files(
        paths_of(files), TRAFFIC_COUNTERS.__contains__, _counters_of_trace_file, watched
    )


def _counters_of_trace_file(path: Path) -> CounterTable:
    try:
        with open_trace(path) as trace:
            return counters_of_trace(trace, str(path), TRAFFIC_COUNTERS.__contains__)
    except UnknownFormatError as error:
        raise UnreadableInputError(
            path,
            "it is not a counter file: neither a counter CSV nor a trace",
            hint=MEMORY_COUNTERS_HINT,
        ) from error
