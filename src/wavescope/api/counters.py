"""What hardware counters say: metric panels, rooflines, the catalogue of metrics."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

from wavescope.analyze.counters.aggregation import Aggregation, NormalUnit
from wavescope.analyze.counters.catalogue import (
    BASE_CHIP,
    CHIPS,
    OTHER_PANELS,
    Catalogue,
    catalogue_for,
)
from wavescope.analyze.counters.comparison import comparison_result, side_by_side
from wavescope.analyze.counters.memory_chart import chart_values
from wavescope.analyze.counters.metric_list import available_metrics as listed_as_available
from wavescope.analyze.counters.metric_list import in_short, metric_list
from wavescope.analyze.counters.own_metrics import with_own_metrics
from wavescope.analyze.counters.report import (
    Analysis,
    CounterOptions,
    analysis_result,
    analyzed,
    stats_result,
)
from wavescope.analyze.counters.roofline import (
    MemoryLevel,
    PointKind,
    Roofline,
    RooflineOptions,
    supported_types,
)
from wavescope.analyze.counters.roofline import roofline as placed
from wavescope.analyze.counters.roofline_tables import roofline_result
from wavescope.analyze.counters.workload_tables import (
    SampleOrder,
    chosen_operators,
    of_operators,
    operators_result,
)
from wavescope.api.opened import paths_of
from wavescope.errors import UnreadableInputError, UsageError
from wavescope.formats.counters import read_workload
from wavescope.formats.counters.torch_operators import dispatch_operators
from wavescope.formats.files import replaced, require_free
from wavescope.formats.toml_rules import read_rules
from wavescope.model.counters import CounterTable
from wavescope.model.paths import PathLike
from wavescope.model.result import Result
from wavescope.render.counters.counter_page import CounterWords, counter_page
from wavescope.render.counters.memory_chart import (
    memory_chart_html,
    memory_chart_lines,
    memory_chart_svg,
)
from wavescope.render.counters.metric_database import write_metric_database
from wavescope.render.counters.metric_tables import NumberStyle
from wavescope.render.counters.roofline_files import SUFFIXES, write_roofline
from wavescope.render.counters.roofline_text import roofline_lines
from wavescope.render.html.markup import Html
from wavescope.render.html.page import write_page

__all__ = [
    "Aggregation",
    "CounterOptions",
    "CounterReport",
    "MemoryLevel",
    "NormalUnit",
    "PointKind",
    "RooflineOptions",
    "RooflineRun",
    "SampleOrder",
    "available_metrics",
    "counter_report",
    "counters",
    "counters_info",
    "in_short",
    "metric_panels",
    "metrics",
    "report_counters",
    "require_plot_suffix",
    "roofline",
    "roofline_runs",
    "side_by_side",
    "torch_operators",
    "write_plot",
]

Workloads = PathLike | Sequence[PathLike]
_NO_FACTS: Mapping[str, float] = {}


def counters(
    workloads: Workloads,
    options: CounterOptions | None = None,
    *,
    output: PathLike | None = None,
    facts: Mapping[str, float] = _NO_FACTS,
    own_metrics: Sequence[PathLike] = (),
    force: bool = False,
) -> Result:
    """The metric panels of a workload folder of hardware counters; several are compared.

    `facts` are numbers of the chip that the folder has wrong or not (`max_sclk`, in MHz),
    `own_metrics` TOML files of metrics that are shown as panel 100. Everything is also written to
    `output`: a page (.html), else an SQLite file.
    """
    report = counter_report(workloads, options, facts=facts, own_metrics=own_metrics)
    if output is not None:
        report.write(output, force=force)
    return report.result


metric_panels = counters
"""The same under its earlier name."""


@dataclass(frozen=True)
class CounterReport:
    """Metric panels with all that they were made of: what pages, files and drawings need."""

    result: Result
    analyses: tuple[Analysis, ...]
    """The first is the baseline of the others."""
    options: CounterOptions

    def write(
        self,
        output: PathLike,
        numbers: NumberStyle | None = None,
        *,
        force: bool,
        as_page: bool = False,
    ) -> Path:
        """Write everything to one file: a page (.html), else SQLite."""
        target = Path(output)
        with replaced(target, self._inputs(), force=force) as temporary:
            if as_page or target.suffix == ".html":
                with temporary.open("w", encoding="utf-8") as stream:
                    self.write_page(stream, numbers or NumberStyle())
            else:
                write_metric_database(temporary, self.analyses, self.options)
        return target

    def write_page(self, stream: TextIO, numbers: NumberStyle) -> None:
        """Write the page for the browser."""
        write_page(counter_page(self.result, numbers, self._words(), self._pictures()), stream)

    def write_memory_chart(self, output: PathLike, *, force: bool) -> Path:
        """Write panel 3 as a drawing (SVG)."""
        if len(self.analyses) > 1:
            raise UsageError("--memory-chart draws one workload", hint="give one -p")
        target = Path(output)
        with replaced(target, self._inputs(), force=force) as temporary:
            drawn = memory_chart_svg(chart_values(self.analyses[0].values))
            temporary.write_text(drawn, encoding="utf-8")
        return target

    def drawings(self, width: int) -> dict[str, list[str]]:
        """The memory chart and the roofline as lines, by the tables that they stand above."""
        if len(self.analyses) != 1:
            return {}
        (analysis,) = self.analyses
        shown = {table.name for table in self.result.tables}
        drawings = {}
        if "3.1" in shown:
            drawings["3.1"] = memory_chart_lines(chart_values(analysis.values), width)
        if "4.1" in shown:
            plotted = placed(analysis.values)
            if any(point.performance > 0 for point in plotted.points):
                drawings["4.1"] = [*roofline_lines(plotted, width, MemoryLevel.HBM), ""]
        return drawings

    def _inputs(self) -> list[Path]:
        return [Path(analysis.workload.path) for analysis in self.analyses]

    def _words(self) -> CounterWords:
        catalogue = self.analyses[0].values.measured.catalogue if self.analyses else None
        panels = catalogue.all_panels if catalogue else OTHER_PANELS
        return CounterWords(
            {panel.id: panel.title for panel in panels},
            {panel.id: panel.alias for panel in panels},
            {key: metric.meaning for key, metric in catalogue.metrics.items()} if catalogue else {},
        )

    def _pictures(self) -> dict[str, Html]:
        if len(self.analyses) != 1:
            return {}
        return {"3.1": memory_chart_html(chart_values(self.analyses[0].values))}


def counter_report(
    workloads: Workloads,
    options: CounterOptions | None = None,
    *,
    facts: Mapping[str, float] = _NO_FACTS,
    own_metrics: Sequence[PathLike] = (),
) -> CounterReport:
    """The metric panels of workloads, and what pages and drawings of them need."""
    chosen = options or CounterOptions()
    analyses = tuple(
        analyzed(table, _catalogue(table, own_metrics), chosen)
        for table in read_workloads(workloads, facts)
    )
    if len(analyses) == 1:
        return CounterReport(analysis_result(analyses[0], chosen), analyses, chosen)
    return CounterReport(comparison_result(analyses, chosen), analyses, chosen)


def report_counters(
    workloads: Workloads,
    output: PathLike,
    options: CounterOptions | None = None,
    *,
    force: bool = False,
) -> Path:
    """Write one page of HTML with the metric panels of a counter folder; several are compared."""
    target = Path(output)
    require_free(target, paths_of(workloads), force=force)
    return counter_report(workloads, options).write(target, force=force, as_page=True)


def counters_info(workloads: Workloads) -> Result:
    """The kernels and dispatches of workloads, with the ids that `CounterOptions` takes."""
    return side_by_side([stats_result(table) for table in read_workloads(workloads)])


def available_metrics(
    workloads: Workloads,
    *,
    facts: Mapping[str, float] = _NO_FACTS,
    own_metrics: Sequence[PathLike] = (),
) -> Result:
    """The metrics of the workloads' chips, and which of them there are counters for."""
    tables = read_workloads(workloads, facts)
    return side_by_side(
        [listed_as_available(_catalogue(table, own_metrics), table) for table in tables]
    )


def torch_operators(
    workload: PathLike,
    patterns: Sequence[str] | None = None,
    options: CounterOptions | None = None,
    *,
    facts: Mapping[str, float] = _NO_FACTS,
    own_metrics: Sequence[PathLike] = (),
) -> Result:
    """PyTorch operators with their time; with `patterns` also the metrics of those that match.

    No pattern at all (`[]`) means every operator.
    """
    (table,) = read_workloads(workload, facts)
    operator_of = dispatch_operators(Path(table.path))
    if not operator_of:
        raise UsageError(
            f"{table.path} has no operators",
            hint="collect them: wavescope profile --torch-trace -n NAME -- python3 train.py",
        )
    result = operators_result(table, operator_of)
    if patterns is None:
        return result
    chosen = set(chosen_operators(patterns, operator_of.values()))
    catalogue = _catalogue(table, own_metrics)
    used = options or CounterOptions()
    tables = []
    for name in [str(name) for name in result.tables[0].column("operator") if name in chosen]:
        part = of_operators(table, operator_of, [name])
        metrics_of = analysis_result(analyzed(part, catalogue, used), used)
        tables += [
            replace(each, name=f"{name}: {each.name}", title=f"{name}: {each.title}")
            for each in metrics_of.tables
        ]
    return result.with_tables(*tables)


def metrics(
    search: str = "", *, chip: str = BASE_CHIP, own_metrics: Sequence[PathLike] = ()
) -> Result:
    """The metrics of a chip in which every word of `search` occurs, with formulas and counters."""
    catalogue = catalogue_for(chip)
    for path in own_metrics:
        catalogue = with_own_metrics(catalogue, read_rules(path))
    result = metric_list(catalogue, search)
    if search and not result.table("metrics").rows:
        raise UsageError(
            f"no metric of {chip} matches '{search}'", hint="try a shorter word, or another --arch"
        )
    return result


@dataclass(frozen=True)
class RooflineRun:
    """One workload under the roofs of its chip."""

    path: str
    plot: Roofline
    result: Result

    def lines(self, width: int, level: MemoryLevel) -> list[str]:
        """The plot in characters, at one memory level."""
        return roofline_lines(self.plot, width, level)


def roofline(
    workloads: Workloads,
    output: PathLike | None = None,
    options: CounterOptions | None = None,
    *,
    plot: RooflineOptions | None = None,
    facts: Mapping[str, float] = _NO_FACTS,
    own_metrics: Sequence[PathLike] = (),
    force: bool = False,
) -> Result:
    """How near kernels come to what the chip can do, by operations for each byte.

    The plot is written to `output`, in the format of its suffix: .html, .svg, .png or .json.
    """
    require_plot_suffix(output)
    runs = roofline_runs(workloads, options, plot=plot, facts=facts, own_metrics=own_metrics)
    if output is not None:
        write_plot(runs, output, force=force)
    return side_by_side([run.result for run in runs])


def roofline_runs(
    workloads: Workloads,
    options: CounterOptions | None = None,
    *,
    plot: RooflineOptions | None = None,
    facts: Mapping[str, float] = _NO_FACTS,
    own_metrics: Sequence[PathLike] = (),
) -> list[RooflineRun]:
    """The plot and the tables of each workload."""
    chosen = replace(options or CounterOptions(), blocks=("0",))
    drawn = plot or RooflineOptions()
    tables = read_workloads(workloads, facts)
    for table in tables:
        _require_types(table, drawn)
    runs = []
    for table in tables:
        values = analyzed(table, _catalogue(table, own_metrics), chosen).values
        plotted = placed(values, drawn)
        runs.append(RooflineRun(table.path, plotted, roofline_result(values, plotted, drawn)))
    return runs


def require_plot_suffix(output: PathLike | None) -> None:
    """Refuse the name of a plot before anything is read."""
    if output is not None and Path(output).suffix not in SUFFIXES:
        raise UsageError(
            f"{os.fspath(output)} has no suffix of a plot", hint=f"use {', '.join(SUFFIXES)}"
        )


def write_plot(runs: Sequence[RooflineRun], output: PathLike, *, force: bool) -> Path:
    """Write the plot of all runs, in the format of the suffix."""
    target = Path(output)
    inputs = [Path(run.path) for run in runs]
    with replaced(target, inputs, force=force) as temporary:
        plots = [(run.path, run.plot) for run in runs]
        write_roofline(temporary, plots, target.suffix, [run.result for run in runs])
    return target


def read_workloads(
    workloads: Workloads, facts: Mapping[str, float] = _NO_FACTS
) -> list[CounterTable]:
    """The workloads, each folder once, with the numbers of the chip replaced that `facts` has."""
    seen: set[str] = set()
    for path in paths_of(workloads):
        place = os.path.realpath(path)
        if place in seen:
            raise UsageError(f"{path} is given twice")
        seen.add(place)
    _require_known(facts)
    return [read_workload(path).with_facts(facts) for path in paths_of(workloads)]


def _catalogue(table: CounterTable, own_metrics: Sequence[PathLike]) -> Catalogue:
    """The catalogue of the workload's chip with the user's own metrics."""
    if table.chip not in CHIPS:
        raise UnreadableInputError(
            table.path,
            f"there are no metrics for its chip '{table.chip}'",
            hint=f"known chips: {', '.join(CHIPS)}",
        )
    catalogue = catalogue_for(table.chip)
    for path in own_metrics:
        catalogue = with_own_metrics(catalogue, read_rules(path))
    return catalogue


def _require_known(facts: Mapping[str, float]) -> None:
    known = catalogue_for(BASE_CHIP).facts if facts else {}
    for name in facts:
        if name not in known:
            near = difflib.get_close_matches(name, known, 2)
            raise UsageError(
                f"there is no fact '{name}'",
                hint=f"did you mean {near[0]}?" if near else f"there are: {', '.join(known)}",
            )


def _require_types(table: CounterTable, plot: RooflineOptions) -> None:
    known = supported_types(table.chip)
    unknown = [name for name in plot.data_types if name not in known]
    if unknown:
        raise UsageError(
            f"{table.chip} has no peak for {', '.join(unknown)}",
            hint=f"it has: {', '.join(known)}",
        )
