"""Hardware counters as one page for the browser."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from wavescope.analyze.counters.catalogue import Catalogue, catalogue_for
from wavescope.analyze.counters.comparison import comparison_result
from wavescope.analyze.counters.memory_chart import chart_values
from wavescope.analyze.counters.report import AnalysisOptions, analysis_result, analyzed
from wavescope.api.opened import PathLike, paths_of
from wavescope.formats.counters.workload import read_workload
from wavescope.formats.files import replaced, require_free
from wavescope.render.html.counter_page import CounterWords, counter_page
from wavescope.render.html.page import write_page
from wavescope.render.memory_chart_svg import memory_chart_html
from wavescope.render.metric_tables import NumberStyle


def report_counters(
    workloads: PathLike | Sequence[PathLike],
    output: PathLike,
    options: AnalysisOptions | None = None,
    *,
    force: bool = False,
) -> Path:
    """Write one page of HTML with the metric panels of a counter folder; several are compared."""
    target, inputs = Path(output), paths_of(workloads)
    require_free(target, inputs, force=force)
    chosen = options or AnalysisOptions()
    tables = [read_workload(path) for path in inputs]
    catalogues = [catalogue_for(table.chip) for table in tables]
    analyses = [
        analyzed(table, catalogue, chosen)
        for table, catalogue in zip(tables, catalogues, strict=True)
    ]
    if len(analyses) == 1:
        result = analysis_result(analyses[0], chosen)
        pictures = {"3.1": memory_chart_html(chart_values(analyses[0].values))}
    else:
        result, pictures = comparison_result(analyses, chosen), {}
    page = counter_page(result, NumberStyle(), _words_of(catalogues[0]), pictures)
    with (
        replaced(target, inputs, force=force) as temporary,
        temporary.open("w", encoding="utf-8") as stream,
    ):
        write_page(page, stream)
    return target


def _words_of(catalogue: Catalogue) -> CounterWords:
    panels = catalogue.all_panels
    return CounterWords(
        {panel.id: panel.title for panel in panels},
        {panel.id: panel.alias for panel in panels},
        {key: metric.meaning for key, metric in catalogue.metrics.items()},
    )
