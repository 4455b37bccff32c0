"""What hardware counters say: metric panels and the catalogue of metrics."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TextIO

from wavescope.analyze.counters import (
    Analysis,
    CounterOptions,
    analysis_result,
    analyzed,
    comparison_result,
    operators_result,
    stats_result,
)
from wavescope.analyze.counters.metrics import (
    BASE_CHIP,
    CHIPS,
    Catalogue,
    catalogue_for,
    chart_values,
    metric_list,
    with_own_metrics,
)
from wavescope.analyze.counters.metrics import available_metrics as listed_as_available
from wavescope.analyze.counters.roofline import (
    MemoryLevel,
)
from wavescope.analyze.counters.roofline import roofline as placed
from wavescope.api.opened import paths_of
from wavescope.errors import UnreadableInputError, UsageError
from wavescope.formats.counters import dispatch_operators, read_workload
from wavescope.model.counters import CounterTable
from wavescope.model.paths import PathLike
from wavescope.model.result import Result
from wavescope.model.toml_files import read_rules
from wavescope.outputs import replaced, require_free
from wavescope.render.counters import (
    CounterWords,
    NumberStyle,
    counter_page,
    memory_chart_html,
    memory_chart_lines,
    memory_chart_svg,
    write_metric_csv,
    write_metric_database,
    write_metric_markdown,
    write_metric_text,
)
from wavescope.render.counters.roofline import roofline_lines
from wavescope.render.html.markup import Html
from wavescope.render.html.page import write_page
from wavescope.render.results.text import TextStyle

Workloads = PathLike | Sequence[PathLike]
_MEMORY_CHART = "3.1"
_OVERVIEW = ("0.1", "2.1", "2.2", _MEMORY_CHART, "4.1", "4.2")
"""What says in one or two pages where the time goes; the rest is one `-b` away."""
NO_FACTS: Mapping[str, float] = {}


def counters(
    workloads: Workloads,
    options: CounterOptions | None = None,
    *,
    output: PathLike | None = None,
    facts: Mapping[str, float] = NO_FACTS,
    own_metrics: Sequence[PathLike] = (),
    force: bool = False,
) -> Result:
    """The metric panels of a workload folder of hardware counters; several are compared.

    `facts` are numbers of the chip that the folder lacks or has wrong (`max_sclk`, in MHz),
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
    analyses: tuple[Analysis, ...] = ()
    """The first is the baseline of the others; of a mere list there are none."""
    options: CounterOptions = field(default_factory=CounterOptions)
    decimals: int = 2
    """Digits after the point, in what people read."""
    time_unit: str = ""
    """The unit of times there; without one each has what suits it."""

    def overview(self) -> CounterReport:
        """The tables to begin with: kernels, speed of light, memory chart and roofline.

        Of the memory chart it keeps the drawing alone: the rows are there, but not listed.
        """
        if self.result.facts.get("dispatch_count") == 0:
            return self  # samples alone are no more than that
        listed = [table for table in self.result.tables if table.name in _OVERVIEW]
        cut = [table.head(0) if table.name == _MEMORY_CHART else table for table in listed]
        return replace(self, result=self.result.with_only_tables(cut))

    def panels_beyond(self, shown: CounterReport) -> list[str]:
        """The names, as `-b` takes them, of panels with a table that `shown` does not list."""
        listed = {table.name for table in shown.result.tables if table.rows}
        aliases = self._words().aliases
        numbers = (
            int(table.name.partition(".")[0])
            for table in self.result.tables
            if table.name not in listed
        )
        return list(dict.fromkeys(aliases.get(number, str(number)) for number in numbers))

    def write(self, output: PathLike, *, force: bool, as_page: bool = False) -> Path:
        """Write everything to one file: a page (.html), else SQLite."""
        target = Path(output)
        with replaced(target, self._inputs(), force=force) as temporary:
            if as_page or target.suffix == ".html":
                with temporary.open("w", encoding="utf-8") as stream:
                    self.write_page(stream)
            else:
                write_metric_database(temporary, self.analyses, self.options)
        return target

    def write_page(self, stream: TextIO) -> None:
        """Write the page for the browser."""
        page = counter_page(self.result, self._numbers(), self._words(), self._pictures())
        write_page(page, stream)

    def write_text(self, stream: TextIO, style: TextStyle) -> None:
        """Write everything for a terminal, with drawings."""
        write_metric_text(self.result, stream, style, self._numbers(), self._drawings(style.width))

    def write_markdown(self, stream: TextIO) -> None:
        """Write everything as Markdown."""
        write_metric_markdown(self.result, stream, self._numbers())

    def write_csv(self, stream: TextIO, *, raw_text: bool = False) -> None:
        """Write a row for each value; in place of one that is not there stands the reason.

        With `raw_text` texts are exactly as they are: formulas, too.
        """
        write_metric_csv(self.result, stream, raw_text=raw_text)

    def write_memory_chart(self, output: PathLike, *, force: bool) -> Path:
        """Write panel 3 as a drawing (SVG)."""
        if len(self.analyses) > 1:
            raise UsageError("--memory-chart draws only one workload", hint="give one -p")
        target = Path(output)
        with replaced(target, self._inputs(), force=force) as temporary:
            drawn = memory_chart_svg(chart_values(self.analyses[0].values))
            temporary.write_text(drawn, encoding="utf-8")
        return target

    def _drawings(self, width: int) -> dict[str, list[str]]:
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

    def _numbers(self) -> NumberStyle:
        return NumberStyle(self.decimals, self.time_unit)

    def _inputs(self) -> list[Path]:
        return [Path(analysis.workload.path) for analysis in self.analyses]

    def _words(self) -> CounterWords:
        used = [analysis.values.measured.catalogue for analysis in self.analyses]
        catalogue = used[0] if used else catalogue_for(BASE_CHIP)
        panels = catalogue.all_panels
        return CounterWords(
            {panel.id: panel.title for panel in panels},
            {panel.id: panel.alias for panel in panels},
            {key: metric.meaning for key, metric in catalogue.metrics.items()},
        )

    def _pictures(self) -> dict[str, Html]:
        if len(self.analyses) != 1:
            return {}
        return {"3.1": memory_chart_html(chart_values(self.analyses[0].values))}


def counter_report(
    workloads: Workloads,
    options: CounterOptions | None = None,
    *,
    facts: Mapping[str, float] = NO_FACTS,
    own_metrics: Sequence[PathLike] = (),
    decimals: int = 2,
    time_unit: str = "",
) -> CounterReport:
    """The metric panels of workloads, and what pages and drawings of them need."""
    chosen = options or CounterOptions()
    analyses = tuple(
        analyzed(table, catalogue_of(table, own_metrics), chosen)
        for table in read_workloads(workloads, facts)
    )
    result = (
        analysis_result(analyses[0], chosen)
        if len(analyses) == 1
        else comparison_result(analyses, chosen)
    )
    return CounterReport(result, analyses, chosen, decimals, time_unit)


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
    facts: Mapping[str, float] = NO_FACTS,
    own_metrics: Sequence[PathLike] = (),
) -> Result:
    """The metrics of the workloads' chips, and which of them there are counters for."""
    tables = read_workloads(workloads, facts)
    return side_by_side(
        [listed_as_available(catalogue_of(table, own_metrics), table) for table in tables]
    )


def torch_operators(
    workload: PathLike,
    patterns: Sequence[str] | None = None,
    options: CounterOptions | None = None,
    *,
    facts: Mapping[str, float] = NO_FACTS,
    own_metrics: Sequence[PathLike] = (),
) -> Result:
    """PyTorch operators with their time; with `patterns` also the metrics of those that match.

    No pattern at all (`[]`) means every operator.
    """
    (table,) = read_workloads(workload, facts)
    operator_of = dispatch_operators(Path(table.path))
    if not operator_of:
        raise UsageError(
            f"{table.path} has no PyTorch operators",
            hint="wavescope counters collect --torch-trace -n NAME -- python3 train.py",
        )
    catalogue = catalogue_of(table, own_metrics)
    used = options or CounterOptions()
    return operators_result(table, operator_of, patterns, catalogue, used)


def metrics(
    search: str = "", *, chip: str = BASE_CHIP, own_metrics: Sequence[PathLike] = ()
) -> Result:
    """The metrics of a chip in which every word of `search` occurs, with formulas and counters."""
    result = metric_list(_with_own(catalogue_for(chip), own_metrics), search)
    if search and not result.table("metrics").rows:
        raise UsageError(
            f"no metric of {chip} matches '{search}'", hint="try a shorter word, or another --arch"
        )
    return result


def side_by_side(results: Sequence[Result]) -> Result:
    """One result of several runs; tables of later ones are called `run_2.NAME` and so on."""
    first, *others = results
    tables, findings, facts = list(first.tables), list(first.findings), dict(first.facts)
    for run, other in enumerate(others, 2):
        facts[f"run_{run}"] = other.facts.get("path")
        findings += other.findings
        tables += [
            replace(table, name=f"run_{run}.{table.name}", title=f"run {run}: {table.title}")
            for table in other.tables
        ]
    return Result(first.title, tables, findings, facts)


def read_workloads(
    workloads: Workloads, facts: Mapping[str, float] = NO_FACTS
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


def catalogue_of(table: CounterTable, own_metrics: Sequence[PathLike]) -> Catalogue:
    """The catalogue of the workload's chip with the user's own metrics."""
    if table.chip not in CHIPS:
        raise UnreadableInputError(
            table.path,
            f"there are no metrics for its chip '{table.chip}'",
            hint=f"known chips: {', '.join(CHIPS)}",
        )
    return _with_own(catalogue_for(table.chip), own_metrics)


def _with_own(catalogue: Catalogue, own_metrics: Sequence[PathLike]) -> Catalogue:
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
