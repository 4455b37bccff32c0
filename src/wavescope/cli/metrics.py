"""`wavescope metrics`: lists and explains metrics, without a GPU."""

from __future__ import annotations

import argparse
import textwrap
from typing import TYPE_CHECKING

from wavescope.cli.command import Command, Example
from wavescope.cli.inputs import add_metrics_flag
from wavescope.cli.options import FOR_PEOPLE, OutputFormat, OutputOptions, add_output_flags
from wavescope.cli.outputs import print_result
from wavescope.cli.terminal import terminal_width
from wavescope.errors import UsageError
from wavescope.model.workload_layout import COUNTED_CHIPS
from wavescope.render.escape import visible

if TYPE_CHECKING:
    from wavescope.model.result import Result, ResultTable

_FEW = 8


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "search",
        metavar="SEARCH",
        nargs="*",
        help="words of names, keys, meanings or counters, or ids such as 17.2; all must occur",
    )
    parser.add_argument(
        "--arch", choices=COUNTED_CHIPS, default="gfx942", help="chip whose metrics are meant"
    )
    add_metrics_flag(parser, "TOML file of metrics of your own; its formulas are checked")
    add_output_flags(parser)


def _run(arguments: argparse.Namespace) -> int:
    from wavescope.analyze.counters.catalogue import catalogue_for  # noqa: PLC0415
    from wavescope.analyze.counters.metric_list import metric_list  # noqa: PLC0415
    from wavescope.analyze.counters.own_metrics import with_own_metrics  # noqa: PLC0415
    from wavescope.formats.toml_rules import read_rules  # noqa: PLC0415

    catalogue = catalogue_for(arguments.arch)
    for file in arguments.metrics:
        catalogue = with_own_metrics(catalogue, read_rules(file))
    search = " ".join(arguments.search)
    result = metric_list(catalogue, search)
    output = OutputOptions.from_arguments(arguments)
    if search and not result.table("metrics").rows:
        raise UsageError(
            f"no metric of {arguments.arch} matches '{search}'",
            hint="try a shorter word, or another --arch",
        )
    if output.format is OutputFormat.CSV and not output.tables:
        output = OutputOptions(output.format, output.rows, ("metrics",))
    if output.format in FOR_PEOPLE:
        rows = output.rows if arguments.rows is not None else 0
        output = OutputOptions(output.format, rows, output.tables)
        _fit_for_people(result, has_search=bool(search))
    if output.format is OutputFormat.TEXT and search:
        found = result.table("metrics")
        if len(found.rows) <= _FEW and not output.tables:
            _print_explained(found)
            return 0
    print_result(result, output)
    return 0


def _fit_for_people(result: Result, *, has_search: bool) -> None:
    """Leave out what a page has no room for: the panels of a search, long columns."""
    from wavescope.analyze.counters.metric_list import in_short  # noqa: PLC0415  slow to import

    if has_search:
        result.tables = [table for table in result.tables if table.name != "panels"]
    *others, found = result.tables
    if len(found.rows) > _FEW:
        result.tables = [*others, in_short(found)]


def _print_explained(table: ResultTable) -> None:
    """Each metric as a paragraph."""
    width = max(terminal_width(), 40)
    for record in table.records():
        print(f"{record['id']} {record['metric']} ({record['unit']})  [{record['key']}]")
        for name in ("meaning", "high", "low", "formula", "peak", "counters", "table"):
            if record[name]:
                label = {"meaning": "", "high": "high: ", "low": "low: "}.get(name, f"{name}: ")
                text = label + visible(str(record[name]))
                print(textwrap.fill(text, width, initial_indent="  ", subsequent_indent="    "))
        print()


COMMAND = Command(
    "metrics",
    "List the metrics of a chip: ids, units, what each means, what a high or low value tells, "
    "its formula and the counters it needs. Neither a workload nor a GPU is needed. "
    "docs/metrics.md describes formulas and files of metrics of your own.",
    (
        Example("wavescope metrics --arch gfx90a", "all metrics of MI200"),
        Example("wavescope metrics l2 hit", "what L2 hit rates there are"),
        Example("wavescope metrics 17.2", "one table"),
        Example("wavescope metrics TCC_BUBBLE", "what needs a counter"),
        Example("wavescope metrics --metrics mine.toml own", "check and list your own metrics"),
    ),
    _add_arguments,
    _run,
)
