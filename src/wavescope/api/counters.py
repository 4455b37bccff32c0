"""What hardware counters say: metric panels, roofline, traffic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from wavescope.api.opened import PathLike, paths_of
from wavescope.formats import open_trace
from wavescope.formats.output import replaced
from wavescope.model.result import Result

if TYPE_CHECKING:
    from wavescope.analyze.counters.report import Analysis, AnalysisOptions
    from wavescope.analyze.traffic.kernel_traffic import TrafficOptions
    from wavescope.model.counters import CounterTable


def traffic(
    counters: PathLike | Sequence[PathLike],
    options: TrafficOptions | None = None,
    *,
    kernel: str = "",
    dispatches: Sequence[int] = (),
) -> Result:
    """How kernels use L2 and memory, from counter CSVs, folders of them, or traces."""
    from wavescope.analyze.traffic.dispatches import (  # noqa: PLC0415
        chosen_dispatches,
        completed_options,
    )
    from wavescope.analyze.traffic.kernel_traffic import TrafficOptions  # noqa: PLC0415
    from wavescope.analyze.traffic.report import traffic_result  # noqa: PLC0415

    chosen = chosen_dispatches(memory_counters(counters), kernel, dispatches)
    return traffic_result(chosen, completed_options(options or TrafficOptions(), chosen))


def metric_panels(
    workloads: PathLike | Sequence[PathLike], options: AnalysisOptions | None = None
) -> Result:
    """The metric panels of a workload folder of hardware counters; several are compared."""
    from wavescope.analyze.counters.comparison import comparison_result  # noqa: PLC0415
    from wavescope.analyze.counters.report import (  # noqa: PLC0415
        AnalysisOptions,
        analysis_result,
    )

    chosen = options or AnalysisOptions()
    analyses = _analyses(workloads, chosen)
    if len(analyses) == 1:
        return analysis_result(analyses[0], chosen)
    return comparison_result(analyses, chosen)


def roofline(
    workloads: PathLike | Sequence[PathLike],
    output: PathLike | None = None,
    options: AnalysisOptions | None = None,
    *,
    force: bool = False,
) -> Result:
    """How near kernels come to what the chip can do, by operations for each byte.

    The plot is written to `output`, in the format of its suffix: .html, .svg, .png or .json.
    """
    from wavescope.analyze.counters.joined_results import joined_results  # noqa: PLC0415
    from wavescope.analyze.counters.report import AnalysisOptions  # noqa: PLC0415
    from wavescope.analyze.counters.roofline import roofline as placed  # noqa: PLC0415
    from wavescope.analyze.counters.roofline_tables import roofline_result  # noqa: PLC0415
    from wavescope.render.roofline_files import write_roofline  # noqa: PLC0415

    chosen = replace(options or AnalysisOptions(), blocks=("0",))
    runs = [(each.values, placed(each.values)) for each in _analyses(workloads, chosen)]
    results = [roofline_result(values, plot) for values, plot in runs]
    if output is not None:
        target = Path(output)
        with replaced(target, paths_of(workloads), force=force) as temporary:
            plots = [(values.measured.table.path, plot) for values, plot in runs]
            write_roofline(temporary, plots, target.suffix, results)
    return joined_results(results)


def _analyses(workloads: PathLike | Sequence[PathLike], options: AnalysisOptions) -> list[Analysis]:
    from wavescope.analyze.counters.catalogue import catalogue_for  # noqa: PLC0415
    from wavescope.analyze.counters.report import analyzed  # noqa: PLC0415
    from wavescope.formats.counters import read_workload  # noqa: PLC0415

    tables = [read_workload(path) for path in paths_of(workloads)]
    return [analyzed(table, catalogue_for(table.chip), options) for table in tables]


def memory_counters(given: PathLike | Sequence[PathLike]) -> list[CounterTable]:
    from wavescope.analyze.traffic.dispatches import counters_of_trace  # noqa: PLC0415
    from wavescope.analyze.traffic.requests import TRAFFIC_COUNTERS  # noqa: PLC0415
    from wavescope.formats.counters import read_counter_files  # noqa: PLC0415

    def of_trace(path: Path) -> CounterTable:
        with open_trace(path) as trace:
            return counters_of_trace(trace, str(path), TRAFFIC_COUNTERS.__contains__)

    return read_counter_files(paths_of(given), TRAFFIC_COUNTERS.__contains__, of_trace)
