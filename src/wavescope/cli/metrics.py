"""`wavescope metrics`: lists and explains metrics, without a GPU."""

from __future__ import annotations

import argparse
import textwrap
from dataclasses import replace

import wavescope
from wavescope.cli.command import Command, Example
from wavescope.cli.inputs import add_metrics_flag
from wavescope.cli.options import FOR_PEOPLE, OutputFormat, OutputOptions, add_output_flags
from wavescope.cli.outputs import print_result
from wavescope.cli.terminal import terminal_width
from wavescope.errors import UsageError
from wavescope.model.result import ResultTable
from wavescope.model.workload_layout import COUNTED_CHIPS
from wavescope.render.cells.escape import visible

_FEW = 8
_SHORT_COLUMNS = ("id", "metric", "unit", "meaning")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "search",
        metavar="SEARCH",
        nargs="*",
        help="words of names, keys, meanings or counters, or ids such as 17.2; all must occur",
    )
    parser.add_argument(
        "--arch",
        choices=COUNTED_CHIPS,
        default="gfx942",
        help="chip whose metrics are listed (default gfx942)",
    )
    parser.add_argument(
        "--mfma",
        metavar="CHIP",
        help="list the chip's matrix instructions instead: cycles, and how many independent "
        "instructions must lie between one and what needs its result",
    )
    add_metrics_flag(parser, "TOML file with your own metrics; their formulas are checked")
    add_output_flags(parser)


def _run(arguments: argparse.Namespace) -> int:
    search = " ".join(arguments.search)
    if arguments.mfma:
        return _print_matrix_instructions(arguments, search)
    result = wavescope.metrics(search, chip=arguments.arch, own_metrics=arguments.metrics)
    output = OutputOptions.from_arguments(arguments)
    if output.format is OutputFormat.CSV and not output.tables:
        output = replace(output, tables=("metrics",))
    found = result.table("metrics")
    is_few = search and len(found.rows) <= _FEW and not output.tables
    if output.format is OutputFormat.TEXT and is_few:
        _print_explained(found)
        return 0
    if output.format in FOR_PEOPLE:
        rows = output.rows if arguments.rows is not None else 0
        output = replace(output, rows=rows)
        shown = in_short(found) if len(found.rows) > _FEW else found
        tables = [shown] if search else [result.table("panels"), shown]
        result = result.with_only_tables(tables)
    print_result(result, output)
    return 0


def _print_matrix_instructions(arguments: argparse.Namespace, search: str) -> int:
    """The instructions in whose name every word of the search occurs."""
    result = wavescope.matrix_instructions(arguments.mfma)
    table = result.table("instructions")
    words = search.casefold().split()
    rows = [row for row in table.rows if all(word in str(row[0]) for word in words)]
    if not rows:
        raise UsageError(
            f"no matrix instruction of {arguments.mfma} matches '{search}'",
            hint="try a shorter word",
        )
    result = result.with_only_tables([replace(table, rows=rows), result.table("operand_waits")])
    output = OutputOptions.from_arguments(arguments)
    if output.format is OutputFormat.CSV and not output.tables:
        output = replace(output, tables=("instructions",))
    if output.format in FOR_PEOPLE and arguments.rows is None:
        output = replace(output, rows=0)
    print_result(result, output)
    return 0


def in_short(table: ResultTable) -> ResultTable:
    """A list of metrics with what fits a line; `wavescope metrics NAME` tells the rest."""
    return table.with_only_columns(_SHORT_COLUMNS)


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
    "docs/metrics.md describes formulas, and how to add your own metrics.",
    (
        Example("wavescope metrics --arch gfx90a", "all metrics of MI200"),
        Example("wavescope metrics l2 hit", "what L2 hit rates there are"),
        Example("wavescope metrics 17.2", "one table"),
        Example("wavescope metrics TCC_BUBBLE", "what needs a counter"),
        Example("wavescope metrics --mfma gfx942", "cycles and waits of matrix instructions"),
        Example("wavescope metrics --metrics mine.toml own", "check and list your own metrics"),
    ),
    _add_arguments,
    _run,
)
