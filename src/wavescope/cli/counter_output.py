"""Prints analyses of counters and writes their files."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from wavescope.cli.outputs import stdout_bytes, text_style
from wavescope.cli.terminal import data_stream, say
from wavescope.errors import UsageError

if TYPE_CHECKING:
    from wavescope.analyze.counters.report import Analysis, AnalysisOptions
    from wavescope.model.result import Result
    from wavescope.render.metric_tables import NumberStyle

ROWS_FOR_PEOPLE = 64


def _numbers(arguments: argparse.Namespace) -> NumberStyle:
    from wavescope.render.metric_tables import NumberStyle  # noqa: PLC0415  slow to import

    if arguments.decimal > 15:
        raise UsageError("--decimal is at most 15: no number here has more digits")
    return NumberStyle(arguments.decimal, arguments.time_unit or "")


def print_analysis(
    result: Result, wanted: str, arguments: argparse.Namespace, analyses: Sequence[Analysis] = ()
) -> None:
    """Print a result; `analyses` are what it was made of, the first is the baseline."""
    if wanted == "json":
        from wavescope.render.json_text import write_json  # noqa: PLC0415  only what is asked for

        _cut(result, arguments.rows or 0, 0)
        write_json(result, stdout_bytes())
    elif wanted == "csv":
        from wavescope.render.metric_csv import write_metric_csv  # noqa: PLC0415

        write_metric_csv(result, data_stream())
    elif wanted == "html":
        _write_page(result, arguments, analyses, sys.stdout)
    else:
        rows = ROWS_FOR_PEOPLE if arguments.rows is None else arguments.rows
        _cut(result, rows, arguments.max_stat_num)
        _print_for_people(result, wanted, arguments, analyses)


def _write_page(
    result: Result, arguments: argparse.Namespace, analyses: Sequence[Analysis], stream: TextIO
) -> None:
    from wavescope.analyze.counters.catalogue import OTHER_PANELS  # noqa: PLC0415
    from wavescope.render.html.counter_page import CounterWords, counter_page  # noqa: PLC0415
    from wavescope.render.html.page import write_page  # noqa: PLC0415
    from wavescope.render.memory_chart_svg import memory_chart_html  # noqa: PLC0415

    catalogue = analyses[0].values.measured.catalogue if analyses else None
    panels = catalogue.all_panels if catalogue else OTHER_PANELS
    words = CounterWords(
        {panel.id: panel.title for panel in panels},
        {panel.id: panel.alias for panel in panels},
        {key: metric.meaning for key, metric in catalogue.metrics.items()} if catalogue else {},
    )
    pictures = {}
    if len(analyses) == 1:
        pictures["3.1"] = memory_chart_html(_chart(analyses[0]))
    write_page(counter_page(result, _numbers(arguments), words, pictures), stream)


def _print_for_people(
    result: Result, wanted: str, arguments: argparse.Namespace, analyses: Sequence[Analysis]
) -> None:
    from wavescope.render.metric_tables import (  # noqa: PLC0415
        write_metric_markdown,
        write_metric_text,
    )

    if wanted == "markdown":
        write_metric_markdown(result, sys.stdout, _numbers(arguments))
        return
    style = text_style()
    shown = {table.name for table in result.tables}
    drawings = _drawings(analyses[0], shown, style.width) if len(analyses) == 1 else {}
    write_metric_text(result, sys.stdout, style, _numbers(arguments), drawings)


def _drawings(analysis: Analysis, shown: set[str], width: int) -> dict[str, list[str]]:
    """The memory chart and the roofline as lines, where their panels are shown."""
    drawings = {}
    if "3.1" in shown:
        from wavescope.render.memory_chart_text import memory_chart_lines  # noqa: PLC0415

        drawings["3.1"] = memory_chart_lines(_chart(analysis), width)
    if "4.1" in shown:
        from wavescope.analyze.counters.roofline import MemoryLevel, roofline  # noqa: PLC0415
        from wavescope.render.roofline_text import roofline_lines  # noqa: PLC0415

        plotted = roofline(analysis.values)
        if any(point.performance > 0 for point in plotted.points):
            drawings["4.1"] = [*roofline_lines(plotted, width, MemoryLevel.HBM), ""]
    return drawings


def _cut(result: Result, rows: int, stats: int) -> None:
    result.tables = [
        table.head(most) if most and len(table.rows) > most else table
        for table in result.tables
        for most in (stats if table.name.startswith("0.") and stats else rows,)
    ]


def _chart(analysis: Analysis) -> dict[str, str]:
    from wavescope.analyze.counters.memory_chart import chart_values  # noqa: PLC0415

    return chart_values(analysis.values)


def write_files(
    result: Result,
    arguments: argparse.Namespace,
    analyses: list[Analysis],
    options: AnalysisOptions,
) -> None:
    """Write the files that the flags ask for: the memory chart, and a page or a database."""
    from wavescope.formats.output import replaced  # noqa: PLC0415  slow to import

    inputs = [Path(analysis.workload.path) for analysis in analyses]
    if arguments.memory_chart:
        from wavescope.render.memory_chart_svg import memory_chart_svg  # noqa: PLC0415

        if len(analyses) > 1:
            raise UsageError("--memory-chart draws one workload", hint="give one -p")
        with replaced(arguments.memory_chart, inputs, force=arguments.force) as temporary:
            temporary.write_text(memory_chart_svg(_chart(analyses[0])), encoding="utf-8")
        _tell(arguments, arguments.memory_chart)
    if arguments.output:
        with replaced(arguments.output, inputs, force=arguments.force) as temporary:
            if arguments.output.suffix == ".html":
                with temporary.open("w", encoding="utf-8") as stream:
                    _write_page(result, arguments, analyses, stream)
            else:
                from wavescope.render.metric_database import write_metric_database  # noqa: PLC0415

                write_metric_database(temporary, analyses, options)
        _tell(arguments, arguments.output)


def _tell(arguments: argparse.Namespace, path: Path) -> None:
    if not arguments.quiet:
        say(f"wrote {path}")
