"""What counter folders hold; of traces `info` tells it."""

from __future__ import annotations

from collections.abc import Sequence

from wavescope.analyze.counters.joined_results import joined_results
from wavescope.analyze.counters.report import stats_result
from wavescope.api.opened import PathLike, paths_of
from wavescope.formats.counters.workload import read_workload
from wavescope.model.result import Result


def counters_info(folders: PathLike | Sequence[PathLike]) -> Result:
    """The kernels and dispatches of counter folders, with the ids that filters take."""
    return joined_results([stats_result(read_workload(path)) for path in paths_of(folders)])
